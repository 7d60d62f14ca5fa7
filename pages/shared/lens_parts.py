"""The parts of the lesson on layers that read each layer as if it were the last."""

import streamlit as st

from model.lens import LensColumn, LensGrid, window_around
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from pages.shared.layers_parts import take_layer
from pages.shared.store import lens_is_known, shared_lens
from viz import lens as figures
from viz.sampling import percent

#: Positions shown at once, before the theme's scale.
COLUMNS = 16


def window(lesson: Lesson) -> LensGrid:
    """The lens around the selected position."""
    most = int(COLUMNS / lesson.theme.scale)
    positions = window_around(lesson.selected, len(lesson.labels), most)
    if lens_is_known(lesson.trace, positions):
        return shared_lens(lesson.trace, positions)
    with st.spinner("Reading every layer as if it were the last …"):
        return shared_lens(lesson.trace, positions)


def column_of(lesson: Lesson, grid: LensGrid) -> LensColumn:
    """The selected position's column."""
    return grid.columns[lesson.selected - grid.first]


def grid_figure(lesson: Lesson, grid: LensGrid) -> None:
    """Layers × positions; clicking a cell selects its layer and position."""
    view, names = lesson.view, lesson.lm.vocabulary.labels
    guesses = [[names[id] for id in row] for row in grid.ids.tolist()]
    end = grid.first + len(grid.columns)
    labels = lesson.labels[grid.first : end]
    drawing = figures.lens_grid(
        guesses,
        grid.probabilities,
        labels,
        grid.first,
        layer=view.layer,
        position=lesson.selected,
        theme=lesson.theme,
    )
    chosen = column_of(lesson, grid)
    st.html(f"<style>.st-key-sideways_lens {{ --needed: {figures.grid_rem(len(labels)):.1f}rem; }}</style>")
    with st.container(key="sideways_lens"):
        anatomy.figure(
            drawing,
            key="lens_grid",
            title="The likeliest next token if each layer were the last; {what}",
            mark=prose.FROM_THE_MODEL,
            alt=f"Guesses of {len(guesses) - 1} layers at positions {grid.first} to {end - 1}. At position "
            f"{lesson.selected} the last layer answers {names[chosen.final]} with "
            f"{percent(float(chosen.probabilities[-1, 0]))}.",
            table=lambda: figures.lens_table(guesses, grid.probabilities, labels, grid.first),
            on_click=lambda x, y: _take_cell(lesson, int(x), int(y)),
            what=prose.Html("the selected layer and position outlined"),
        )
    prose.aside(
        "“in” is the stream before layer 0, read in the same way. Click a cell to select its layer and position."
    )
    if len(labels) < len(lesson.labels):
        prose.aside(
            "Shown are positions {first} to {last} of {count}, around the selected one. Select another token in the "
            "strip to move the window.",
            first=grid.first,
            last=end - 1,
            count=len(lesson.labels),
        )


def _take_cell(lesson: Lesson, position: int, layer: int) -> None:
    take_layer(lesson.view, layer, lesson.lm.architecture.layers)
    lesson.view.position, lesson.view.key = position, -1


def cell_sentence(lesson: Lesson, grid: LensGrid) -> None:
    """The selected cell read aloud."""
    names, column, layer = lesson.lm.vocabulary.labels, column_of(lesson, grid), lesson.view.layer
    ids, chances = column.ids[layer + 1].tolist(), column.probabilities[layer + 1].tolist()
    prose.read_aloud(
        "If layer {layer} were the last, {first} would come after {token} (position {place}) with {most}, then "
        "{second} with {more}. The model itself, after layer {last}, answers {final} with {end}"
        + (": the same numbers." if layer + 1 == len(column.ids) - 1 else "."),
        layer=layer,
        first=names[ids[0]],
        token=lesson.labels[lesson.selected],
        place=lesson.selected,
        most=prose.literal(percent(chances[0])),
        second=names[ids[1]],
        more=prose.literal(percent(chances[1])),
        last=len(column.ids) - 2,
        final=names[column.final],
        end=prose.literal(percent(float(column.probabilities[-1, 0]))),
    )


def misleading_sentence(lesson: Lesson, grid: LensGrid) -> None:
    """Where the lens is surest of what the model does not say."""
    found, names = grid.most_misleading, lesson.lm.vocabulary.labels
    if found is None:
        return
    step, position = found
    column = grid.columns[position - grid.first]
    prose.say(
        "<b>A reading aid, not a thought.</b> Only the last layer was trained to be read this way. After layer "
        "{layer}, at position {place}, the lens is {chance} sure of {guess}, and the model then answers {final}. The "
        "vectors of middle layers serve the layers that follow, and read as words they often mean nothing.",
        layer=step - 1,
        place=position,
        chance=prose.literal(percent(float(column.probabilities[step, 0]))),
        guess=names[int(column.ids[step, 0])],
        final=names[column.final],
    )


def verdict_figure(lesson: Lesson, column: LensColumn) -> None:
    """The place of the model's own answer, layer by layer."""
    view, shape = lesson.view, lesson.lm.architecture
    anatomy.figure(
        figures.late_verdict(column.ranks, layer=view.layer, vocabulary=shape.vocabulary_size, theme=lesson.theme),
        key="late_verdict",
        title="The late verdict: the place of {final} among all {count:,} tokens after each layer, at position {place}",
        mark=prose.FROM_THE_MODEL,
        alt=f"Place of the model's answer after each layer, 1 is first. Over the last steps: "
        f"{', '.join(f'{rank:,}' for rank in column.ranks[-4:])}.",
        table=lambda: figures.verdict_table(column.ranks, column.chances),
        on_click=lambda x, y: take_layer(view, int(x), shape.layers),
        final=lesson.lm.vocabulary.labels[column.final],
        count=shape.vocabulary_size,
        place=lesson.selected,
    )


def verdict_sentence(lesson: Lesson, column: LensColumn) -> None:
    """When the answer is settled."""
    last = ", ".join(f"{rank:,}" for rank in column.ranks[-4:])
    if column.settled == 0:
        when = "It is in the first place from the start."
    else:
        when = "It is in the first place to stay from layer {settled} on; the last layer is {end}."
    prose.read_aloud(
        "{final} stands in place {first:,} before layer 0; after the last layers in place {last}. " + when,
        final=lesson.lm.vocabulary.labels[column.final],
        first=int(column.ranks[0]),
        last=prose.Html(last),
        settled=column.settled - 1,
        end=len(column.ranks) - 2,
    )
