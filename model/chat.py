"""A conversation, turn by turn: what is sent again, what is new, and what a kept cache saves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch
from transformers import DynamicCache

from model.architecture import Architecture
from model.clock import Takes
from model.conversation import Message, Prompt, common_prefix, prompt_of
from model.cost import work
from model.forward import forward
from model.kept import kept_values
from model.kv_cache import cache_bytes
from model.language_model import LanguageModel

#: Tokens of a reply at most, and times each prefill is timed.
REPLY_TOKENS, TAKES = 24, 3


@dataclass(frozen=True)
class Turn:
    """One question and its reply.

    Attributes:
        prompt: what was sent.
        reply: what came back.
        reused: tokens at the beginning whose keys and values the last turn's cache still held.
        reused_if_encoded: the same, if the replies had been encoded anew from their text.
        whole: time of the prefill of all tokens, from nothing.
        rest: time of the prefill of the new tokens only, after the kept ones.
        difference: the largest difference of any logit between the two.
        held: the token IDs whose keys and values the cache holds when the reply is written.
        cache_bytes: bytes of the cache's tensors then.
    """

    prompt: Prompt = field(repr=False)
    reply: Message
    reused: int
    reused_if_encoded: int
    whole: Takes
    rest: Takes
    difference: float
    held: tuple[int, ...] = field(repr=False)
    cache_bytes: int

    @property
    def sent(self) -> int:
        """Tokens of the prompt."""
        return len(self.prompt)

    @property
    def new(self) -> int:
        """Tokens that had to be worked out although the cache was kept."""
        return self.sent - self.reused


@dataclass(frozen=True)
class Conversation:
    """The turns as far as they have come.

    Attributes:
        turns: in order.
        planned: how many there will be.
        architecture: of the model that replies.
    """

    turns: tuple[Turn, ...]
    planned: int
    architecture: Architecture = field(repr=False)

    @property
    def nbytes(self) -> int:
        return 100_000 * len(self.turns)

    @property
    def history(self) -> tuple[Message, ...]:
        """All messages, the last reply included."""
        if not self.turns:
            return ()
        return (*self.turns[-1].prompt.messages, self.turns[-1].reply)

    @property
    def sent(self) -> int:
        """Tokens of all prompts."""
        return sum(turn.sent for turn in self.turns)

    @property
    def new(self) -> int:
        """Tokens of all prompts that had to be worked out although the cache was kept."""
        return sum(turn.new for turn in self.turns)

    @property
    def whole_operations(self) -> int:
        """Work of all prefills from nothing, by formula."""
        return sum(work(self.architecture, turn.sent).operations for turn in self.turns)

    @property
    def rest_operations(self) -> int:
        """Work of all prefills of the new tokens only, after the kept ones, by formula."""
        return sum(work(self.architecture, turn.new, turn.reused).operations for turn in self.turns)


def converse(
    lm: LanguageModel,
    said: Sequence[str],
    *,
    system: str = "",
    reply: str = "",
    keep_ids: bool = True,
    before: Conversation | None = None,
) -> Iterator[Conversation]:
    """Say one thing after the other, and time each turn's prefill from nothing and after what is kept.

    Args:
        said: what the visitor says, turn by turn.
        system: the system message; empty for the template's own.
        reply: what every reply is, word for word; empty to let the model write, greedily.
        keep_ids: whether the replies stay in the history as the token IDs that were written; else
            they are encoded anew from their text.
        before: the same conversation's first turns, measured earlier.

    Raises:
        TextRefused: if a prompt with its reply is more than the model was made for.
    """
    state = Conversation(before.turns if before else (), len(said), lm.architecture)
    opening = (Message("system", system, kind="system"),) if system else ()
    cache, held = _rebuilt(lm, state)
    for text in said[len(state.turns) :]:
        history = state.history or opening
        prompt = prompt_of(lm, (*history, Message("user", text, kind="history")))
        lm.check_length(len(prompt) + REPLY_TOKENS)
        turn, cache, held = _turn(lm, prompt, cache, held, reply, keep_ids)
        state = replace(state, turns=(*state.turns, turn))
        yield state


def _rebuilt(lm: LanguageModel, state: Conversation) -> tuple[DynamicCache, tuple[int, ...]]:
    """The cache as the last turn left it, and the IDs in it."""
    cache = DynamicCache(config=lm.module.config)
    if not state.turns:
        return cache, ()
    held = state.turns[-1].held
    forward(lm, [held], cache)
    return cache, held


def _turn(lm, prompt, cache, held, reply, keep_ids) -> tuple[Turn, DynamicCache, tuple[int, ...]]:
    reused = _cropped(lm, cache, held, prompt.ids)
    encoded = prompt_of(lm, [replace(message, ids=()) for message in prompt.messages])
    wholes, rests = [], []
    for _ in range(TAKES + 1):  # the first is thrown away
        cache = _cropped_to(cache, reused)
        whole = forward(lm, [prompt.ids], DynamicCache(config=lm.module.config))
        rest = forward(lm, [prompt.ids[reused:]], cache)
        wholes.append(whole.seconds)
        rests.append(rest.seconds)
    ids = _reply_ids(lm, rest.last, cache, reply)
    read = (*prompt.ids, *ids[:-1])
    turn = Turn(
        prompt=prompt,
        reply=_message(lm, ids, keep_ids),
        reused=reused,
        reused_if_encoded=min(common_prefix(held, encoded.ids), len(encoded) - 1),
        whole=Takes(tuple(wholes[1:])),
        rest=Takes(tuple(rests[1:])),
        difference=float((whole.last - rest.last).abs().max()),
        held=read,
        cache_bytes=cache_bytes(cache),
    )
    return turn, cache, read


def _cropped(lm: LanguageModel, cache: DynamicCache, held: tuple[int, ...], ids: tuple[int, ...]) -> int:
    """How many of the kept positions serve: the common beginning, but never the whole prompt.

    A layer with a window has dropped positions and cannot go back; its cache serves nothing.
    """
    if lm.architecture.windowed_layers or not held:
        return 0
    return min(common_prefix(held, ids), len(ids) - 1)


def _cropped_to(cache: DynamicCache, positions: int) -> DynamicCache:
    """The cache with its first ``positions`` positions only."""
    surplus = cache.get_seq_length() - positions
    if positions == 0:
        cache.reset()
    elif surplus:
        cache.crop(-surplus)
    return cache


def _reply_ids(lm: LanguageModel, logits: torch.Tensor, cache: DynamicCache, reply: str) -> tuple[int, ...]:
    """The reply's tokens, the end token included; all but the last are read into the cache."""
    if reply:
        fixed = lm.tokenizer(reply, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        ids = (*fixed, _end_id(lm))
        if len(ids) > 1:
            forward(lm, [ids[:-1]], cache)
        return ids
    ids: list[int] = []
    while len(ids) < REPLY_TOKENS:
        ids.append(int(logits.argmax()))
        if ids[-1] in lm.end_ids or len(ids) == REPLY_TOKENS:
            break
        logits = forward(lm, [ids[-1:]], cache).last
    return tuple(ids)


def _end_id(lm: LanguageModel) -> int:
    return lm.tokenizer.eos_token_id if lm.tokenizer.eos_token_id is not None else min(lm.end_ids, default=0)


def _message(lm: LanguageModel, ids: tuple[int, ...], keep_ids: bool) -> Message:
    """The reply as it joins the history: without the end token, which the template writes."""
    said = tuple(id for id in ids if id not in lm.end_ids)
    return Message("assistant", lm.tokenizer.decode(said), said if keep_ids else (), "history")


@dataclass(frozen=True)
class Share:
    """One stretch of the context and what it costs.

    Attributes:
        name: what it is.
        tokens: how many.
        operations: of its prefill, by formula; the last matrix is left out, which works once.
        cache_bytes: of those of its keys and values that are in the cache when the prompt has been
            read, by formula.
        of_operations, of_cache: the same as shares of the whole, 0 to 1.
    """

    name: str
    tokens: int
    operations: int
    cache_bytes: int
    of_operations: float
    of_cache: float


def shares(lm: LanguageModel, prompt: Prompt) -> list[Share]:
    """What each kind of message, and what the template writes, takes of a prompt.

    Positions further back in the context have more to look at: the same number of tokens costs
    more there. Layers with a window keep the end of the prompt only. The shares add up to the
    whole prefill and to the whole cache.
    """
    found: dict[str, list[int]] = {}
    for segment in prompt.segments:
        name = "template" if segment.message is None else prompt.messages[segment.message].kind or "history"
        after = len(prompt) - segment.last - 1
        row = found.setdefault(name, [0, 0, 0])
        row[0] += len(segment)
        row[1] += _inner_operations(lm, len(segment), segment.first)
        # The last tokens fill the windows first: what a stretch keeps is what it adds to those after it.
        row[2] += _kept_bytes(lm, after + len(segment)) - _kept_bytes(lm, after)
    operations, kept = _inner_operations(lm, len(prompt), 0), _kept_bytes(lm, len(prompt))
    return [Share(name, *row, row[1] / operations, row[2] / kept) for name, row in found.items()]


def _inner_operations(lm: LanguageModel, computed: int, read: int) -> int:
    """Operations of a prefill without those of the last matrix."""
    table = 2 * lm.architecture.vocabulary_size * lm.architecture.hidden_size
    return work(lm.architecture, computed, read).operations - table


def _kept_bytes(lm: LanguageModel, tokens: int) -> int:
    """Bytes of the cache of a request that has seen so many tokens."""
    return kept_values(lm.architecture, tokens) * lm.bytes_per_value
