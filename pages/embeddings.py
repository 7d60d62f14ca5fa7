"""How do labels become vectors, and how is order told? From the table's row to RoPE's turning."""

import streamlit as st

from model import embeddings as table_of
from model import rotary as turning
from pages.shared import anatomy, frame, prose
from pages.shared.state import write_address
from pages.shared.store import shared_trace
from viz import embeddings as figures

#: Neighbours in the bars; neighbours and tokens of the text in the map; rows and columns of dials.
BARS, MAP_NEIGHBOURS, MAP_TOKENS = 12, 5, 10
DIAL_ROWS, DIAL_COLUMNS = 8, 10

#: Tokens put in front of the text to answer the question at the end.
FURTHER = 10

lesson = frame.open_page("embeddings")
view, run, lm = lesson.view, lesson.trace, lesson.lm
shape, table = lm.architecture, lm.parts.embedding.weight
here, token = lesson.selected, lesson.tokens[lesson.selected]
found = table_of.looked_up(run, here)


@st.cache_data(max_entries=512, show_spinner=False)
def neighbours(model_key: str, dtype: str, ids: tuple[int, ...], count: int) -> list[list[table_of.Neighbour]]:
    """The nearest rows of the open model's table; the key and dtype say whose they are."""
    return table_of.nearest(table, ids, count)


def label(id: int) -> str:
    return lm.vocabulary.labels[id]


def the_row() -> None:
    """The main figure: what the look-up gives."""
    prose.say(
        "A label is nothing one can calculate with. So each token ID is the number of a row in a big table, the "
        "<b>embedding table</b>, and that row of {size} learned numbers is all that the model gets of the token.",
        size=len(found.row),
    )
    row = found.row.numpy()
    anatomy.figure(
        figures.row_strip(row, lesson.theme),
        key="row",
        title="The row of {label}: number {id} of {rows:,}. Blue is below zero, orange above; "
        "colour saturates at ±{limit:.2f}",
        mark=prose.FROM_THE_MODEL,
        alt=f"The {len(row)} numbers of embedding row {token.id} as a bar-code, from {row.min():.2f} to "
        f"{row.max():.2f}, and the first {min(figures.CELLS, len(row))} written out.",
        table=lambda: figures.table({"place": range(len(row)), "value": row}),
        label=token.label,
        id=token.id,
        rows=shape.vocabulary_size,
        limit=figures.saturation(row),
    )
    prose.read_aloud(
        "{label} has ID {id}, so the model read row {id}: {size} numbers between {low:.2f} and {high:.2f}. "
        + _entering(),
        label=token.label,
        id=token.id,
        size=len(row),
        low=row.min(),
        high=row.max(),
        factor=found.factor or 0.0,
    )
    same_rows()


def _entering() -> str:
    if found.factor == 1.0:
        return "Exactly this row enters layer 0: the largest difference in this run is <b>0</b>."
    if found.factor is not None:
        return "This model multiplies the row by {factor:.4g}, and the product enters layer 0."
    if shape.position_encoding == "learned":
        return "Before layer 0 a row for the position is added to it: see “How is order told?” below."
    return "Before layer 0 this model changes it further, in a way that is not drawn here."


def same_rows() -> None:
    """The same token elsewhere in the text."""
    others = table_of.repeats(lesson.tokens, here)
    if not others:
        prose.say(
            "{label} stands only once in this text. Wherever it stood, the row would be this one.", label=token.label
        )
        return
    nearest = min(others, key=lambda position: abs(position - here))
    apart = table_of.distance(run.streams[0][here], run.streams[0][nearest])
    prose.say(
        "{label} stands at {count} places in this text. All have the same ID, so all have the same row; between what "
        "enters layer 0 at position {here} and at position {other} the distance is {distance:.3g}"
        + (
            ", exactly. Looking at these vectors alone, the model could not tell which came first."
            if apart == 0
            else ", which comes from what is added for the position."
            if shape.position_encoding == "learned"
            else "."
        ),
        label=token.label,
        count=len(others) + 1,
        here=here,
        other=nearest,
        distance=apart,
    )


