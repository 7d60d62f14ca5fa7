"""The frame of every page: set-up, menu, model, prompt and token strip.

Each page calls :func:`open_page` first, because Streamlit may start a session on any page without
running ``app.py``. What comes back is a :class:`Lesson`: the model, the text as tokens, what the
visitor selected, and the trace, run when it is first asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from weakref import ref

import streamlit as st

import model
from model import ExplainerError, Kind, LanguageModel, Settings, Tokens, Trace
from model.choice import Choice
from model.preparation import is_prepared, prepared_folder, prepared_target
from model.tokens import extended
from pages.shared import prose
from pages.shared.limits import LIMITS
from pages.shared.state import View, view, write_address
from pages.shared.store import opened_model, shared_choice, shared_trace
from pages.shared.visitors import VISITORS
from viz import palette
from viz.components import reported
from viz.strip import Chip, token_strip
from viz.style import Theme

VIZ = Path(palette.__file__).parent
APP_TITLE = "How a language model writes"

#: Tokens that a page runs at most.
MAX_TOKENS = LIMITS.tokens
CLASSROOM_SCALE = 1.35


@dataclass(frozen=True)
class Page:
    """One lesson in the menu."""

    slug: str
    file: str
    question: str
    name: str
    icon: str


PAGES = {
    page.slug: page
    for page in (
        Page("home", "app.py", "How does a model write?", "The loop", ":material/all_inclusive:"),
        Page("tokens", "pages/tokens.py", "What does the model read?", "Tokens", ":material/segment:"),
        Page(
            "embeddings",
            "pages/embeddings.py",
            "How do labels become vectors, and how is order told?",
            "Embeddings",
            ":material/scatter_plot:",
        ),
        Page("attention", "pages/attention.py", "Who looks at whom?", "Attention", ":material/visibility:"),
        Page(
            "layers",
            "pages/layers.py",
            "What happens between the first layer and the last?",
            "Layers",
            ":material/layers:",
        ),
        Page("context", "pages/context.py", "Can one token mean two things?", "Context", ":material/compare:"),
        Page("whatif", "pages/whatif.py", "What is it for? Break it", "What if", ":material/build:"),
        Page("sampling", "pages/sampling.py", "How is the next token picked?", "Sampling", ":material/casino:"),
        Page("decode", "pages/decode.py", "Why is the first word slow?", "Prefill and decode", ":material/timer:"),
        Page(
            "cache",
            "pages/cache.py",
            "What does the model keep, and what does it cost?",
            "KV cache",
            ":material/memory:",
        ),
        Page("conversation", "pages/conversation.py", "Does it remember?", "Conversation", ":material/forum:"),
        Page("planner", "pages/planner.py", "Will it hold?", "Planner", ":material/calculate:"),
    )
}

EXAMPLES = (
    ("The capital of France is", "one clear answer"),
    ("The cat sat on the mat because it was", "what does 'it' look at?"),
    ("one two three one two three one two", "a pattern to copy"),
    ("Once upon a time there was a", "many answers"),
)


@dataclass
class Lesson:
    """What a page works with.

    Attributes:
        page: which lesson it is.
        lm: the open model.
        view: what the visitor selected, clamped to the model and the text.
        tokens: the prompt and what was written after it.
        prompt_length: how many of the tokens are the prompt's.
        theme: what figures are drawn for.
    """

    page: Page
    lm: LanguageModel
    view: View
    tokens: Tokens
    prompt_length: int
    theme: Theme
    _trace: ref[Trace] | None = field(default=None, repr=False)

    @property
    def trace(self) -> Trace:
        """The forward pass of the tokens, shared with everybody who has the same text.

        Not kept here. A lesson lives as long as its fragments may run again, which is until the
        visitor does something else; a trace kept so long would be outside the bound of
        :func:`pages.shared.store.results`.
        """
        run = self._trace() if self._trace else None
        if run is None:
            run = shared_trace(self.lm, self.tokens)
            self._trace = ref(run)
        return run

    @property
    def labels(self) -> list[str]:
        return self.tokens.labels

    def choice(self, position: int) -> Choice:
        """What can follow ``position``, and the token that the seed draws there.

        The first token written is drawn with the generator's first number, the next with the
        second; before the end of the prompt, where nothing was drawn, the first is shown.
        """
        return self._choice(position, self.view.settings)

    def offers(self, position: int) -> Choice:
        """What can follow ``position``, to be looked at: as ``choice``, but greedy sampling, which
        leaves one token, is shown as the distribution it takes the likeliest of."""
        settings = self.view.settings
        return self._choice(position, Settings() if settings.greedy else settings)

    def _choice(self, position: int, settings: Settings) -> Choice:
        index = max(0, position - (self.prompt_length - 1))
        return shared_choice(self.trace, position, self.view.settings.repetition_penalty, settings, index)

    @property
    def trace_call(self) -> str:
        """The line of code that makes this trace in a notebook."""
        if len(self.tokens) > self.prompt_length:
            return f"model.trace(lm, {list(self.tokens.ids)})"
        if self.view.specials == "control":
            return f'model.trace(lm, model.tokenize(lm, {self.view.prompt!r}, "control"))'
        return f"model.trace(lm, {self.view.prompt!r})"

    def redraw_if_moved(self) -> None:
        """In a fragment: run the whole page again if a click selected another token, for the strip."""
        if self.selected != st.session_state.strip_position:
            st.rerun(scope="app")

    @property
    def selected(self) -> int:
        """Position of the selected token.

        Clamped at every reading: a session that reconnects may start a run while an earlier one
        still ends, and both work on the same view.
        """
        last = len(self.tokens) - 1
        return last if self.view.position < 0 else min(self.view.position, last)


def open_page(slug: str) -> Lesson:
    """Draw the frame of a page and return what the lesson works with."""
    page = PAGES[slug]
    st.session_state.page_shown = slug
    st.set_page_config(
        page_title=f"{page.question} · {APP_TITLE}",
        page_icon=str(VIZ / "icon.svg"),
        layout="wide",
        initial_sidebar_state="collapsed" if st.context.is_embedded else "auto",
    )
    _admit()
    state = view()
    theme = _theme(state)
    _style(theme)
    lm = _model(state)
    _menu(page, state, lm)
    st.title(page.question, anchor=False)
    notes = state.clamp(lm.architecture.layers, lm.architecture.query_heads, lm.architecture.vocabulary_size)
    _prompt(page, state, lm)
    prompt, tokens = _tokens(state, lm)
    state.clamp_positions(len(tokens))
    st.session_state.strip_position = state.position
    _strip(state, tokens, len(prompt))
    for note in (*notes, *tokens.notes):
        prose.aside("Note: {note}", note=prose.literal(note))
    write_address(state)
    return Lesson(page, lm, state, tokens, len(prompt), theme)


def _admit() -> None:
    """Let a new visitor in if there is room; who is in already stays."""
    if "admitted" in st.session_state:
        return
    if VISITORS.is_over_full:
        st.warning(
            f"All places of this server are taken ({VISITORS.most:,}). Load the page again when somebody has left.",
            icon=":material/group:",
        )
        st.stop()
    st.session_state.admitted = True


def _theme(state: View) -> Theme:
    name = "dark" if st.context.theme.type == "dark" else "light"
    return Theme(name, CLASSROOM_SCALE if state.classroom else 1.0)


def _style(theme: Theme) -> None:
    sheet = (VIZ / "page.css").read_text(encoding="utf-8")
    st.html(f"<style>:root {{ --scale: {theme.scale}; }}\n{palette.page_css(theme.name)}\n{sheet}</style>")


def _model(state: View) -> LanguageModel:
    """The model asked for; if it cannot be had, the one that was open, and a sentence why."""
    listed = model.listed_models()
    last_good = st.session_state.get("open_model", model.DEFAULT_KEY)
    for key in dict.fromkeys((state.model, last_good, model.DEFAULT_KEY)):
        try:
            if key not in listed:
                raise model.ModelUnavailable(f"There is no model {key!r} here. On offer: {', '.join(listed)}.")
            _prepare_in_sight(listed[key])
            lm = opened_model(key)
            _opened_from.add(prepared_target(listed[key]))
        except ExplainerError as problem:
            st.session_state.model_problem = str(problem)
            continue
        if key != state.model:
            state.model = key
        st.session_state.open_model = key
        return lm
    st.error(prose.plain(st.session_state.pop("model_problem")), icon=":material/error:")
    st.stop()


#: Prepared copies that a model of this process came from: what becomes of them later concerns nobody here.
_opened_from: set[Path] = set()


def _prepare_in_sight(listed: model.Listed) -> None:
    """The first opening unpacks the weights, which takes half a minute: show how far it is."""
    if listed.kind not in ("package", "gguf"):
        return
    if (target := prepared_target(listed)) in _opened_from or is_prepared(target):
        return
    bar = st.progress(0.0, "Preparing the model, once")
    prepared_folder(listed, lambda share, doing: bar.progress(share, f"Preparing the model, once: {doing}"))
    bar.empty()


def _menu(current: Page, state: View, lm: LanguageModel) -> None:
    with st.sidebar:
        prose.say("{title}", kind="lesson figure-title", title=prose.Html(APP_TITLE))
        for page in PAGES.values():
            st.page_link(page.file, label=page.name, icon=page.icon, help=page.question)
        st.divider()
        _model_choice(state, lm)
        bound_widget(
            st.toggle, state, "classroom", "Classroom size", help="Everything larger, for a projector.", read=int
        )


def _model_choice(state: View, lm: LanguageModel) -> None:
    listed = model.listed_models()
    titles = {key: each.title for key, each in listed.items()}
    bound_widget(st.selectbox, state, "model", "Model", options=list(titles), format_func=titles.get)
    problem = st.session_state.pop("model_problem", None)
    if problem:
        st.warning(prose.plain(problem), icon=":material/info:")
    shape = lm.architecture
    prose.aside(
        "{parameters:,} parameters, {layers} layers, {heads} query heads and {kv} KV heads a layer, {positions}. "
        "Weights {stored}; computed in {dtype} on {device}. Licence of the weights: {licence}.",
        parameters=shape.parameters,
        layers=shape.layers,
        heads=shape.query_heads,
        kv=shape.kv_heads,
        positions=prose.Html(
            {"RoPE": "RoPE positions", "learned": "learned positions"}.get(shape.position_encoding, "")
        ),
        stored=prose.literal(lm.stored_as or "as given"),
        dtype=prose.literal(lm.dtype),
        device=prose.literal(lm.device),
        licence=prose.literal(lm.licence or "see its files"),
    )


def bound_widget(
    kind: Callable,
    state: View,
    name: str,
    label: str,
    *,
    key: str | None = None,
    read: Callable = lambda value: value,
    **options,
) -> None:
    """Draw a Streamlit widget that shows one field of the view and, when it is moved, sets it.

    Streamlit forgets a widget's value when its page is left. So the view keeps it, and the widget
    is given it again at every run: whatever else changes the field moves the widget too.

    Args:
        kind: the function that draws it, as ``st.selectbox``.
        name: the field of the view.
        key: key of the widget, unique on its page; by default ``widget_`` and the field's name.
        read: from the widget's value to the field's, as ``int`` for a toggle of 0 and 1.
        options: anything more for ``kind``.
    """
    key = key or f"widget_{name}"
    value = bool(getattr(state, name)) if kind is st.toggle else getattr(state, name)
    give(key, value)
    options |= _initially(kind, value, options)
    kind(label, key=key, on_change=lambda: setattr(state, name, read(st.session_state[key])), **options)


def _initially(kind: Callable, value: object, options: dict) -> dict:
    """The option by which a widget of this kind begins with ``value``.

    What :func:`give` gives goes to the browser once. If the run that sends it is overtaken by the
    next, Streamlit drops what was not yet sent, and the widget would begin with its first option or
    least number, and report that as the visitor's wish.
    """
    match kind:
        case st.selectbox:
            return {"index": list(options["options"]).index(value)}
        case st.segmented_control:
            return {"default": value}
        case _:
            return {"value": value}


def give(key: str, value: object) -> None:
    """Let the widget ``key``, drawn after this, show ``value``.

    On another page it is another widget, though its key is the same: it must be given its value
    again. Otherwise only a changed value is given: what is being typed elsewhere would be lost.
    """
    page, shown_on = st.session_state.get("page_shown"), st.session_state.setdefault("shown_on", {})
    if shown_on.get(key) != page or key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
        shown_on[key] = page


def _prompt(page: Page, state: View, lm: LanguageModel) -> None:
    """The text, in a form: nothing runs until it is sent."""
    limit = min(MAX_TOKENS, lm.architecture.positions)
    with st.form("prompt_form", border=False, enter_to_submit=True):
        text, button = st.columns([8, 1], vertical_alignment="bottom")
        # On another page it is another box, though its key is the same: it must be filled again.
        if "prompt_box" not in st.session_state or st.session_state.get("prompt_shown") != (page.slug, state.prompt):
            st.session_state.prompt_shown = (page.slug, state.prompt)
            st.session_state.prompt_box = state.prompt.encode("utf-8", "replace").decode("utf-8")
        label = f"Your text (at most {limit:,} tokens; Ctrl+Enter runs it)"
        text.text_area(label, st.session_state.prompt_box, key="prompt_box", height=68)
        button.form_submit_button("Run", type="primary", width="stretch", on_click=_take_prompt, args=(state,))
    _examples(state)


def _take_prompt(state: View) -> None:
    if st.session_state.prompt_box != state.prompt:
        state.new_text(st.session_state.prompt_box)


def _examples(state: View) -> None:
    with st.container(horizontal=True, gap="small", key="examples"):
        for place, (text, purpose) in enumerate(EXAMPLES):
            st.button(
                text,
                key=f"example_{place}",
                help=purpose,
                type="tertiary",
                on_click=state.new_text,
                args=(text, "text"),
            )


def _tokens(state: View, lm: LanguageModel) -> tuple[Tokens, Tokens]:
    """The prompt's tokens, and those followed by what was written; stops the page if there are none."""
    try:
        prompt = model.tokenize(lm, state.prompt, state.specials)
        state.prompt = prompt.text  # what cannot be stored has been replaced, and said
        if not state.prompt.strip():
            lm.check_length(0)
        whole = extended(prompt, lm.vocabulary, state.continuation)
        lm.check_length(len(whole), MAX_TOKENS)
    except ExplainerError as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        write_address(state)
        st.stop()
    return prompt, whole


