"""What the class does: half follow the teacher, half type their own, each at their own pace."""

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from pages.shared.frame import PAGES
from tests.load.visitor import Visitor

TEACHER = "The cat sat on the mat because it was"
#: Seconds between two actions of one visitor.
PACE = (5.0, 15.0)
#: Words of the texts that visitors type.
WORDS = """
    the a river old green house walked slowly over under bridge and then but children sang because winter was cold
    market bread two three morning light window of in on with her his they found nothing left again
""".split()  # noqa: SIM905
#: One for each visitor: rare, one token each, and in nobody else's text. Whoever is sent another's has seen too much.
SECRETS = """
    photosynthesis Byzantine tectonic Renaissance algebraic mitochondrial Antarctic parliamentary volcanic
    trigonometry Confucian amphibians archaeology hydraulic Mesopotamia neurotransmitters pharmaceutical
""".split()  # noqa: SIM905


@dataclass(frozen=True)
class Done:
    """One action of one visitor.

    Attributes:
        kind: ``shared`` or ``own``.
        page: where it ended.
        what: what was done.
        seconds: until the page was finished.
        wrong: what was not as it should be; empty if all was.
    """

    kind: str
    page: str
    what: str
    seconds: float
    wrong: str = ""


class Pupil:
    """One of the class.

    Args:
        number: makes its choices, and its secret word.
        own: whether it types its own texts; else it follows the teacher's.
    """

    def __init__(self, address: str, number: int, own: bool):
        self.kind = "own" if own else "shared"
        self.secret = SECRETS[number // 2 % len(SECRETS)] if own else ""
        others = frozenset(word.encode() for word in SECRETS if word != self.secret)
        self.visitor = Visitor(address, others)
        self._random = random.Random(number)
        self._text = self._own_text() if own else TEACHER
        self._way = self._around(number)
        self._page = next(self._way)

    async def attend(self, note: Callable[[Done], None], until: asyncio.Event) -> None:
        """Come in, and act until the lesson is over."""
        async with self.visitor:
            await asyncio.sleep(self._random.uniform(0, PACE[1]))  # nobody opens the link at the same moment
            query = urlencode({"prompt": self._text})
            await self._noted(note, "opens the link", lambda: self.visitor.open(self._page, query))
            while not until.is_set():
                await self._pause(until)
                if not until.is_set():
                    await self._noted(note, *self._next_action())

    async def _pause(self, until: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._random.uniform(*PACE)):
                await until.wait()
        except TimeoutError:
            return

    def _next_action(self):
        """The name of the next action, and what does it."""
        chance = self._random.random()
        if self.kind == "own" and chance < 0.4:
            self._text = self._own_text()
            return "sends a text", lambda: self.visitor.type_text(self._text)
        if chance < 0.75:
            self._page = next(self._way)
            return "goes on", lambda: self.visitor.go_to(self._page)
        if self._page == "attention":
            head = {"layer": self._random.randrange(30), "head": self._random.randrange(9)}
            return "chooses a head", lambda: self.visitor.tell("heads", "chosen", head)
        place = self._random.randrange(max(1, len(self.visitor.shown.strip)))
        return "chooses a token", lambda: self.visitor.tell("strip", "selected", place)

    async def _noted(self, note: Callable[[Done], None], what: str, act) -> None:
        try:
            seconds = await act()
        except Exception as reason:
            note(Done(self.kind, self._page, what, float("inf"), f"{type(reason).__name__}: {reason}"))
            return
        note(Done(self.kind, self._page, what, seconds, self._what_is_wrong()))

    def _what_is_wrong(self) -> str:
        shown = self.visitor.shown
        if self.visitor.leaked:
            return f"saw another's word: {self.visitor.leaked}"
        if shown.complaints:
            return f"the page complains: {shown.complaints[0][:200]}"
        if shown.title != PAGES[self._page].question:
            return f"the page is {shown.title!r}"
        if not shown.is_whole:
            return "the page is not whole"
        if "".join(shown.strip).replace("␣", " ") != self._text:
            return f"the strip shows {''.join(shown.strip)!r}"
        return ""

    def _own_text(self) -> str:
        """8 to 64 words, one of them the secret."""
        words = [self._random.choice(WORDS) for _ in range(self._random.randint(7, 62))]
        words.insert(self._random.randrange(1, len(words)), self.secret)
        return " ".join(["The", *words])

    def _around(self, number: int) -> Iterator[str]:
        """Page after page in the order of the menu, each visitor from another one."""
        slugs = list(PAGES)
        place = number if self.kind == "own" else 0
        while True:
            yield slugs[place % len(slugs)]
            place += 1