def alike() -> None:
    """Nearest neighbours of the selected token."""
    st.header("Which rows are alike?", anchor=False)
    near = neighbours(lm.key, lm.dtype, (token.id,), BARS)[0]
    labels, ids, values = [label(n.id) for n in near], [n.id for n in near], [n.similarity for n in near]
    picture, words = st.columns([5, 4], gap="large")
    with picture:
        anatomy.figure(
            figures.neighbour_bars(labels, ids, values, lesson.theme),
            key="neighbours",
            title="The {count} rows that point most nearly the same way as the row of {label}",
            mark=prose.FROM_THE_MODEL,
            alt=f"Bars of cosine similarity with {token.label}: {labels[0]} {values[0]:.2f} is nearest, "
            f"{labels[-1]} {values[-1]:.2f} is number {len(near)}.",
            table=lambda: figures.table({"token": labels, "ID": ids, "cosine similarity": values}),
            count=len(near),
            label=token.label,
        )
    with words:
        prose.read_aloud(
            "Of {rows:,} rows, that of {nearest} is most like the row of {label}: similarity {value:.2f}, where 1 is "
            "the same direction and 0 has nothing in common. Nobody wrote this down; training moved the rows there.",
            rows=shape.vocabulary_size - 1,
            nearest=labels[0],
            label=token.label,
            value=values[0],
        )
        prose.aside("This is the table as stored, before any layer: no word around the token has been looked at.")


def on_a_map() -> None:
    """The text's rows and their neighbours, laid flat."""
    st.header("Where do these rows lie?", anchor=False)
    own = table_of.around(lesson.tokens, here, MAP_TOKENS)
    lists = neighbours(lm.key, lm.dtype, tuple(own), MAP_NEIGHBOURS)
    drawn = table_of.neighbourhood(table, dict(zip(own, lists, strict=True)))
    labels, points = [label(id) for id in drawn.ids], drawn.map.points.numpy()
    share = sum(drawn.map.explained)
    picture, words = st.columns([5, 4], gap="large")
    with picture:
        anatomy.figure(
            figures.vector_map(points, drawn.map.explained, labels, drawn.own, drawn.links, lesson.theme),
            key="map",
            title="{count} rows laid flat: {own} tokens of the text and the {near} nearest rows of each",
            mark=prose.FROM_THE_MODEL,
            alt=f"A map of {len(labels)} embedding rows. Its two directions hold {share:.0%} of their variance. Tokens "
            f"of the text are filled diamonds, their nearest rows are rings; {token.label} is marked.",
            table=lambda: figures.table(
                {
                    "token": labels,
                    "ID": drawn.ids,
                    "in the text": [i < drawn.own for i in range(len(labels))],
                    "first direction": points[:, 0],
                    "second direction": points[:, 1],
                }
            ),
            count=len(labels),
            own=drawn.own,
            near=MAP_NEIGHBOURS,
        )
    with words:
        prose.read_aloud(
            "A row has {size} directions and a screen has two. The two in which these rows differ most hold "
            "{share:.0%} of their differences; the other {lost:.0%} are flattened away, so near on the map may be far "
            "in the table.",
            size=len(found.row),
            share=share,
            lost=1 - share,
        )
        different = len(set(lesson.tokens.ids))
        if different > drawn.own:
            prose.aside(
                "The text has {all} different tokens; drawn are the {some} nearest to the selected one.",
                all=different,
                some=drawn.own,
            )


def order() -> None:
    """How this model tells order, as far as it can be shown."""
    st.header("How is order told?", anchor=False)
    if shape.position_encoding == "learned":
        by_added_rows()
    elif shape.position_encoding == "RoPE":
        by_turning()
    else:
        prose.say("This model tells order in another way than by turning or by added rows; it is not drawn here.")


def by_added_rows() -> None:
    """Learned positions: a second table, and a sum."""
    added = table_of.position_added(run, here)
    if added is None:
        prose.say("This model adds a row for the position, but changes its size on the way; it is not drawn here.")
        return
    prose.say(
        "This model has a second table with one row for each <i>position</i>. The row of position {here} is added to "
        "the row of the token, number by number, and the sum enters layer 0.",
        here=here,
    )
    names = ["token row", "+ position row", "= enters layer 0"]
    rows = added.stacked.numpy()
    anatomy.figure(
        figures.added_strips(names, rows, lesson.theme),
        key="added",
        title="{label} at position {here}: the first {drawn} of {size} numbers; colour saturates at ±{limit:.2f}",
        mark=prose.FROM_THE_MODEL,
        alt=f"Three strips: the token's row, the row of position {here}, and their sum, which enters layer 0. The sum "
        f"differs from what the model used by at most {added.difference:.1e}.",
        table=lambda: figures.table(dict(zip(names, rows, strict=True))),
        label=token.label,
        here=here,
        drawn=min(figures.BARS_A_LINE, rows.shape[1]),
        size=rows.shape[1],
        limit=figures.saturation(rows),
    )
    prose.read_aloud(
        "In length the position's row is {share:.0%} of the token's. Added up here and compared with what entered "
        "layer 0 in this run, all {size} numbers differ by at most {difference:.8f}.",
        share=added.relative_length,
        size=rows.shape[1],
        difference=added.difference,
    )


