"""Does the model find what it was told? One fact at several depths of contexts of several lengths.

The probability of the right answer is asked for in two parts: that of the reply's beginning, and
that of the answer once the reply has begun so. A small model seldom begins with the bare answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

import torch
from transformers import DynamicCache

from model.conversation import Answer, Message, Prompt, has_template, prompt_of
from model.errors import TextRefused
from model.filler import filled_up
from model.forward import forward
from model.kv_cache import cache_bytes
from model.language_model import LanguageModel

#: Tokens of filler, and shares of it that come before the fact.
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Characters of each text at most.
LONGEST_FACT, LONGEST_QUESTION, LONGEST_LEAD, LONGEST_ANSWER = 300, 300, 200, 100


@dataclass(frozen=True)
class Probe:
    """A question, and the answer that is looked for.

    Attributes:
        question: what the user asks.
        lead: how the reply begins, put there before the answer is asked for; may be empty.
        answer: the words whose probability is asked for.
        name: of what it asks for, for people.
    """

    question: str
    lead: str
    answer: str
    name: str = ""

    def lead_ids(self, lm: LanguageModel) -> tuple[int, ...]:
        """The tokens of the reply's beginning."""
        lead = self.lead.strip()
        return _ids(lm, lead if has_template(lm) else f" {lead}") if lead else ()

    def answer_text(self, lm: LanguageModel) -> str:
        """The answer as it follows: after a space, unless it comes first after a template's control token.

        Raises:
            TextRefused: if there is none.
        """
        answer = self.answer.strip()
        if not answer:
            raise TextRefused("There is no answer to look for. Type the words that the reply should hold.")
        return answer if has_template(lm) and not self.lead.strip() else f" {answer}"

    def begun(self, lm: LanguageModel, prompt: Prompt) -> tuple[int, ...]:
        """The prompt's tokens and those of the reply's beginning: what the answer is asked after."""
        return (*prompt.ids, *self.lead_ids(lm))

    def room(self, lm: LanguageModel) -> int:
        """Tokens of the reply's beginning and the answer together."""
        return len(self.lead_ids(lm)) + len(_ids(lm, self.answer_text(lm)))


def _ids(lm: LanguageModel, text: str) -> tuple[int, ...]:
    text = text.encode("utf-8", "replace").decode("utf-8")
    return tuple(lm.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])


@dataclass(frozen=True)
class Recalled:
    """What the model makes of one placing of the fact.

    Attributes:
        length: tokens of filler asked for.
        depth: share of the filler's sentences before the fact; None: the fact is left out.
        tokens: tokens of the prompt.
        lead: probabilities of the reply's beginning, one a token; empty if there is none.
        answer: the answer's tokens and their probabilities after it.
        likeliest: the token that was likeliest in the place of each of the answer's.
        seconds: of the prefill of the prompt, on this machine.
        cache_bytes: bytes of the tensors that the prefill left in the KV cache.
    """

    length: int
    depth: float | None
    tokens: int
    lead: tuple[float, ...] = field(repr=False)
    answer: Answer
    likeliest: tuple[int, ...]
    seconds: float
    cache_bytes: int

    @property
    def reply(self) -> float:
        """Probability of the whole reply, word for word: its beginning and the answer."""
        return Answer((), (*self.lead, *self.answer.probabilities)).probability

    @property
    def is_found(self) -> bool:
        """Whether each token of the answer was the likeliest: greedy writing would give it."""
        return self.likeliest == self.answer.ids


def haystack(sentences: Sequence[str], fact: str, depth: float | None) -> str:
    """The sentences as one text, the fact put in after a share of them, or nowhere."""
    placed = list(sentences)
    if depth is not None:
        placed.insert(round(depth * len(sentences)), fact.strip())
    return " ".join(placed)


def prompt_with(lm: LanguageModel, text: str, question: str) -> Prompt:
    """One message that holds the text and, after it, the question."""
    return prompt_of(lm, [Message("user", f"{text}\n\n{question.strip()}", kind="document")])


