"""A conversation from outside, read: a chat log pasted or a file loaded, in the forms people have.

Understood are JSON (a list of ``{"role", "content"}``, ``{"messages": […]}``, ShareGPT's
``{"conversations": [{"from", "value"}]}``), JSON Lines of any of these, and plain text with
``User:`` and ``Assistant:`` at the beginning of lines.
"""

import json
import re
from dataclasses import dataclass

from model.conversation import Message
from model.errors import TextRefused

MAX_BYTES, MAX_MESSAGES, MAX_CHARACTERS = 200_000, 200, 4_000
#: What others call the three roles.
ROLE_NAMES = {
    "user": "user",
    "human": "user",
    "prompter": "user",
    "you": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "claude": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
}
#: Where a conversation stands inside an object, and what its messages' two fields are called.
LISTS, WHO, WHAT = ("messages", "conversations", "conversation"), ("role", "from"), ("content", "value", "text")
FORMS = (
    'Paste a JSON list of {"role": …, "content": …}, {"messages": […]}, ShareGPT\'s {"conversations": […]}, '
    "JSON Lines, or plain lines that begin with User: and Assistant:"
)
_LABEL = re.compile(rf"^[ \t>*#]*({'|'.join(ROLE_NAMES)})[ \t*]*[:：][ \t*]*", re.IGNORECASE)


@dataclass(frozen=True)
class Transcript:
    """A conversation that was read.

    Attributes:
        messages: in order; at least one.
        notes: sentences on what was left out or changed.
        form: what it was read as, a phrase.
    """

    messages: tuple[Message, ...]
    notes: tuple[str, ...]
    form: str


def read_bytes(data: bytes) -> Transcript:
    """A conversation from a file's bytes.

    Raises:
        TextRefused: if it is no text, or :func:`read` refuses it.
    """
    _check_size(len(data))
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return read(data.decode(encoding))
    except UnicodeDecodeError as problem:
        raise TextRefused("The file is no text in UTF-8. Save the conversation as UTF-8 text or JSON.") from problem


def read(text: str) -> Transcript:
    """A conversation from text.

    Raises:
        TextRefused: a sentence that says what is wrong and what to do.
    """
    _check_size(len(text.encode("utf-8", "replace")))
    stripped = text.lstrip("\ufeff").strip()
    if not stripped:
        raise TextRefused(f"There is no conversation. {FORMS}.")
    notes: list[str] = []
    if stripped[0] in "[{":
        messages, form = _from_json(stripped, notes)
    else:
        messages, form = _from_lines(stripped), "plain text"
    return Transcript(_checked(messages, notes), tuple(notes), form)


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise TextRefused(f"The conversation has {size:,} bytes; at most {MAX_BYTES:,} are read. Cut it down.")


def _from_json(text: str, notes: list[str]) -> tuple[list[Message], str]:
    try:
        whole = json.loads(text)
        return _conversation(whole, notes), "JSON"
    except RecursionError as problem:
        raise TextRefused("The JSON is nested too deeply to be a conversation.") from problem
    except ValueError as problem:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise TextRefused(f"This is no valid JSON ({_short(problem)}). Check quotes and commas.") from problem
        return _from_json_lines(lines, notes), "JSON Lines"


def _from_json_lines(lines: list[str], notes: list[str]) -> list[Message]:
    items = []
    for number, line in enumerate(lines, 1):
        try:
            items.append(json.loads(line))
        except (ValueError, RecursionError) as problem:
            raise TextRefused(
                f"Line {number} is no valid JSON ({_short(problem)}). Either the whole is one JSON value, or each "
                "line is one."
            ) from problem
    return _conversation(items, notes)


def _short(problem: Exception) -> str:
    return str(problem)[:120]


def _conversation(value: object, notes: list[str]) -> list[Message]:
    """The messages of a parsed JSON value."""
    if isinstance(value, dict):
        inner = next((value[name] for name in LISTS if isinstance(value.get(name), list)), None)
        if inner is None and _field(value, WHO) is not None:
            inner = [value]
        if inner is None:
            raise TextRefused(f"The JSON object holds no conversation. {FORMS}.")
        return _conversation_list(inner)
    if not isinstance(value, list):
        raise TextRefused(f"The JSON is no conversation. {FORMS}.")
    nested = [each for each in value if _is_conversation(each)]
    if nested and len(nested) == len(value):
        if len(nested) > 1:
            notes.append(f"There are {len(nested):,} conversations; the first was read.")
        return _conversation(nested[0], []) if isinstance(nested[0], dict) else _conversation_list(nested[0])
    return _conversation_list(value)


def _is_conversation(value: object) -> bool:
    if isinstance(value, dict):
        return _field(value, WHO) is None and any(isinstance(value.get(name), list) for name in LISTS)
    return isinstance(value, list)


def _conversation_list(items: list) -> list[Message]:
    if len(items) > MAX_MESSAGES:
        raise TextRefused(f"The conversation has {len(items):,} messages; at most {MAX_MESSAGES} are read. Cut it.")
    return [_message(item, number) for number, item in enumerate(items, 1)]


def _message(item: object, number: int) -> Message:
    if not isinstance(item, dict):
        raise TextRefused(f'Message {number} is no object with "role" and "content".')
    who, what = _field(item, WHO), _field(item, WHAT)
    if not isinstance(who, str):
        raise TextRefused(f'Message {number} does not say whose it is. Give it a "role": user, assistant or system.')
    role = ROLE_NAMES.get(who.strip().lower())
    if role is None:
        raise TextRefused(
            f"Message {number} is by {who[:40]!r}. Only user, assistant and system can be shown; leave it out."
        )
    return Message(role, _text(what, number), kind="system" if role == "system" else "history")


def _field(item: dict, names: tuple[str, ...]) -> object:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _text(what: object, number: int) -> str:
    """A message's text; some programs write it as a list of parts."""
    if what is None or isinstance(what, str):
        return what or ""
    parts = what if isinstance(what, list) else [what]
    texts = [part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise TextRefused(f"Message {number} holds something that is no text, as a picture. Leave it out.")
    return "\n".join(texts)


def _from_lines(text: str) -> list[Message]:
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label:
            found.append((ROLE_NAMES[label[1].lower()], [line[label.end() :]]))
        elif found:
            found[-1][1].append(line)
        elif line.strip():
            raise TextRefused(f"The first line does not say who speaks. {FORMS}.")
    if len(found) > MAX_MESSAGES:
        raise TextRefused(f"The conversation has {len(found):,} messages; at most {MAX_MESSAGES} are read. Cut it.")
    return [Message(role, "\n".join(lines), kind="system" if role == "system" else "history") for role, lines in found]


def _checked(messages: list[Message], notes: list[str]) -> tuple[Message, ...]:
    """Texts that can be stored and shown, none empty, none too long."""
    kept = []
    for number, message in enumerate(messages, 1):
        text = message.text.encode("utf-8", "replace").decode("utf-8").strip()
        if len(text) > MAX_CHARACTERS:
            raise TextRefused(
                f"Message {number} has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. Shorten it."
            )
        if text:
            kept.append(Message(message.role, text, kind=message.kind))
    if not kept:
        raise TextRefused("All messages are empty. At least one must say something.")
    if len(kept) < len(messages):
        notes.append(f"{len(messages) - len(kept)} empty message(s) were left out.")
    return tuple(kept)