@st.fragment
def by_turning() -> None:
    """RoPE. A fragment: its controls leave the strip and the map alone."""
    probe = shared_trace(lm, turning.probe_tokens(lm))
    rotary = turning.rotary_of(probe, view.layer)
    if rotary is None:
        prose.say(
            "Layer {layer} of this model does not turn its queries in a way known here, so nothing is drawn.",
            layer=view.layer,
        )
        _bound("layer", "Layer", range(shape.layers))
    else:
        dials(rotary)
        one_pair(rotary)
        moved(rotary)
    write_address(view)


def dials(rotary: turning.Rotary) -> None:
    """The angle of each position and pair."""
    prose.say(
        "Nothing is added to the row. Instead, in each layer, the vectors with which tokens look at each other (the "
        "<b class='q'>query</b> and the <b class='k'>key</b>) are <i>turned</i>, two numbers at a time, like the hands "
        "of {pairs} clocks of different speed. Each position has its own reading of the clocks.",
        pairs=rotary.pairs,
    )
    positions, pairs = _drawn_positions(), turning.spread(rotary.pairs, DIAL_COLUMNS)
    angles = turning.angles(positions, rotary)[:, pairs].numpy()
    picture, words = st.columns([5, 4], gap="large")
    with picture:
        anatomy.figure(
            figures.clocks(angles, [lesson.labels[p] for p in positions], positions, pairs, here, lesson.theme),
            key="dials",
            title="How far each pair is turned: angle = position × speed",
            mark=prose.BY_FORMULA,
            alt=f"Dials in rows by position and columns by pair. The first pair turns {rotary.degrees(0):.1f} degrees "
            f"a position, pair {rotary.slowest} {rotary.degrees(rotary.slowest):.4f}, so it hardly moves.",
            table=lambda: figures.angle_table(angles, positions, pairs),
        )
    with words:
        _read_dials(rotary, len(positions), len(pairs))


def _read_dials(rotary: turning.Rotary, rows: int, columns: int) -> None:
    prose.read_aloud(
        "From one position to the next, pair {first} turns by {fast:.1f}° and pair {last} by {slow:.4f}°. Fast clocks "
        "tell neighbours apart; slow ones, which need {far:,.0f} positions for one turn, tell near from far.",
        first=0,
        fast=rotary.degrees(0),
        last=rotary.slowest,
        slow=rotary.degrees(rotary.slowest),
        far=360 / rotary.degrees(rotary.slowest),
    )
    prose.aside(
        "Straight up is not turned; clockwise is more. Drawn are {columns} of {pairs} pairs and {rows} of {all} "
        "positions.",
        columns=columns,
        pairs=rotary.pairs,
        rows=rows,
        all=len(lesson.tokens),
    )
    prose.aside(
        "Tried on this model: with one token six times over, the queries and keys of layer {layer}, turned back by "
        "these angles, are all the same to {off:.7f} of their size.",
        layer=view.layer,
        off=rotary.disagreement,
    )
    if rotary.partial:
        prose.aside(
            "This model turns {turned} of the {size} numbers of a query; the rest is left as it is.",
            turned=2 * rotary.pairs,
            size=rotary.head_size,
        )


