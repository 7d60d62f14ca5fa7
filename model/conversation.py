"""A conversation as the model gets it: one text, made anew for every reply.

A model has no memory. Each turn the whole conversation is written into one prompt by the model's
own *chat template*, with control tokens between the messages, and read from the start, unless the
keys and values of its unchanged beginning were kept.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jinja2.exceptions import TemplateError

from model.errors import TextRefused
from model.forward import forward
from model.language_model import LanguageModel
from model.tokens import Tokens, extended

ROLES = ("system", "user", "assistant")
#: Where a model has no template of its own, messages are written as plain lines.
PLAIN = {"system": "{}\n\n", "user": "User: {}\n", "assistant": "Assistant: {}\n"}
PLAIN_REPLY = "Assistant:"


@dataclass(frozen=True)
class Message:
    """One message.

    Attributes:
        role: ``system``, ``user`` or ``assistant``.
        text: what it says. Names of control tokens in it stay text.
        ids: for a reply, the token IDs as the model wrote them; empty to encode the text anew.
        kind: what it is in the context, for the reader: ``history``, ``document``, ``question`` …
    """

    role: str
    text: str
    ids: tuple[int, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Segment:
    """A stretch of the prompt that belongs together.

    Attributes:
        message: index of the message, or None for what the template writes around them.
        first, last: token positions, both included.
    """

    message: int | None
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)
class Prompt:
    """The exact tokens that are sent for one reply.

    Attributes:
        messages: what they were made from.
        tokens: the tokens, control tokens told apart.
        segments: the stretches they are made of, in order.
    """

    messages: tuple[Message, ...]
    tokens: Tokens
    segments: tuple[Segment, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return self.tokens.ids

    def __len__(self) -> int:
        return len(self.tokens)

    def tokens_of(self, message: int | None) -> int:
        """How many tokens belong to a message; None counts those of the template."""
        return sum(len(segment) for segment in self.segments if segment.message == message)


def has_template(lm: LanguageModel) -> bool:
    """Whether the model was made for conversations; else they are written as plain lines."""
    return bool(getattr(lm.tokenizer, "chat_template", None))


def prompt_of(lm: LanguageModel, messages: Sequence[Message], reply: bool = True) -> Prompt:
    """The prompt that the model's template makes of ``messages``.

    Only what the template itself writes can become a control token. Text between two of them is
    encoded in one piece, as transformers does it, so that a message without forged control tokens
    gives exactly the IDs of ``apply_chat_template``.

    Args:
        reply: whether the prompt ends where the model's reply begins.

    Raises:
        TextRefused: if the template cannot hold these messages.
    """
    parts = _parts(lm, messages, reply)
    ids, owners = _encoded(lm, parts, messages)
    tokens = extended(Tokens("", ()), lm.vocabulary, ids)
    return Prompt(tuple(messages), tokens, _segments(owners))


#: A stretch of the rendered text: itself, and the message it is the text of, or None.
Part = tuple[str, int | None]


def _parts(lm: LanguageModel, messages: Sequence[Message], reply: bool) -> list[Part]:
    """The rendered template, its own text and the messages' apart."""
    mark = next(chr(code) for code in range(0xE000, 0xF8FF) if not any(chr(code) in each.text for each in messages))
    marked = [{"role": each.role, "content": f"{mark}{place}{mark}"} for place, each in enumerate(messages)]
    rendered = _rendered(lm, marked, reply)
    parts: list[Part] = []
    for place, piece in enumerate(rendered.split(mark)):
        is_message = place % 2 == 1
        parts.append((messages[int(piece)].text, int(piece)) if is_message else (piece, None))
    found = [message for _, message in parts if message is not None]
    if found != list(range(len(messages))):
        raise TextRefused("This model's chat template leaves out or repeats messages; it cannot be followed here.")
    return parts


def _rendered(lm: LanguageModel, messages: list[dict], reply: bool) -> str:
    if not has_template(lm):
        lines = "".join(PLAIN[each["role"]].format(each["content"]) for each in messages)
        return lines + (PLAIN_REPLY if reply else "")
    try:
        return lm.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=reply)
    except TemplateError as problem:
        raise TextRefused(f"This model's chat template refuses the conversation: {problem}") from problem


