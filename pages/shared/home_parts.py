"""The parts of the first lesson: the picture of the loop, and writing on."""

import streamlit as st

import model
from model import ExplainerError, Stop
from model.head_view import HeadView
from model.journey import depths, journey, stream_check
from pages.shared import anatomy, prose
from pages.shared.frame import MAX_TOKENS, PAGES, Lesson
from pages.shared.limits import LIMITS
from pages.shared.state import MAX_BRANCH_TOKENS, MAX_BRANCHES, View
from pages.shared.store import shared_lens_column
from viz.loop import Candidate, Drawn, Guess, LoopPicture, draw_loop, loop_table

#: Positions drawn at most, numbers of a stream vector drawn, tokens told apart at the end.
WINDOW, SHOWN, CANDIDATES = 14, 96, 10


def picture(lesson: Lesson) -> LoopPicture:
    """The values of this run that the picture of the loop shows."""
    view, run, shape = lesson.view, lesson.trace, lesson.lm.architecture
    window = _window(len(lesson.tokens), lesson.selected)
    through = journey(run, view.layer, view.head, window, SHOWN)
    choice, offers = lesson.choice(lesson.selected), lesson.offers(lesson.selected)
    shown = offers.likeliest(CANDIDATES)
    return LoopPicture(
        labels=lesson.labels[window],
        ids=list(lesson.tokens.ids[window]),
        first_position=through.first,
        positions_total=len(lesson.tokens),
        selected=lesson.selected,
        embedding=through.embedding,
        layer=view.layer,
        layers=shape.layers,
        head=view.head,
        heads=shape.query_heads,
        kv_head=shape.kv_head_of(view.head),
        query=through.query,
        key=through.key,
        value=through.value,
        attention=through.attention,
        mix=through.mix,
        attention_added=through.attention_added,
        feed_forward_added=through.feed_forward_added,
        stream_in=through.stream_in,
        stream_out=through.stream_out,
        hidden_size=shape.hidden_size,
        head_size=shape.head_size,
        lens=_guesses(lesson),
        candidates=[Candidate(*each) for each in shown],
        rest_count=shape.vocabulary_size - len(shown),
        rest_probability=offers.rest(len(shown)),
        drawn=_drawn(lesson, choice),
        greedy=choice.settings.greedy,
        grew=st.session_state.pop("grew", False),
        origin=(lesson.lm.title, lesson.lm.dtype),
    )


def _window(total: int, selected: int) -> slice:
    """The last positions, or those up to the selected one where it lies before them."""
    start = max(0, min(total - WINDOW, selected))
    return slice(start, min(start + WINDOW, total))


def _guesses(lesson: Lesson) -> list[Guess]:
    """What a few layers would answer if each were the last."""
    column = shared_lens_column(lesson.trace, lesson.selected)
    best = ((layer, *column.best(layer)) for layer in depths(lesson.lm.architecture.layers))
    return [Guess(layer, lesson.lm.vocabulary.labels[id], p) for layer, id, p in best]


def _drawn(lesson: Lesson, choice) -> Drawn | None:
    """The token that follows the selected one: drawn now, or written before; none inside the prompt."""
    position, labels = lesson.selected, lesson.lm.vocabulary.labels
    if position < lesson.prompt_length - 1:
        return None
    if position == len(lesson.tokens) - 1:
        drawn = choice.draw
        seed = None if drawn.uniform is None else choice.settings.seed
        return Drawn(choice.drawn_label, drawn.id, drawn.probability, drawn.uniform, seed)
    written = lesson.tokens[position + 1].id
    same = written == choice.draw.id and choice.uniform is not None
    uniform, seed = (choice.uniform, choice.settings.seed) if same else (None, None)
    return Drawn(labels[written], written, lesson.offers(position).probability_of(written), uniform, seed)


def show_loop(lesson: Lesson) -> None:
    """The picture, its table twin, and what a click in it does."""
    view, shape = lesson.view, lesson.lm.architecture
    drawing = picture(lesson)
    draw_loop(
        drawing,
        key="loop",
        on_select=lambda value: _take(view, "position", value, len(lesson.tokens)),
        on_layer=lambda value: _take(view, "layer", value, shape.layers),
        on_head=lambda value: _take(view, "head", value, shape.query_heads),
        on_open=lambda name: st.session_state.update(open_page=name),
    )
    wanted = st.session_state.pop("open_page", None)
    if isinstance(wanted, str) and wanted in PAGES:
        st.switch_page(PAGES[wanted].file)
    _tables(drawing)