def _drawn_positions() -> list[int]:
    first = max(0, min(here - DIAL_ROWS // 2, len(lesson.tokens) - DIAL_ROWS))
    return list(range(first, min(first + DIAL_ROWS, len(lesson.tokens))))


def one_pair(rotary: turning.Rotary) -> None:
    """One pair of the selected token's query, before and after."""
    st.subheader("One pair of one query, turned", anchor=False)
    _choose_head_and_pair(rotary)
    picture, words = st.columns([5, 4], gap="large")
    with words:
        turned = turning.rotary_pair(run, rotary, view.layer, view.head, here, st.session_state.pair)
        prose.read_aloud(
            "At position {here} pair {pair} is turned by {here} × {speed:.4g} = {angle:.4g} radians, {degrees:,.1f}°. "
            "Its length stays {length:.3g}: turning loses nothing.",
            here=here,
            pair=turned.pair,
            speed=turned.frequency,
            angle=turned.angle,
            degrees=turned.degrees,
            length=turned.length,
        )
    with picture:
        anatomy.figure(
            figures.turned_arrow(turned.before, turned.after, turned.angle, lesson.theme),
            key="arrow",
            title="Query of {label}, layer {layer}, head {head}, pair {pair}: numbers {one} and {two}",
            mark=prose.FROM_THE_MODEL,
            alt=f"Pair {turned.pair} of the query at position {here}: an arrow before turning and one of the same "
            f"length after turning by {turned.degrees:.1f} degrees.",
            table=lambda: figures.table(
                {
                    "number": turned.places,
                    "before": turned.before,
                    "after": turned.after,
                    "in the model": turned.recorded,
                }
            ),
            label=token.label,
            layer=view.layer,
            head=view.head,
            pair=turned.pair,
            one=turned.places[0],
            two=turned.places[1],
        )
    if box := anatomy.look_inside("the turning, with numbers", key="inside_turning"):
        with box:
            the_arithmetic(turned)


def the_arithmetic(turned: turning.RotaryPair) -> None:
    """One rotated pair with its numbers put in, against what the model used."""
    prose.equation(
        "angle = position × speed = {position} × {speed:.6f} = {angle:.6f} radians\n"
        "cos(angle) = {cos:.6f}    sin(angle) = {sin:.6f}\n"
        "before     = ({x:.6f}, {y:.6f})\n"
        "<b class='q'>x' = x·cos − y·sin</b> = ({x:.6f}) × ({cos:.6f}) − ({y:.6f}) × ({sin:.6f}) = {ax:.6f}\n"
        "<b class='q'>y' = x·sin + y·cos</b> = ({x:.6f}) × ({sin:.6f}) + ({y:.6f}) × ({cos:.6f}) = {ay:.6f}\n"
        + ("" if turned.scaling == 1 else "this model then multiplies by {scaling:.6f}; it is in the results above\n")
        + "the model used ({rx:.6f}, {ry:.6f}); largest difference {off:.7f}",
        position=turned.position,
        speed=turned.frequency,
        angle=turned.angle,
        cos=turned.cos,
        sin=turned.sin,
        x=turned.before[0],
        y=turned.before[1],
        ax=turned.after[0],
        ay=turned.after[1],
        scaling=turned.scaling,
        rx=turned.recorded[0],
        ry=turned.recorded[1],
        off=turned.difference,
    )
    if turned.projected:
        prose.aside("“Before” was worked out anew from the stream and this layer's weights, so this tests the turning.")
    else:
        prose.aside("“Before” is the model's own query turned back, so the last line tests only the arithmetic here.")


def moved(rotary: turning.Rotary) -> None:
    """The score of one query and one key, moved together and apart."""
    st.subheader("Why turning tells distance", anchor=False)
    prose.say(
        "How much a <b class='q'>query</b> looks at a <b class='k'>key</b> starts from one number, their score. Turn "
        "both by the same angle and it stays; turn one alone and it changes. So the score feels how far apart two "
        "tokens are, not where in the text they stand.",
    )
    _choose_key()
    key = _key()
    scores = turning.shifted_scores(run, rotary, view.layer, view.head, here, key)
    shifts, together, apart = scores.shifts.numpy(), scores.together.numpy(), scores.apart.numpy()
    anatomy.figure(
        figures.shift_lines(shifts, together, apart, lesson.theme),
        key="shift",
        title="Score of query {query} with key {looked_at}, layer {layer}, head {head}, if they stood elsewhere",
        mark=prose.BY_FORMULA,
        alt=f"A flat line at {scores.recorded:.2f} while both move, and a changing one, from {apart.min():.2f} to "
        f"{apart.max():.2f}, while the query moves alone.",
        table=lambda: figures.table({"moved by": shifts, "both move": together, "only the query moves": apart}),
        query=token.label,
        looked_at=lesson.labels[key],
        layer=view.layer,
        head=view.head,
    )
    prose.read_aloud(
        "In this run the score is {recorded:.4f}. With both moved by up to {longest} positions it stays within "
        "{deviation:.7f} of that, which is rounding; with the query moved alone it ranges over {spread:.3g}.",
        recorded=scores.recorded,
        longest=int(shifts[-1]),
        deviation=scores.deviation,
        spread=scores.spread,
    )
    prose.aside(
        "The two vectors are the model's own, turned for other positions by the formula above. In a longer "
        "text later layers would also carry other vectors."
    )


def _choose_head_and_pair(rotary: turning.Rotary) -> None:
    st.session_state.setdefault("pair", turning.most_telling_pair(run, rotary, view.layer, view.head, here))
    st.session_state.pair = min(st.session_state.pair, rotary.pairs - 1)
    layer, head, pair = st.columns([1, 1, 3], gap="medium")
    with layer:
        _bound("layer", "Layer", range(shape.layers))
    with head:
        _bound("head", "Query head", range(shape.query_heads))
    if rotary.pairs > 1:
        pair.slider("Pair of numbers", 0, rotary.pairs - 1, key="pair")


def _choose_key() -> None:
    with st.container(width=420):
        _bound("key", "Key: the token looked at", range(-1, here + 1), _key_name)


def _key_name(position: int) -> str:
    return "the one it looks at most, itself aside" if position < 0 else f"{position}  {lesson.labels[position]}"


def _bound(name: str, title: str, options: range, names=str) -> None:
    """A choice bound to a field of the view, which keeps it while other pages are open."""
    key = f"widget_{name}"
    st.session_state[key] = getattr(view, name)
    st.selectbox(
        title, options, key=key, format_func=names, on_change=lambda: setattr(view, name, st.session_state[key])
    )


def check() -> None:
    """One prediction, tried on the model when it has been made."""
    if shape.position_encoding not in ("RoPE", "learned"):
        return
    anatomy.check_yourself(
        "order",
        "Put ten more tokens in front of the text, so that every token stands ten positions later. What changes, in "
        "layer 0, when the selected token looks at another one?",
        [
            "The row that each is looked up as",
            "The vector that enters layer 0, but not the row",
            "The angles, but not the score",
            "The score",
        ],
        right=2 if shape.position_encoding == "RoPE" else 1,
        because=_because,
    )


def _because() -> None:
    prose.say("The row of {label} is number {id} wherever it stands.", label=token.label, id=token.id)
    if len(run) + FURTHER > min(frame.MAX_TOKENS, shape.positions):
        return
    later = shared_trace(lm, table_of.moved_back(run, FURTHER))
    if shape.position_encoding == "learned":
        prose.say(
            "Tried on the model: what enters layer 0 is {distance:.3g} away from what it was, because the row of "
            "position {there} is added instead of that of position {here}.",
            distance=table_of.distance(run.streams[0][here], later.streams[0][here + FURTHER]),
            here=here,
            there=here + FURTHER,
        )
        return
    key = _key()
    prose.say(
        "Tried on the model, with ten copies of the first token in front: in layer 0, head {head}, the score of "
        "{label} with {looked_at} was {before:.4f} and is {after:.4f}. Both angles grew by 10 × speed, and only their "
        "difference counts.",
        head=view.head,
        label=token.label,
        looked_at=lesson.labels[key],
        before=turning.score_in_run(run, 0, view.head, here, key),
        after=turning.score_in_run(later, 0, view.head, here + FURTHER, key + FURTHER),
    )


def _key() -> int:
    """The position looked at: the chosen one, else the strongest."""
    return view.key if view.key >= 0 else turning.strongest_other(run, view.layer, view.head, here)


CODE = """\
import model
from model import embeddings, rotary
from viz.embeddings import row_strip

lm = model.open_model()
run = model.trace(lm, "The capital of France is")
row = embeddings.looked_up(run, position=3).row
near = embeddings.nearest(lm.parts.embedding.weight, [run.tokens.ids[3]], 12)[0]
turn = rotary.rotary_of(model.trace(lm, rotary.probe_tokens(lm)), layer=0)
before = rotary.unrotate(run.query(layer=0, head=3)[3], 3, turn)
row_strip(row.numpy())  # shows the figure in a notebook
"""

the_row()
alike()
on_a_map()
order()
anatomy.try_presets(
    lesson,
    [
        (
            "the the the",
            "One word three times: compare the IDs in the strip, then the rows and their distance.",
            {"prompt": "the the the", "position": 1},
        ),
        (
            "France",
            "Which rows lie near a country's name? Nobody told the model what a country is.",
            {"prompt": "The capital of France is", "position": 3},
        ),
        (
            "a token and its copy",
            "One word twice: one row, two readings of the clocks. Here the last “dog” looks at the first.",
            {
                "prompt": "A dog barked at the cat, and then the cat looked at the dog",
                "position": -1,
                "key": 1,
                "layer": 0,
                "head": 3,
            },
        ),
    ],
)
check()
anatomy.limit(
    "The row is where a token begins, not what it means here. Every layer adds to it: after all {layers} layers the "
    "vector at position {here} has a cosine similarity of {kept:.2f} with what {label} entered as. A word with several "
    "meanings has one row; which meaning it has here is worked out in the layers.",
    layers=shape.layers,
    here=here,
    kept=table_of.likeness_kept(run, here),
    label=token.label,
)
anatomy.code(CODE)
frame.next_page(lesson)
