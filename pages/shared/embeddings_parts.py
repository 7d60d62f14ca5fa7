"""The parts of the embeddings lesson: the row of a token, the rows like it, and the map of them."""

import streamlit as st

from model import LanguageModel
from model.embeddings import LookedUp, Neighbour, Neighbourhood, around, nearest, nearest_twin, neighbourhood
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from viz import embeddings as figures

#: Neighbours in the bars; neighbours and tokens of the text in the map.
BARS, MAP_NEIGHBOURS, MAP_TOKENS = 12, 5, 10


def _label(lesson: Lesson, id: int) -> str:
    return lesson.lm.vocabulary.labels[id]


# ---- the row -----------------------------------------------------------------------------------


def row_figure(lesson: Lesson, found: LookedUp) -> None:
    """The row that the selected token is looked up as."""
    row = found.row.numpy()
    anatomy.figure(
        figures.row_strip(row, lesson.theme),
        key="row",
        title="The row of {label}: number {id} of {rows:,}. Blue is below zero, orange above; "
        "colour saturates at ±{limit:.2f}",
        mark=prose.FROM_THE_MODEL,
        alt=f"The {len(row)} numbers of embedding row {found.id} as a bar-code, from {found.lowest:.2f} to "
        f"{found.highest:.2f}, and the first {min(figures.CELLS, len(row))} written out.",
        table=lambda: figures.table({"place": range(len(row)), "value": row}),
        label=lesson.labels[found.position],
        id=found.id,
        rows=lesson.lm.architecture.vocabulary_size,
        limit=figures.saturation(row),
    )


def row_sentence(lesson: Lesson, found: LookedUp) -> None:
    """The row read aloud, and what the run did with it."""
    prose.read_aloud(
        "{label} has ID {id}, so the model read row {id}: {size} numbers between {low:.2f} and {high:.2f}. "
        + _what_enters(lesson, found),
        label=lesson.labels[found.position],
        id=found.id,
        size=len(found.row),
        low=found.lowest,
        high=found.highest,
        factor=found.factor or 0.0,
    )


def _what_enters(lesson: Lesson, found: LookedUp) -> str:
    if found.factor == 1.0:
        return "Exactly this row enters layer 0: the largest difference in this run is <b>0</b>."
    if found.factor is not None:
        return "This model multiplies the row by {factor:.4g}, and the product enters layer 0."
    if lesson.lm.architecture.position_encoding == "learned":
        return "Before layer 0 a row for the position is added to it: see “How is order told?” below."
    return "Before layer 0 this model changes it further, in a way that is not drawn here."


def same_row_sentence(lesson: Lesson) -> None:
    """The same token elsewhere in the text."""
    label, twin = lesson.labels[lesson.selected], nearest_twin(lesson.trace, lesson.selected)
    if twin is None:
        prose.say("{label} stands only once in this text. Wherever it stood, the row would be this one.", label=label)
        return
    if twin.apart == 0:
        why = ", exactly. Looking at these vectors alone, the model could not tell which came first."
    elif lesson.lm.architecture.position_encoding == "learned":
        why = ", which comes from what is added for the position."
    else:
        why = "."
    prose.say(
        "{label} stands at {count} places in this text. All have the same ID, so all have the same row; between what "
        "enters layer 0 at position {here} and at position {other} the distance is {distance:.3g}" + why,
        label=label,
        count=twin.count,
        here=lesson.selected,
        other=twin.position,
        distance=twin.apart,
    )


# ---- rows that are alike -----------------------------------------------------------------------


@st.cache_data(max_entries=512, show_spinner=False)
def _neighbours(_lm: LanguageModel, key: str, dtype: str, ids: tuple[int, ...], count: int) -> list[list[Neighbour]]:
    """The nearest rows of the open model's table; ``key`` and ``dtype`` name it in the cache."""
    return nearest(_lm.parts.embedding.weight, ids, count)