def lengths_that_fit(lm: LanguageModel, fact: str, probe: Probe, lengths: Sequence[int]) -> list[int]:
    """The lengths whose prompt, with reply and answer, the model was made for."""
    around = len(prompt_with(lm, fact, probe.question)) + probe.room(lm) + 8
    return [length for length in lengths if length + around <= lm.architecture.positions]


def recall(
    lm: LanguageModel,
    fact: str,
    probe: Probe,
    sentences: tuple[str, ...],
    lengths: Sequence[int],
    depths: Sequence[float] = DEPTHS,
) -> Iterator[Recalled]:
    """Ask for the fact at each depth of each length, and once without it, the shortest first.

    Args:
        fact: the sentence that holds the answer.
        sentences: what the context is filled up with.
        lengths: tokens of filler, at most.
        depths: shares of the filler before the fact, 0 to 1.

    Raises:
        TextRefused: if fact, question or answer is empty, or a prompt more than the model was made for.
    """
    if not fact.strip() or not probe.question.strip():
        raise TextRefused("A fact and a question about it are needed. Type both.")
    probe.answer_text(lm)
    is_warm = False
    for length in lengths:
        chosen = filled_up(lm, sentences, length)
        for depth in (None, *depths):
            prompt = prompt_with(lm, haystack(chosen, fact, depth), probe.question)
            if not is_warm:  # the first pass of a model pays for what every later one finds ready
                recalled(lm, prompt, probe)
                is_warm = True
            lead, answer, likeliest, seconds, kept = recalled(lm, prompt, probe)
            yield Recalled(length, depth, len(prompt), lead, answer, likeliest, seconds, kept)


@torch.inference_mode()
def recalled(
    lm: LanguageModel, prompt: Prompt, probe: Probe
) -> tuple[tuple[float, ...], Answer, tuple[int, ...], float, int]:
    """One question asked: the prompt's prefill by the clock, then the reply's tokens in one pass after it.

    Returns:
        Probabilities of the reply's beginning; the answer; the likeliest token at each of the
        answer's places; seconds of the prefill; bytes of its cache.
    """
    lead, answer = probe.lead_ids(lm), _ids(lm, probe.answer_text(lm))
    reply = (*lead, *answer)
    lm.check_length(len(prompt) + len(reply))
    cache = DynamicCache(config=lm.module.config)
    with lm.turns.take():  # both passes in one turn: who waits for an answer waits once
        first = forward(lm, [prompt.ids], cache, has_turn=True)
        kept = cache_bytes(cache)
        logits = first.logits[0]
        if len(reply) > 1:
            following = forward(lm, [reply[:-1]], cache, positions=len(reply) - 1, has_turn=True)
            logits = torch.cat([logits, following.logits[0]])
    chances = logits.double().softmax(-1)
    own = chances.gather(1, torch.tensor(reply, device=lm.device)[:, None])[:, 0].tolist()
    likeliest = tuple(chances[len(lead) :].argmax(-1).tolist())
    return tuple(own[: len(lead)]), Answer(answer, tuple(own[len(lead) :])), likeliest, first.seconds, kept


@dataclass(frozen=True)
class Row:
    """All that was measured at one length.

    Attributes:
        length: tokens of filler asked for.
        tokens: tokens of the prompt with the fact in it; the most, where depths differ by one.
        cells: one a depth, in the order of the depths; None where not measured yet.
        without: the one without the fact, or None.
    """

    length: int
    tokens: int
    cells: tuple[Recalled | None, ...]
    without: Recalled | None

    @property
    def prefill(self) -> float:
        """Median time of this length's prefills, seconds."""
        return median(each.seconds for each in (*self.cells, self.without) if each is not None)


def rows_of(found: Sequence[Recalled], depths: Sequence[float] = DEPTHS) -> list[Row]:
    """The cells in rows, one a length, the shortest first."""
    rows = []
    for length in dict.fromkeys(each.length for each in found):
        at = {each.depth: each for each in found if each.length == length}
        cells = tuple(at.get(depth) for depth in depths)
        rows.append(Row(length, max(each.tokens for each in at.values()), cells, at.get(None)))
    return rows
