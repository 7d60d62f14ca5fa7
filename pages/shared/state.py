"""What the visitor is looking at: small, the same on every page, and in the address bar.

The address is read once, when a session begins; each value is checked by itself, so that one bad
value costs only itself. From then on the session's own state is the truth and the address
follows it. Values that depend on the model or the text (a layer, a position) are clamped when
those are known, by :meth:`View.clamp`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import streamlit as st

from model import DEFAULT_KEY, Settings, edits
from model.edits import Edits

DEFAULT_PROMPT = "The capital of France is"

#: A longer prompt still runs, but is left out of the address: some browsers cut long ones.
LONGEST_LINK = 4_000
MAX_BRANCHES = 4
MAX_BRANCH_TOKENS = 256
MAX_EDITS = 32
#: Turns of a conversation, and characters of what is said in one.
MAX_SAID, LONGEST_MESSAGE = 8, 1_000
BETWEEN = "\x1e"
NO_EDITS = "none"
#: The longest request of the calculator, tokens.
MAX_CONTEXT = 100_000_000
_LARGEST = 10**9


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        return min(max(int(text[:20]), low), high)

    return read


def _among(*choices: int) -> Callable[[str], int]:
    """One of a few whole numbers; another is no value at all."""

    def read(text: str) -> int:
        if int(text[:20]) not in choices:
            raise ValueError(text)
        return int(text[:20])

    return read


def _number(low: float, high: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = float(text[:20])
        if not math.isfinite(value):
            raise ValueError(text)
        return min(max(value, low), high)

    return read


def _words(longest: int) -> Callable[[str], str]:
    return lambda text: text[:longest]


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(text)
        return text

    return read


def _branches(text: str) -> tuple[tuple[int, ...], ...]:
    """Token IDs joined by dots, branches by tildes: ``7042.30.198~7042.28``."""
    branches = [
        tuple(min(int(id), _LARGEST) for id in branch.split(".") if id)[:MAX_BRANCH_TOKENS]
        for branch in text[: 8 * MAX_BRANCHES * MAX_BRANCH_TOKENS].split("~")[:MAX_BRANCHES]
    ]
    if any(id < 0 for branch in branches for id in branch):
        raise ValueError(text)
    return tuple(branches) or ((),)


def _edits(text: str) -> Edits:
    """Edits as :func:`model.edits.spelled` writes them; ``none`` are none."""
    return () if text == NO_EDITS else edits.read(text[:LONGEST_LINK])[:MAX_EDITS]


def _write_edits(value: Edits) -> str:
    return edits.spelled(value) or NO_EDITS


def _said(text: str) -> tuple[str, ...]:
    """What was said, turn by turn; an address holds it with a separator that no keyboard types."""
    return tuple(each[:LONGEST_MESSAGE] for each in text.split(BETWEEN) if each.strip())[:MAX_SAID] or ("hi",)


def _write(value: Any) -> str:
    if isinstance(value, tuple):
        return "~".join(".".join(map(str, branch)) for branch in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _field(default: Any, read: Callable[[str], Any], write: Callable[[Any], str] = _write) -> Any:
    return field(default=default, metadata={"read": read, "write": write})


@dataclass
class View:
    """The state of a session. Every field is one parameter of the address.

    Attributes:
        model: key of the model.
        prompt: the text.
        specials: how names of control tokens in the text are read, ``text`` or ``control``.
        written: what was generated after the prompt, as token IDs; one tuple a branch.
        branch: the branch on show.
        layer, head: what is opened up. By default a head of the default model that, on the
            default text, looks from 'is' at 'France'.
        position: the selected token, the one that looks (query); −1 is the last.
        key: the token looked at; −1 follows the strongest.
        t, top_k, top_p, min_p, seed, penalty: sampling settings.
        edits: what is broken, on the page that breaks things. By default the head above.
        step: the forward pass that is opened up; −1 is the last, 0 the prefill.
        kv_head: the KV head whose cached rows are shown.
        neuron: the neuron of the feed-forward network that is opened up; −1 is the strongest.
        shape: name of the architecture in the calculator; ``open`` is the open model.
        context, typical: tokens of a request in the calculator, at worst and typically.
        requests: how many requests at once.
        cache_bits, weight_bits: bits of a cached value and of a weight.
        gpu: name of the machine whose memory is filled.
        overhead: GB set aside for everything else.
        gpus: how many such machines, in the plan.
        answer, answer_worst: tokens of a request that are its answer, typically and at worst.
        price: of an hour of one machine.
        rate_low, rate_high: per cent of a machine's matrix rate that are assumed to be reached.
        band_low, band_high: the same of its bandwidth.
        same: per cent of a prompt that all requests share.
        one, two: the two sentences that a word is compared in.
        word: that word.
        one_at, two_at: which of its places in either sentence, from 0.
        swap: what is put in the place of one word of the prompt.
        swap_at: the position of that word; −1 chooses one.
        order: how the prompt's words are put in another order, ``reversed`` or ``shuffled``.
        more: what is put after the prompt, to see whether it changes what came before.
        said: what the visitor says in a conversation, turn by turn.
        system: its system message; empty is the template's own.
        reply: what every reply is, word for word; empty lets the model write.
        keep: 1 if replies stay in the history as the token IDs that were written.
        document: a text put into the context.
        ask, begin, goal: a question, how its reply begins, and how the right answer goes on.
        with_system, with_document, with_history: 0 leaves that part of the context out.
        fact: a sentence that is looked for in contexts of several lengths.
        fact_ask, fact_begin, fact_goal: the question about it, how the reply begins, the answer.
        hay: what those contexts are filled up with; empty is sentences of the program's own.
        reach: tokens of the longest of them.
        talk: the conversation that is carried on in four ways: ``dinner``, ``long``, ``chat`` (the
            page's own) or ``own`` (pasted, which stays in the session).
        probe: which of its planted facts is asked for.
        turns, hits: how many turns a window keeps, and how many are retrieved.
        memo_ask, memo_begin, memo_goal: a question to a model with memories, how its reply begins,
            the answer.
        classroom: 1 enlarges everything for a projector.
    """

    model: str = _field(DEFAULT_KEY, _words(80))
    prompt: str = _field(DEFAULT_PROMPT, _words(200_000))
    specials: str = _field("text", _one_of("text", "control"))
    written: tuple = _field(((),), _branches)
    branch: int = _field(0, _whole(0, MAX_BRANCHES - 1))
    layer: int = _field(23, _whole(0, _LARGEST))
    head: int = _field(4, _whole(0, _LARGEST))
    position: int = _field(-1, _whole(-1, _LARGEST))
    key: int = _field(-1, _whole(-1, _LARGEST))
    t: float = _field(1.0, _number(0.0, 2.5))
    top_k: int = _field(0, _whole(0, _LARGEST))
    top_p: float = _field(1.0, _number(0.01, 1.0))
    min_p: float = _field(0.0, _number(0.0, 1.0))
    seed: int = _field(7, _whole(0, 2**31 - 1))
    penalty: float = _field(1.0, _number(1.0, 2.0))
    edits: tuple = _field((edits.HeadOff(23, 4),), _edits, _write_edits)
    step: int = _field(-1, _whole(-1, _LARGEST))
    kv_head: int = _field(0, _whole(0, _LARGEST))
    neuron: int = _field(-1, _whole(-1, _LARGEST))
    shape: str = _field("Llama-3.1-70B", _words(80))
    context: int = _field(131_072, _whole(1, MAX_CONTEXT))
    typical: int = _field(4_096, _whole(1, MAX_CONTEXT))
    requests: int = _field(1, _whole(1, 100_000))
    cache_bits: int = _field(16, _among(32, 16, 8, 4, 2))
    weight_bits: int = _field(16, _among(32, 16, 8, 4))
    gpu: str = _field("NVIDIA H100 SXM", _words(80))
    overhead: float = _field(4.0, _number(0.0, 10_000.0))
    gpus: int = _field(4, _whole(1, 1_024))
    answer: int = _field(512, _whole(1, MAX_CONTEXT))
    answer_worst: int = _field(2_048, _whole(1, MAX_CONTEXT))
    price: float = _field(2.5, _number(0.0, 10_000.0))
    rate_low: int = _field(40, _whole(1, 100))
    rate_high: int = _field(50, _whole(1, 100))
    band_low: int = _field(60, _whole(1, 100))
    band_high: int = _field(80, _whole(1, 100))
    same: int = _field(50, _whole(0, 100))
    one: str = _field("The boat drifted slowly to the muddy bank", _words(400))
    two: str = _field("She opened a savings account at the bank", _words(400))
    word: str = _field("bank", _words(60))
    one_at: int = _field(0, _whole(0, _LARGEST))
    two_at: int = _field(0, _whole(0, _LARGEST))
    swap: str = _field("Italy", _words(60))
    swap_at: int = _field(-1, _whole(-1, _LARGEST))
    order: str = _field("reversed", _one_of("reversed", "shuffled"))
    more: str = _field(" Paris, and the capital of Italy is", _words(400))
    said: tuple = _field(("My dog is called Rex.", "I walk it every morning."), _said, BETWEEN.join)
    system: str = _field("", _words(1_000))
    reply: str = _field("", _words(200))
    keep: int = _field(1, _whole(0, 1))
    document: str = _field("", _words(2_000))
    ask: str = _field("What is my dog called?", _words(400))
    begin: str = _field("Your dog is called", _words(200))
    goal: str = _field(" Rex", _words(100))
    with_system: int = _field(1, _whole(0, 1))
    with_document: int = _field(1, _whole(0, 1))
    with_history: int = _field(1, _whole(0, 1))
    fact: str = _field("The secret code of the project is 7421.", _words(300))
    fact_ask: str = _field("What is the secret code of the project?", _words(300))
    fact_begin: str = _field("The secret code of the project is", _words(200))
    fact_goal: str = _field("7421", _words(100))
    hay: str = _field("", _words(2_000))
    reach: int = _field(512, _among(128, 256, 512, 1024, 2048))
    talk: str = _field("dinner", _one_of("dinner", "long", "chat", "own"))
    probe: int = _field(0, _whole(0, 9))
    turns: int = _field(2, _whole(1, 20))
    hits: int = _field(2, _whole(1, 10))
    memo_ask: str = _field("What is my name?", _words(300))
    memo_begin: str = _field("Your name is", _words(200))
    memo_goal: str = _field("Priya", _words(100))
    classroom: int = _field(0, _whole(0, 1))

    @property
    def settings(self) -> Settings:
        return Settings(self.t, self.top_k, self.top_p, self.min_p, self.seed, self.penalty)

    @property
    def continuation(self) -> tuple[int, ...]:
        """The token IDs written after the prompt, on the branch on show."""
        return self.written[self.branch]

    def new_text(self, prompt: str, specials: str | None = None) -> None:
        """Start afresh with another prompt: what was written and selected belonged to the old one."""
        self.prompt, self.specials = prompt, specials or self.specials
        self.written, self.branch, self.position, self.key, self.swap_at = ((),), 0, -1, -1, -1

    def clamp(self, layers: int, heads: int, vocabulary: int) -> list[str]:
        """Bring what depends on the model into its range; sentences on what was changed."""
        changed = []
        for name, count in (("layer", layers), ("head", heads)):
            value = getattr(self, name)
            if value >= count:
                setattr(self, name, count - 1)
                if value == getattr(View, name):  # nobody asked for the default
                    continue
                changed.append(f"There is no {name} {value} in this model: {name} {count - 1} is shown.")
        self.top_k = min(self.top_k, vocabulary)
        if any(id >= vocabulary for branch in self.written for id in branch):
            self.written = ((),)
            changed.append("The continuation in the address belongs to another model and was left out.")
        self.branch = min(self.branch, len(self.written) - 1)
        return changed

    def clamp_positions(self, count: int) -> None:
        """Bring the selected positions into a text of ``count`` tokens; −1 becomes the last."""
        self.position = count - 1 if self.position < 0 else min(self.position, count - 1)
        self.key = min(self.key, self.position)


def view() -> View:
    """The session's state, read from the address the first time."""
    if "view" not in st.session_state:
        st.session_state.view = read_address(st.query_params.to_dict())
    return st.session_state.view


def read_address(parameters: dict[str, str]) -> View:
    """A view from the address; what is missing, unknown or not to be understood is left out."""
    values = {}
    for each in fields(View):
        try:
            values[each.name] = each.metadata["read"](parameters[each.name])
        except (KeyError, ValueError, OverflowError):
            continue
    return View(**values)


def write_address(view: View) -> None:
    """Let the address follow: what differs from the defaults, and nothing else."""
    wanted = {}
    for each in fields(View):
        written = each.metadata["write"](getattr(view, each.name))
        if getattr(view, each.name) != each.default and len(written) <= LONGEST_LINK:
            wanted[each.name] = written
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)