def _near(lesson: Lesson, ids: list[int], count: int) -> list[list[Neighbour]]:
    return _neighbours(lesson.lm, lesson.lm.key, lesson.lm.dtype, tuple(ids), count)


def rows_alike(lesson: Lesson) -> list[Neighbour]:
    """The rows that are most like that of the selected token, nearest first."""
    return _near(lesson, [lesson.tokens[lesson.selected].id], BARS)[0]


def alike_figure(lesson: Lesson, near: list[Neighbour]) -> None:
    """The nearest rows as bars."""
    token = lesson.labels[lesson.selected]
    labels, ids, values = [_label(lesson, n.id) for n in near], [n.id for n in near], [n.similarity for n in near]
    anatomy.figure(
        figures.neighbour_bars(labels, ids, values, lesson.theme),
        key="neighbours",
        title="The {count} rows that point most nearly the same way as the row of {label}",
        mark=prose.FROM_THE_MODEL,
        alt=f"Bars of cosine similarity with {token}: {labels[0]} {values[0]:.2f} is nearest, "
        f"{labels[-1]} {values[-1]:.2f} is number {len(near)}.",
        table=lambda: figures.table({"token": labels, "ID": ids, "cosine similarity": values}),
        count=len(near),
        label=token,
    )


def alike_sentence(lesson: Lesson, near: list[Neighbour]) -> None:
    """The nearest row read aloud."""
    prose.read_aloud(
        "Of {rows:,} rows, that of {nearest} is most like the row of {label}: similarity {value:.2f}, where 1 is "
        "the same direction and 0 has nothing in common. Nobody wrote this down; training moved the rows there.",
        rows=lesson.lm.architecture.vocabulary_size - 1,
        nearest=_label(lesson, near[0].id),
        label=lesson.labels[lesson.selected],
        value=near[0].similarity,
    )


# ---- the map -----------------------------------------------------------------------------------


def rows_around(lesson: Lesson) -> Neighbourhood:
    """The rows of the tokens around the selected one, with their nearest rows, laid flat."""
    own = around(lesson.tokens, lesson.selected, MAP_TOKENS)
    near = _near(lesson, own, MAP_NEIGHBOURS)
    return neighbourhood(lesson.lm.parts.embedding.weight, dict(zip(own, near, strict=True)))


def map_figure(lesson: Lesson, drawn: Neighbourhood) -> None:
    """Rows as points: near is alike, as far as two directions can tell."""
    labels, points = [_label(lesson, id) for id in drawn.ids], drawn.map.points.numpy()
    anatomy.figure(
        figures.vector_map(points, drawn.map.explained, labels, drawn.own, drawn.links, lesson.theme),
        key="map",
        title="{count} rows laid flat: {own} tokens of the text and the {near} nearest rows of each",
        mark=prose.FROM_THE_MODEL,
        alt=f"A map of {len(labels)} embedding rows. Its two directions hold {drawn.map.held:.0%} of their variance. "
        f"Tokens of the text are filled diamonds, their nearest rows are rings; {lesson.labels[lesson.selected]} is "
        "marked.",
        table=lambda: figures.map_table(labels, drawn.ids, drawn.own, points),
        count=len(labels),
        own=drawn.own,
        near=MAP_NEIGHBOURS,
    )


def map_sentence(lesson: Lesson, drawn: Neighbourhood) -> None:
    """How much of the rows the map shows, and which."""
    prose.read_aloud(
        "A row has {size} directions and a screen has two. The two in which these rows differ most hold "
        "{share:.0%} of their differences; the other {lost:.0%} are flattened away, so near on the map may be far "
        "in the table.",
        size=lesson.lm.parts.embedding.weight.shape[1],
        share=drawn.map.held,
        lost=drawn.map.flattened,
    )
    different = len(set(lesson.tokens.ids))
    if different > drawn.own:
        prose.aside(
            "The text has {all} different tokens; drawn are the {some} nearest to the selected one.",
            all=different,
            some=drawn.own,
        )


def presets(lesson: Lesson) -> None:
    """Texts that show the table, and what turning adds to it."""
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
