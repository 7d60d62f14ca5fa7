"""The parts of the lesson on conversations: the chat, its turns, and the exact prompt."""

from collections.abc import Iterator

import streamlit as st

from model.chat import Conversation, converse
from model.conversation import Prompt, has_template
from model.tokens import Kind
from pages.shared import anatomy, frame, prose
from pages.shared.frame import Lesson
from pages.shared.state import LONGEST_MESSAGE, MAX_SAID, View
from pages.shared.store import measurements
from viz import chat as figures
from viz.chat import TurnBar


def say_something(lesson: Lesson) -> None:
    """The box to write in, what is said before everything, and what replies are."""
    view = lesson.view
    if not has_template(lesson.lm):
        prose.aside(
            "This model was not made for conversations: it has no chat template and no control tokens for one. Its "
            "messages are written as plain lines, User: and Assistant:."
        )
    system, reply, keep = st.columns([3, 2, 2], vertical_alignment="bottom")
    with system:
        frame.bound_widget(
            st.text_input, view, "system", "System message (empty: the template's own)", max_chars=LONGEST_MESSAGE
        )
    with reply:
        frame.bound_widget(st.text_input, view, "reply", "Fixed reply (empty: the model writes)", max_chars=200)
    with keep:
        frame.bound_widget(st.toggle, view, "keep", "Replies stay as token IDs", read=int)
    if len(view.said) >= MAX_SAID:
        prose.aside("A conversation here has at most {n} turns. Take one back, or start again.", n=MAX_SAID)
    st.container().chat_input(  # in its place: by itself Streamlit would pin it to the window's foot
        "Say something",
        key="chat_box",
        max_chars=LONGEST_MESSAGE,
        disabled=len(view.said) >= MAX_SAID,
        on_submit=lambda: _say(view, st.session_state.chat_box),
    )
    with st.container(horizontal=True):
        st.button(
            "Take the last turn back", icon=":material/undo:", disabled=len(view.said) < 2, on_click=_back, args=(view,)
        )
        st.button("Start again", key="chat_restart", icon=":material/restart_alt:", on_click=_restart, args=(view,))


def _say(view: View, text: str) -> None:
    if text and text.strip():
        view.said = (*view.said, text[:LONGEST_MESSAGE])[:MAX_SAID]


def _back(view: View) -> None:
    view.said = view.said[:-1]


def _restart(view: View) -> None:
    view.said = View.said


def _key(lesson: Lesson, turns: int):
    lm, view = lesson.lm, lesson.view
    return ("chat", lm.key, lm.device, lm.dtype, view.said[:turns], view.system, view.reply, view.keep)


def _work(lesson: Lesson) -> Iterator[Conversation]:
    """The turns not yet measured; those before them are taken from what is kept."""
    view = lesson.view
    known = (measurements().find(_key(lesson, turns)) for turns in range(len(view.said) - 1, 0, -1))
    before = next((found for found in known if found is not None), None)
    return converse(lesson.lm, view.said, system=view.system, reply=view.reply, keep_ids=bool(view.keep), before=before)


def chat(lesson: Lesson) -> Conversation | None:
    """The conversation so far, measured turn by turn."""
    return anatomy.measured(
        _key(lesson, len(lesson.view.said)),
        "chat",
        lambda: _work(lesson),
        lambda found: _show(lesson, found),
        button="Run the conversation",
        progress=lambda found: (len(found.turns) / found.planned, f"turn {len(found.turns)} of {found.planned}"),
        automatic=True,
    )


def _show(lesson: Lesson, found: Conversation) -> None:
    for place, turn in enumerate(found.turns):
        asked = turn.prompt.messages[-1].text
        with st.container(key=f"turn_{place}", gap="small"):
            prose.say("<b>You</b> {text}", kind="lesson said", text=asked)
            prose.say("<b>Model</b> {text}", kind="lesson said", text=turn.reply.text or "(nothing: it ended at once)")


def bars(found: Conversation) -> list[TurnBar]:
    """The turns as the figures take them."""
    return [TurnBar(turn.reused, turn.new, 1e3 * turn.whole.median, 1e3 * turn.rest.median) for turn in found.turns]


def turns_figures(lesson: Lesson, found: Conversation) -> None:
    """What each turn sends and what it takes, from nothing and after what is kept."""
    drawn = bars(found)
    last = found.turns[-1]
    tokens, times = st.columns(2, gap="large")
    with tokens:
        anatomy.figure(
            figures.turn_bars(drawn, lesson.theme),
            key="turn_tokens",
            title="Tokens of each turn's prompt",
            mark=prose.FROM_THE_MODEL,
            alt=f"Turn {len(drawn)} sends {last.sent} tokens, {last.reused} of them again.",
            table=lambda: figures.turn_table(drawn),
        )
    with times:
        anatomy.figure(
            figures.turn_times(drawn, lesson.theme),
            key="turn_times",
            title="Time of each turn's prefill; medians of {takes} takes",
            mark=prose.TIMED_HERE,
            alt=f"Turn {len(drawn)}: {drawn[-1].whole:.0f} ms from nothing, {drawn[-1].rest:.0f} ms with the cache.",
            table=lambda: figures.turn_table(drawn),
            takes=len(last.whole),
        )
    turns_sentence(lesson, found)


