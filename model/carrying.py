"""Four ways to carry the past into the next request: all of it, its end, a summary, or what seems relevant.

A model reads what is sent and nothing else, so each way is a choice of messages. What a way leaves
out is gone for this reply, whatever it was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import bm25s

from model.conversation import Answer, Message, Prompt, answer_probability, prompt_of
from model.cost import kv_bytes, work
from model.errors import TextRefused
from model.generation import generate
from model.language_model import LanguageModel
from model.recall import Probe
from model.sampling import Settings

#: Names of the four ways, for people, in order.
WAYS = {
    "everything": "Everything",
    "window": "The last turns",
    "summary": "A summary",
    "retrieval": "Relevant turns",
}
SUMMARY_HEAD = "Here is a summary of the conversation so far:"
SUMMARY_ASK = "Summarise this conversation in two sentences. Keep every fact about the user."
#: Tokens of a summary, and characters of one that is edited, at most.
SUMMARY_TOKENS, LONGEST_SUMMARY = 80, 1_000

#: Messages that belong together: what the user said and the replies to it.
Turn = tuple[Message, ...]


def turns_of(messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[Turn, ...]]:
    """The system messages, and the turns: each begins where the user speaks after a reply."""
    system = tuple(each for each in messages if each.role == "system")
    turns: list[Turn] = []
    for message in messages:
        if message.role == "system":
            continue
        if turns and not (message.role == "user" and turns[-1][-1].role == "assistant"):
            turns[-1] = (*turns[-1], message)
        else:
            turns.append((message,))
    return system, tuple(turns)


@dataclass(frozen=True)
class Carried:
    """One way's next request.

    Attributes:
        way: its name in :data:`WAYS`.
        prompt: the messages, the question last, and the exact tokens.
        kept: numbers of the turns that are in it as they were, from 0.
        dropped: numbers of the turns that the way chose but that did not fit, the oldest first.
        operations: of the prefill, by formula.
        cache_bytes: of its keys and values, by formula, in the model's own precision.
        limit: tokens that it may have.
        scores: for retrieval the relevance of each turn to the question, else empty.
    """

    way: str
    prompt: Prompt = field(repr=False)
    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    operations: int
    cache_bytes: int
    limit: int
    scores: tuple[float, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of the prompt."""
        return len(self.prompt)

    @property
    def nbytes(self) -> int:
        return 1_000 * len(self.prompt)


def carried(
    lm: LanguageModel,
    way: str,
    messages: Sequence[Message],
    question: str,
    *,
    limit: int,
    turns: int = 2,
    hits: int = 2,
    summary: str = "",
) -> Carried:
    """What is sent for ``question`` after ``messages``, in one of the four ways.

    If it is too long, the oldest of its turns are dropped, whole, until the rest fits; system
    messages and the question stay.

    Args:
        limit: tokens that the prompt may have.
        turns: how many turns the window keeps.
        hits: how many turns are retrieved at most; those without a word of the question never are.
        summary: takes the place of all turns.

    Raises:
        TextRefused: if not even the system messages and the question fit, or the template refuses.
    """
    system, all_turns = turns_of(messages)
    scores: tuple[float, ...] = ()
    chosen = list(range(len(all_turns)))
    if way == "window":
        chosen = chosen[max(0, len(chosen) - turns) :]
    elif way == "summary":
        chosen = []
        system = (*system, Message("system", f"{SUMMARY_HEAD} {summary.strip()}", kind="summary"))
    elif way == "retrieval":
        scores = relevance(all_turns, question)
        best = sorted((place for place in chosen if scores[place] > 0), key=lambda place: -scores[place])
        chosen = sorted(best[:hits])
    prompt, dropped = _fitted(lm, system, all_turns, chosen, question, limit)
    return Carried(
        way,
        prompt,
        tuple(place for place in chosen if place not in dropped),
        tuple(dropped),
        work(lm.architecture, len(prompt)).operations,
        kv_bytes(lm.architecture, len(prompt), lm.bytes_per_value),
        limit,
        scores,
    )