#: Kinds of tokens as the components call them.
KIND_NAMES = {
    Kind.STARTS: "starts",
    Kind.CONTINUES: "continues",
    Kind.MARK: "mark",
    Kind.CONTROL: "control",
    Kind.BYTES: "bytes",
}


def _strip(state: View, tokens: Tokens, prompt_length: int) -> None:
    chips = [
        Chip(
            position=token.position,
            id=token.id,
            label=token.label,
            kind=KIND_NAMES[token.kind] if token.position < prompt_length else "written",
            group=token.group,
            title=f"position {token.position}, {token.kind}, bytes {token.hex}",
        )
        for token in tokens
    ]
    token_strip(chips, state.position, key="strip", on_select=lambda: take_position("strip", state, len(chips)))


def take_position(key: str, state: View, count: int) -> None:
    """The position that the component ``key`` reports, checked: it comes from a browser."""
    position = reported(key, "selected")
    if isinstance(position, int) and 0 <= position < count:
        state.position, state.key = position, -1


def next_page(lesson: Lesson) -> None:
    """The way on, at the foot of a page."""
    slugs = list(PAGES)
    after = PAGES[slugs[(slugs.index(lesson.page.slug) + 1) % len(slugs)]]
    st.divider()
    st.page_link(after.file, label=f"Next: {after.question}", icon=":material/arrow_forward:")