def _take(view: View, name: str, value: object, count: int) -> None:
    """A number from the browser, taken only if it is one and in range."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count:
        setattr(view, name, value)


def _tables(drawing: LoopPicture) -> None:
    closed = st.expander("The same as tables", key="loop_table", on_change="rerun", icon=":material/table:")
    if closed.open:
        with closed:
            for title, table in loop_table(drawing).items():
                prose.say("{title}", kind="lesson figure-title", title=prose.literal(title))
                st.dataframe(table, width="stretch")


def controls(lesson: Lesson) -> None:
    """Next token, run on, back; and why writing stopped."""
    view = lesson.view
    ended = bool(view.continuation) and view.continuation[-1] in lesson.lm.end_ids
    full = len(lesson.tokens) >= min(MAX_TOKENS, lesson.lm.architecture.positions)
    full = full or len(view.continuation) >= MAX_BRANCH_TOKENS
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Next token",
            type="primary",
            icon=":material/add:",
            disabled=ended or full,
            on_click=append_drawn,
            args=(lesson,),
            help="Takes the token drawn, puts it at the end of the text, and runs the model again.",
        )
        st.button(
            "Run on",
            icon=":material/fast_forward:",
            disabled=ended or full,
            on_click=lambda: st.session_state.update(running=True),
            help=f"The same again and again, {LIMITS.written} tokens at most.",
        )
        st.button(
            "Take back",
            icon=":material/undo:",
            disabled=not view.continuation,
            on_click=write,
            args=(view, view.continuation[:-1]),
        )
        st.button(
            "Start again",
            icon=":material/restart_alt:",
            disabled=view.written == ((),),
            on_click=_restart,
            args=(view,),
        )
    if ended:
        prose.aside("Writing stopped: {why}, {token}.", why=prose.literal(Stop.END_TOKEN), token=lesson.labels[-1])
    elif full:
        prose.aside(
            "Writing stopped: the text has {n:,} tokens, {written:,} of them written; at most {most:,} and {branch:,} "
            "are kept here.",
            n=len(lesson.tokens),
            written=len(view.continuation),
            most=MAX_TOKENS,
            branch=MAX_BRANCH_TOKENS,
        )
    elif view.continuation and (why := st.session_state.get("stopped")):
        prose.aside("Writing stopped: {why}.", why=prose.literal(why))


def append_drawn(lesson: Lesson) -> None:
    """Put the token drawn after the last position at the end of the text."""
    if lesson.prompt_length + len(lesson.view.continuation) != len(lesson.tokens):
        return  # the text has changed since the button was drawn
    drawn = lesson.choice(len(lesson.tokens) - 1).draw.id
    st.session_state.grew = True
    write(lesson.view, (*lesson.view.continuation, drawn))


def write(view: View, continuation: tuple[int, ...]) -> None:
    """Replace what is written on the branch on show; the last token becomes the selected one."""
    st.session_state.pop("stopped", None)
    branches = list(view.written)
    branches[view.branch] = tuple(continuation)
    view.written, view.position, view.key = tuple(branches), -1, -1


def _restart(view: View) -> None:
    st.session_state.pop("stopped", None)
    view.written, view.branch, view.position, view.key = ((),), 0, -1, -1


def run_on(lesson: Lesson) -> None:
    """Write until the model stops, the room is full, or somebody presses Stop.

    Every token is in the session's state before the next is begun, so that stopping loses nothing.
    """
    if not st.session_state.pop("running", False):  # whatever else is clicked ends the writing
        return
    view, lm = lesson.view, lesson.lm
    room = min(MAX_TOKENS, lm.architecture.positions) - len(lesson.tokens)
    most = max(1, min(LIMITS.written, room, MAX_BRANCH_TOKENS - len(view.continuation)))
    st.button("Stop", icon=":material/stop:", on_click=_stop)
    bar, text = st.progress(0.0), st.empty()
    try:
        steps = model.generate(lm, lesson.tokens, view.settings, max_tokens=most, first_number=len(view.continuation))
        prompt, so_far = view.prompt, view.continuation
        for step in steps:
            if (view.prompt, view.continuation) != (prompt, so_far):
                return  # another run of this session has begun, with another text
            so_far = (*so_far, step.draw.id)
            write(view, so_far)
            st.session_state.stopped = str(step.stop or "it was interrupted")
            bar.progress((step.index + 1) / most, f"{step.index + 1} of at most {most} tokens")
            text.text("".join(lm.vocabulary.labels[id] for id in view.continuation))
    except ExplainerError as problem:
        st.session_state.stopped = str(problem)
    st.rerun()


def _stop() -> None:
    st.session_state.stopped = "you stopped it"


def sentence(lesson: Lesson) -> None:
    """The picture read aloud."""
    view, position = lesson.view, lesson.selected
    best, _, p = lesson.offers(position).likeliest(1)[0]
    look = HeadView(lesson.trace, view.layer, view.head, position)
    at = look.strongest[0]
    goes_on, values = _what_follows(lesson)
    prose.read_aloud(
        "In layer {layer}, head {head}, {query} looks most at {key}, with {share:.0%} of its weight. After all "
        "{layers} layers the likeliest token to follow is {best}, with {p:.1%}" + goes_on + ".",
        layer=view.layer,
        head=view.head,
        query=lesson.labels[position],
        key=lesson.labels[at],
        share=float(look.row[at]),
        layers=lesson.lm.architecture.layers,
        best=best,
        p=p,
        **values,
    )


def _what_follows(lesson: Lesson) -> tuple[str, dict]:
    """How the text goes on after the selected token: a template and its values."""
    position, choice = lesson.selected, lesson.choice(lesson.selected)
    if position == len(lesson.tokens) - 1:
        if choice.settings.greedy:
            return "; at temperature 0 it is taken", {}
        text = "; the number drawn, <b class='p'>{u:.3f}</b>, picks {drawn}"
        return text, {"u": choice.uniform, "drawn": choice.drawn_label}
    following = lesson.tokens[position + 1]
    whose = "your text goes on" if position + 1 < lesson.prompt_length else "what was written goes on"
    probability = lesson.offers(position).probability_of(following.id)
    return f"; {whose} with {{next}}, which had {{had:.2%}}", {"next": following.label, "had": probability}


def branches(lesson: Lesson) -> None:
    """Every written token opened, another candidate taken, and the branches side by side."""
    view = lesson.view
    st.header("What if another token had been drawn?", anchor=False)
    place = lesson.selected - (lesson.prompt_length - 1)
    if place < 0:
        prose.say("Select the last token of your text, or one the model wrote, and take another token after it.")
    else:
        _take_another(lesson, place)
    if len(view.written) > 1:
        _side_by_side(lesson)


def _take_another(lesson: Lesson, place: int) -> None:
    view = lesson.view
    offers = lesson.offers(lesson.selected).likeliest(CANDIDATES)
    taken = view.continuation[place] if place < len(view.continuation) else None
    names = {id: f"{label}   {p:.2%}" for label, id, p in offers if id != taken}
    prose.say(
        "After {token} these were the likeliest. Take one, and the story branches here; the branch you leave is kept.",
        token=lesson.labels[lesson.selected],
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        id = st.selectbox("Take instead", list(names), format_func=names.get, key="take_instead", width=320)
        st.button(
            "Start a branch",
            icon=":material/call_split:",
            disabled=len(view.written) >= MAX_BRANCHES,
            help=f"At most {MAX_BRANCHES} branches are kept.",
            on_click=_branch,
            args=(view, (*view.continuation[:place], id)),
        )


def _branch(view: View, continuation: tuple[int, ...]) -> None:
    if view.written == ((),):  # nothing was written yet: the first choice is the first branch
        view.written = (continuation,)
    else:
        view.written = (*view.written, continuation)
    view.branch = len(view.written) - 1
    view.position, view.key = -1, -1
    st.session_state.pop("stopped", None)


def _side_by_side(lesson: Lesson) -> None:
    view, labels = lesson.view, lesson.lm.vocabulary.labels
    for column, (number, branch) in zip(
        st.columns(len(view.written), gap="medium"), enumerate(view.written), strict=True
    ):
        with column:
            st.button(
                f"Branch {number + 1}" + (" (on show)" if number == view.branch else ""),
                key=f"branch_{number}",
                type="primary" if number == view.branch else "secondary",
                on_click=_show_branch,
                args=(view, number),
                width="stretch",
            )
            prose.say("… {written}", kind="lesson", written="".join(labels[id] for id in branch) or "∅")


def _show_branch(view: View, number: int) -> None:
    view.branch, view.position, view.key = number, -1, -1
    st.session_state.pop("stopped", None)


def addition(lesson: Lesson) -> None:
    """What the opened layer did to the selected token's vector, added up with the numbers put in."""
    check = stream_check(lesson.trace, lesson.view.layer, lesson.selected)

    def row(numbers: list[float]) -> prose.Html:
        return prose.Html("  ".join(f"{number:9.4f}" for number in numbers) + "  …")

    prose.equation(
        "the stream of {token} before layer {layer}   {before}\n"
        "  + what attention adds (all heads)    {attention}\n"
        "  + what the feed-forward network adds {feed_forward}\n"
        "  = the stream after layer {layer}          {after}",
        token=lesson.labels[lesson.selected],
        layer=lesson.view.layer,
        before=row(check.before),
        attention=row(check.attention),
        feed_forward=row(check.feed_forward),
        after=row(check.after),
    )
    prose.aside(
        "Added up here over all {size} numbers and compared with what the model had after the layer: at most "
        "{difference:.1e} apart, where the largest number is {largest:.1f}.",
        size=lesson.lm.architecture.hidden_size,
        difference=check.difference,
        largest=check.largest,
    )


def check(lesson: Lesson) -> None:
    """At which depth does the answer appear? This run decides."""
    layers = lesson.lm.architecture.layers
    column = shared_lens_column(lesson.trace, lesson.selected)
    settled = max(0, column.settled - 1)  # step 0 is before layer 0
    third = min(2, 3 * settled // layers)
    anatomy.check_yourself(
        "home",
        "The model is read out after every layer. From which depth on is its guess the final one?",
        ["The first third of the layers", "The second third", "The last third"],
        third,
        lambda: prose.say(
            "For this text the guess is {token} from layer {settled} on, of {layers} (0 to {last})."
            + (" Before that it was {other}." if settled else ""),
            token=lesson.lm.vocabulary.labels[column.final],
            settled=settled,
            layers=layers,
            last=layers - 1,
            other=lesson.lm.vocabulary.labels[column.best(settled - 1)[0]],
        ),
    )