def turns_sentence(lesson: Lesson, found: Conversation) -> None:
    """The turns read aloud, with the totals."""
    last = found.turns[-1]
    told = (
        "The {n} prompts have {each} tokens: <b>{sent}</b> in all, because every turn sends the whole conversation "
        "again. With the cache kept between turns only <b>{new}</b> of them had to be worked out. The last turn took "
        "{whole:,.0f} ms from nothing and {rest:,.0f} ms after what was kept; the two answers' logits differ by at "
        "most {difference:.1e}. "
        if len(found.turns) > 1
        else "The first prompt has <b>{sent}</b> tokens. Nothing had been kept that could serve, so all of them had to "
        "be worked out, in {whole:,.0f} ms. "
    )
    prose.read_aloud(
        told + "Its cache holds {held} positions, {bytes:,} bytes.",
        n=len(found.turns),
        each=prose.Html(", ".join(str(turn.sent) for turn in found.turns)),
        sent=found.sent,
        new=found.new,
        whole=1e3 * last.whole.median,
        rest=1e3 * last.rest.median,
        difference=last.difference,
        held=len(last.held),
        bytes=last.cache_bytes,
    )
    prose.aside(
        "Prefill work by formula, all turns: {repeated:,.1f} × 10⁹ operations from nothing, {first:,.1f} × 10⁹ with "
        "the cache kept.",
        repeated=found.whole_operations / 1e9,
        first=found.rest_operations / 1e9,
    )


def why_the_prefix_may_break(lesson: Lesson, found: Conversation) -> None:
    """Kept IDs against text encoded anew."""
    last, lm = found.turns[-1], lesson.lm
    apart = list(lm.tokenizer("a")["input_ids"]) + list(lm.tokenizer("b")["input_ids"])
    joined = list(lm.tokenizer("ab")["input_ids"])
    prose.say(
        "A kept cache serves only tokens that are <b>the same IDs</b> from the very start. A reply is written token by "
        "token; encoded anew from its text it may be cut differently. The tokens {one} and {other} say 'ab'; the text "
        "'ab' is read as {joined}. From the first such place on, everything has to be worked out again.",
        one=prose.Html(str(apart[:1])),
        other=prose.Html(str(apart[1:])),
        joined=prose.Html(str(joined)),
    )
    prose.aside(
        "In the last turn here: {kept} tokens served with replies kept as IDs or as chosen above, {encoded} if all "
        "replies had been encoded anew.",
        kept=last.reused,
        encoded=last.reused_if_encoded,
    )


#: Roles and kinds as the sheet of styles names them.
_CLASSES = {"system": "system", "user": "user", "assistant": "assistant", None: "template"}


def exact_prompt(prompt: Prompt) -> None:
    """The text that is sent, token by token: whose each is, and which are control tokens."""
    prose.figure_title(
        "What the model really receives: {n} tokens, {controls} of them control tokens",
        prose.FROM_THE_MODEL,
        n=len(prompt),
        controls=sum(token.kind == Kind.CONTROL for token in prompt.tokens),
    )
    chips = []
    for segment in prompt.segments:
        role = None if segment.message is None else prompt.messages[segment.message].role
        for token in prompt.tokens.items[segment.first : segment.last + 1]:
            name = "control" if token.kind == Kind.CONTROL else _CLASSES[role]
            chips.append((token.label, name))
    prose.sent(chips)
    prose.aside(
        "Framed: control tokens, which only the template writes. The same names typed into a message stay text. Grey: "
        "what the template adds; underlined: <b class='k'>system</b>, <b class='a'>you</b>, <b class='v'>the model</b>."
    )


def check(lesson: Lesson) -> None:
    """One prediction."""

    def because() -> None:
        prose.say(
            "The model's weights have not changed, and no cache of the other conversation belongs to this one. Nothing "
            "of what was said is anywhere but in the text that is sent; a fresh request does not hold it."
        )

    anatomy.check_yourself(
        "conversation",
        "You told the model a name. Then you open a <b>new</b> conversation and ask for it. What can the model know?",
        ["The name: it has learned it", "Nothing of it", "The name, until the server is restarted"],
        1,
        because,
    )


def code(lesson: Lesson) -> None:
    """The conversation in a notebook."""
    view = lesson.view
    anatomy.code(
        f"""import model
from model.chat import converse

lm = model.open_model({view.model!r})
said = {list(view.said)!r}
for talk in converse(lm, said, system={view.system!r}, reply={view.reply!r}):
    turn = talk.turns[-1]
    print(turn.sent, "tokens sent,", turn.reused, "kept,", turn.new, "new:", turn.reply.text)"""
    )