def _encoded(lm: LanguageModel, parts: list[Part], messages: Sequence[Message]) -> tuple[list[int], list[int | None]]:
    """Token IDs, and for each the message it belongs to."""
    ids: list[int] = []
    owners: list[int | None] = []
    stretch: list[Part] = []

    def close() -> None:
        for id, owner in _stretch_ids(lm, stretch):
            ids.append(id)
            owners.append(owner)
        stretch.clear()

    for text, message in parts:
        if message is not None and messages[message].ids:
            close()
            ids.extend(messages[message].ids)
            owners.extend([message] * len(messages[message].ids))
        elif message is not None:
            stretch.append((text, message))
        else:
            for piece, control in _split_at_controls(lm, text):
                if control is None:
                    stretch.append((piece, None))
                else:
                    close()
                    ids.append(control)
                    owners.append(None)
    close()
    return ids, owners


def _split_at_controls(lm: LanguageModel, text: str) -> list[tuple[str, int | None]]:
    """The template's own text, its control tokens apart with their IDs."""
    controls = {str(token): id for id, token in lm.tokenizer.added_tokens_decoder.items() if token.special}
    if not controls:
        return [(text, None)]
    names = "|".join(re.escape(name) for name in sorted(controls, key=len, reverse=True))
    return [(piece, controls.get(piece)) for piece in re.split(f"({names})", text) if piece]


def _stretch_ids(lm: LanguageModel, stretch: list[Part]) -> list[tuple[int, int | None]]:
    """A stretch of text encoded in one piece; a token belongs to the part its first character is of."""
    text = "".join(piece for piece, _ in stretch)
    if not text:
        return []
    text = text.encode("utf-8", "replace").decode("utf-8")
    encoding = lm.tokenizer(text, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True)
    ends, total = [], 0
    for piece, _ in stretch:
        total += len(piece)
        ends.append(total)
    found = []
    for id, (start, _) in zip(encoding["input_ids"], encoding["offset_mapping"], strict=True):
        place = next((place for place, end in enumerate(ends) if start < end), len(stretch) - 1)
        found.append((id, stretch[place][1]))
    return found


def _segments(owners: list[int | None]) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    for place, owner in enumerate(owners):
        if segments and segments[-1].message == owner:
            segments[-1] = Segment(owner, segments[-1].first, place)
        else:
            segments.append(Segment(owner, place, place))
    return tuple(segments)


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens at the beginning are the same: what a kept cache can serve."""
    pairs = zip(first, second, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))


@dataclass(frozen=True)
class Answer:
    """How likely the model found a given answer.

    Attributes:
        ids: the answer's tokens.
        probabilities: of each, given the prompt and the answer's tokens before it.
    """

    ids: tuple[int, ...]
    probabilities: tuple[float, ...]

    @property
    def probability(self) -> float:
        """Of the whole answer: the product."""
        product = 1.0
        for each in self.probabilities:
            product *= each
        return product


@torch.inference_mode()
def answer_probability(lm: LanguageModel, prompt: Prompt | Sequence[int], answer: str) -> Answer:
    """The probability that the model goes on with exactly ``answer``, token by token, in one forward pass.

    Raises:
        TextRefused: if prompt and answer are more than the model was made for, or the answer is empty.
    """
    before = list(prompt.ids if isinstance(prompt, Prompt) else prompt)
    answer = answer.encode("utf-8", "replace").decode("utf-8")  # half of a character has no bytes
    ids = lm.tokenizer(answer, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    if not ids or not before:
        raise TextRefused("There is no answer to look for. Type the words that the reply should hold.")
    lm.check_length(len(before) + len(ids))
    logits = forward(lm, [before + ids[:-1]], positions=len(ids)).logits[0]
    chances = logits.double().softmax(-1).gather(1, torch.tensor(ids, device=lm.device)[:, None])[:, 0]
    return Answer(tuple(ids), tuple(chances.tolist()))