def _fitted(
    lm: LanguageModel, system: Sequence[Message], turns: Sequence[Turn], chosen: list[int], question: str, limit: int
) -> tuple[Prompt, list[int]]:
    """The longest end of the chosen turns that fits, and what was dropped for it."""
    asked = Message("user", question.strip(), kind="question")
    first = _newest(lm, [turns[place] for place in chosen], limit)
    while True:
        history = [message for place in chosen[first:] for message in turns[place]]
        prompt = prompt_of(lm, _one_system(lm, [*system, *history, asked]))
        if len(prompt) <= limit:
            return prompt, chosen[:first]
        if first == len(chosen):
            raise TextRefused(
                f"Without any turn, what must be sent has {len(prompt):,} tokens already; {limit:,} fit. Shorten the "
                "question, the summary or the system message."
            )
        first += 1


def _one_system(lm: LanguageModel, messages: list[Message]) -> list[Message]:
    """Several system messages as one at the beginning: most templates hold no more."""
    system = [each for each in messages if each.role == "system"]
    if len(system) < 2:
        return messages
    joined = Message("system", "\n\n".join(each.text for each in system), kind=system[-1].kind)
    return [joined, *(each for each in messages if each.role != "system")]


def _newest(lm: LanguageModel, turns: Sequence[Turn], limit: int) -> int:
    """Index of the first turn from which on all together are within the limit, by their own tokens alone.

    So that only what may fit is put into the template, which takes long for long conversations.
    """
    first, total = len(turns), 0
    while first > 0:
        total += sum(_count(lm, message) for message in turns[first - 1])
        if total > limit:
            break
        first -= 1
    return first


def _count(lm: LanguageModel, message: Message) -> int:
    if message.ids:
        return len(message.ids)
    text = message.text.encode("utf-8", "replace").decode("utf-8")
    return len(lm.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])


def relevance(turns: Sequence[Turn], question: str) -> tuple[float, ...]:
    """BM25 score of each turn for the question (Robertson 1994, in Lucene's form): shared words, rare ones more.

    English words that say little by themselves, as 'the' and 'what', do not count.
    """
    texts = [" ".join(message.text for message in turn) for turn in turns]
    tokenized = bm25s.tokenize([*texts, question], stopwords="en_plus", return_ids=False, show_progress=False)
    documents, query = tokenized[:-1], tokenized[-1]
    words = {word for document in documents for word in document}
    query = [word for word in query if word in words]
    if not query:
        return (0.0,) * len(turns)
    index = bm25s.BM25()
    index.index(documents, show_progress=False)
    return tuple(float(score) for score in index.get_scores(query))


@dataclass(frozen=True)
class Summary:
    """A summary as far as it is written.

    Attributes:
        prompt_tokens: tokens that were read for it.
        ids: what was written, without the end token.
        text: the same as text.
        dropped: turns that did not fit into the request for it, the oldest.
        operations: of reading and writing it, by formula.
    """

    prompt_tokens: int
    ids: tuple[int, ...]
    text: str
    dropped: int
    operations: int
    nbytes: int = 10_000


def write_summary(lm: LanguageModel, messages: Sequence[Message], limit: int) -> Iterator[Summary]:
    """Let the model summarise the conversation, greedily; a snapshot after each token.

    Args:
        limit: tokens that the request may have.

    Raises:
        TextRefused: if nothing of it fits.
    """
    turns = turns_of(messages)[1]
    dropped = min(_newest(lm, turns, limit), max(0, len(turns) - 1))
    while True:
        said = "\n".join(f"{each.role.capitalize()}: {each.text}" for turn in turns[dropped:] for each in turn)
        prompt = prompt_of(lm, [Message("user", f"{SUMMARY_ASK}\n\n{said}", kind="question")])
        if len(prompt) <= limit or dropped >= len(turns) - 1:
            break
        dropped += 1
    lm.check_length(len(prompt), limit)
    done = work(lm.architecture, len(prompt)).operations
    ids: tuple[int, ...] = ()
    for step in generate(lm, prompt.tokens, Settings(temperature=0), max_tokens=SUMMARY_TOKENS):
        if step.index:
            done += work(lm.architecture, 1, step.cached).operations
        if step.draw.id not in lm.end_ids:
            ids = (*ids, step.draw.id)
        yield Summary(len(prompt), ids, lm.tokenizer.decode(ids).strip(), dropped, done)


def answer_of(lm: LanguageModel, request: Carried | Prompt, probe: Probe) -> Answer:
    """How likely the answer is after this request and the reply's beginning.

    Raises:
        TextRefused: if the answer is empty, or all together more than the model was made for.
    """
    prompt = request.prompt if isinstance(request, Carried) else request
    return answer_probability(lm, probe.begun(lm, prompt), probe.answer_text(lm))
