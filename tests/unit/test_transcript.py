"""Conversations from outside: every form that people have, and every wrong one a sentence."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model import TextRefused
from model.transcript import MAX_BYTES, MAX_CHARACTERS, MAX_MESSAGES, Transcript, read, read_bytes
from tests.hostile import ANY_TEXT

TWO = [("user", "My name is Priya."), ("assistant", "Hello, Priya.")]


def pairs(found: Transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in found.messages]


FORMS = {
    "list": json.dumps([{"role": role, "content": text} for role, text in TWO]),
    "messages": json.dumps({"id": 3, "messages": [{"role": role, "content": text} for role, text in TWO]}),
    "sharegpt": json.dumps(
        {"conversations": [{"from": "human", "value": TWO[0][1]}, {"from": "gpt", "value": TWO[1][1]}]}
    ),
    "parts": json.dumps([{"role": role, "content": [{"type": "text", "text": text}]} for role, text in TWO]),
    "lines": "\n".join(json.dumps({"role": role, "content": text}) for role, text in TWO),
    "lines with blanks": "\n\n".join(json.dumps({"role": role, "content": text}) for role, text in TWO) + "\n",
    "plain": "User: My name is Priya.\nAssistant: Hello, Priya.",
    "plain, other names": "\nHuman: My name is Priya.\n\nAI: Hello, Priya.\n",
    "markdown": "**User:** My name is Priya.\n**Assistant:** Hello, Priya.",
    "byte order mark": "\ufeffUser: My name is Priya.\nAssistant: Hello, Priya.",
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_same_conversation(form):
    assert pairs(read(FORMS[form])) == TWO
    assert pairs(read_bytes(FORMS[form].encode())) == TWO


def test_utf16_is_read_as_windows_writes_it():
    assert pairs(read_bytes(FORMS["plain"].encode("utf-16"))) == TWO


def test_json_lines_of_conversations_give_the_first_and_say_so():
    found = read(FORMS["messages"] + "\n" + FORMS["sharegpt"])
    assert pairs(found) == TWO and "2 conversations" in found.notes[0]
    assert pairs(read(f"[{FORMS['sharegpt']}]")) == TWO


def test_lines_without_a_name_go_on_with_the_message():
    assert pairs(read("User: one\ntwo\n\nthree\nAssistant: yes")) == [
        ("user", "one\ntwo\n\nthree"),
        ("assistant", "yes"),
    ]


def test_empty_messages_are_left_out_and_said():
    found = read('[{"role":"user","content":"a"},{"role":"assistant","content":null},{"role":"user","content":" "}]')
    assert pairs(found) == [("user", "a")] and "2 empty" in found.notes[0]


def test_system_and_developer_are_the_same_role():
    assert pairs(read('[{"role":"developer","content":"Be brief."},{"role":"user","content":"a"}]'))[0][0] == "system"


def test_half_characters_can_be_stored():
    text = read('[{"role":"user","content":"a\\ud800b"}]').messages[0].text
    assert text.encode("utf-8") and text.startswith("a")


WRONG = {
    "nothing": ("", "no conversation"),
    "blank": (" \n ", "no conversation"),
    "prose": ("Once upon a time", "who speaks"),
    "a number": ("[1, 2]", "Message 1 is no object"),
    "an empty list": ("[]", "All messages are empty"),
    "an object without": ('{"a": 1}', "holds no conversation"),
    "no role": ('[{"content": "a"}]', "whose it is"),
    "another role": ('[{"role": "tool", "content": "a"}]', "Only user, assistant and system"),
    "a number as role": ('[{"role": 7, "content": "a"}]', "whose it is"),
    "a picture": ('[{"role": "user", "content": [{"type": "image_url"}]}]', "no text"),
    "a number as text": ('[{"role": "user", "content": 7}]', "no text"),
    "all empty": ('[{"role": "user", "content": ""}]', "All messages are empty"),
    "cut off": ('[{"role": "user", "content": "a"', "no valid JSON"),
    "one bad line": ('{"role": "user", "content": "a"}\n{"role":', "Line 2"),
    "deep": ("[" * 100_000, "deeply"),
    "a long message": ("User: " + "a" * (MAX_CHARACTERS + 1), "characters"),
    "many messages": ("User: a\n" * (MAX_MESSAGES + 1), "201 messages"),
    "many in JSON": (json.dumps([{"role": "user", "content": "a"}] * 201), "201 messages"),
    "too large": ("User: a\n" + "b" * MAX_BYTES, "bytes"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_a_sentence(case):
    text, words = WRONG[case]
    with pytest.raises(TextRefused, match=words):
        read(text)


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\xff", b"\xff\xfe\x00", b"\xfe\xff\xd8", b"User: \xc3"])
def test_bytes_that_are_no_text_are_a_sentence(data):
    with pytest.raises(TextRefused):
        read_bytes(data)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=300), st.text('[]{}":,ab \nUsr', max_size=80)))
def test_any_text_is_read_or_refused(text):
    try:
        found = read(text)
    except TextRefused as problem:
        assert str(problem).endswith((".", ":"))
    else:
        assert found.messages and all(message.text.strip() for message in found.messages)


@pytest.mark.parametrize("reader", [read, lambda text: read_bytes(text.encode())])
def test_what_is_too_large_is_refused_unparsed(reader, monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *_: pytest.fail("parsed"))
    for text in ("[" * 10_000_000, '{"role": "user", "content": "a"}\n' * 10_000, "User: é" * 50_000):
        with pytest.raises(TextRefused, match="bytes"):
            reader(text)


@pytest.mark.parametrize("opening", ["[", '{"messages":', '[{"role":"user","content":[', '{"messages":[{"content":'])
def test_deep_nesting_is_read_or_refused(opening):
    closing = "".join({"[": "]", "{": "}"}[each] for each in reversed(opening) if each in "[{")
    for depth in (2, 50, 900, 3_000):
        nested = opening * depth + '"x"' + closing * depth
        for text in (nested, f'{{"role":"user","content":"a"}}\n{nested}'):
            with contextlib.suppress(TextRefused):
                read(text)


def said_as(form: str, texts: list[str]) -> str:
    objects = [{"role": "user", "content": text} for text in texts]
    if form == "JSON":
        return json.dumps(objects)
    if form == "JSON Lines":
        return "\n".join(json.dumps(each) for each in objects)
    return "\n".join(f"User: {text}" for text in texts)


@pytest.mark.parametrize("form", ["JSON", "JSON Lines", "plain text"])
@settings(max_examples=100, deadline=None)
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=6))
def test_any_words_in_any_form_are_read_or_refused(form, texts):
    try:
        found = read(said_as(form, texts))
    except TextRefused as problem:
        assert str(problem).isprintable() or form == "plain text"
        return
    for message in found.messages:
        message.text.encode()  # it can be stored
    if form != "plain text":
        # JSON joins two halves that stand side by side to the character they are.
        kept = [json.loads(json.dumps(text)).encode("utf-8", "replace").decode().strip() for text in texts]
        assert [message.text for message in found.messages] == [text for text in kept if text]


_FIELDS = ["role", "from", "content", "value", "text", "messages", "conversations"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(_FIELDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(_JSON)
def test_any_json_is_read_or_refused(value):
    with contextlib.suppress(TextRefused):
        read(json.dumps(value))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(TextRefused):
        read_bytes(data)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["user", "assistant", "system"]),
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_written_as_json_comes_back(messages):
    text = json.dumps([{"role": role, "content": said} for role, said in messages])
    assert pairs(read(text)) == [(role, said.strip()) for role, said in messages]
