"""'Memory' as a service keeps it: sentences in a small database beside the model.

The model is not changed by it. What is stored is written into the next request, as text, and
costs tokens like any text; what is deleted is not.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.conversation import Message, Prompt, prompt_of
from model.errors import ExplainerError, SettingRefused, TextRefused
from model.language_model import LanguageModel

#: Where the operator may name a file. Without it everything is kept in the server's memory only.
VARIABLE = "EXPLAINER_MEMORY"
IN_MEMORY = ":memory:"
MAX_ROWS, MAX_CHARACTERS = 50, 500
#: Seconds after which a row goes from a file though no end was given: nobody is left to delete it.
FILE_LIFE = 24 * 3600.0
HEAD = "Remember what the user has told you:"


class MemoryUnavailable(ExplainerError):
    """The operator's database cannot be used."""


@dataclass(frozen=True)
class Memory:
    """One row.

    Attributes:
        id: its number in the database.
        text: the sentence.
        added: when, seconds of the store's clock.
        expires: when it goes by itself, or None.
    """

    id: int
    text: str
    added: float
    expires: float | None


class MemoryStore:
    """The rows of one session. Safe to use from several threads.

    Expired rows are deleted at the next look, whatever is asked for.

    Args:
        path: a file, or ``:memory:``.
        session: whose rows these are; a store sees no others.
        clock: seconds, as ``time.time``.

    Raises:
        MemoryUnavailable: if the file cannot be used.
    """

    def __init__(self, path: str = IN_MEMORY, session: str = "", clock: Callable[[], float] = time.time):
        self.path, self._session, self._clock = path, session, clock
        self._lock = threading.Lock()
        try:
            if self.is_file:  # readable by nobody else
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=5.0)
            self._database.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS memories (id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, "
                "text TEXT NOT NULL, added REAL NOT NULL, expires REAL)"
            )
        except (OSError, sqlite3.Error) as problem:
            raise MemoryUnavailable(
                f"The memory file {Path(path).name} named by the operator cannot be used ({problem}). Nothing is kept."
            ) from problem

    @property
    def is_file(self) -> bool:
        """Whether rows are kept in a file, else in the server's memory."""
        return self.path != IN_MEMORY

    def rows(self) -> tuple[Memory, ...]:
        """What is kept now, the oldest first."""
        found = self._run("SELECT id, text, added, expires FROM memories WHERE session = ? ORDER BY id", self._session)
        return tuple(Memory(*row) for row in found)

    def add(self, text: str, seconds: float | None = None) -> None:
        """Keep a sentence, for some seconds or until it is deleted.

        Raises:
            TextRefused: if it is empty or too long.
            SettingRefused: if the store is full, or the time is no positive number.
        """
        cleaned = _cleaned(text)
        if seconds is not None and not 0 < seconds < 1e9:
            raise SettingRefused("A memory is kept for a number of seconds above 0, or until it is deleted.")
        now = self._clock()
        expires = None if seconds is None else now + seconds
        # Counted and added in one statement: two threads cannot both take the last place.
        added = self._run(
            "INSERT INTO memories (session, text, added, expires) SELECT ?, ?, ?, ? "
            "WHERE (SELECT COUNT(*) FROM memories WHERE session = ?) < ? RETURNING id",
            *(self._session, cleaned, now, expires, self._session, MAX_ROWS),
        )
        if not added:
            raise SettingRefused(f"At most {MAX_ROWS} memories are kept. Delete one first.")

    def edit(self, id: int, text: str) -> bool:
        """Put other words in the place of a row's; False if there is no such row (any more).

        Raises:
            TextRefused: if the new text is empty or too long.
        """
        changed = self._run(
            "UPDATE memories SET text = ? WHERE id = ? AND session = ? RETURNING id", _cleaned(text), id, self._session
        )
        return bool(changed)

    def delete(self, id: int) -> bool:
        """Delete a row; False if there is no such row."""
        return bool(self._run("DELETE FROM memories WHERE id = ? AND session = ? RETURNING id", id, self._session))

    def delete_all(self) -> int:
        """Delete all rows of this session; how many there were."""
        return len(self._run("DELETE FROM memories WHERE session = ? RETURNING id", self._session))

    def close(self) -> None:
        """Close the database; one that was only in memory is gone with it."""
        with self._lock:
            self._database.close()

    def _run(self, statement: str, *values: object) -> list[tuple]:
        """Delete what has expired, then run one statement with its values bound."""
        now = self._clock()
        try:
            with self._lock:
                self._database.execute("DELETE FROM memories WHERE expires <= ?", (now,))
                if self.is_file:
                    self._database.execute("DELETE FROM memories WHERE added <= ?", (now - FILE_LIFE,))
                return self._database.execute(statement, values).fetchall()
        except sqlite3.Error as problem:
            raise MemoryUnavailable(f"The memory database did not answer ({problem}). Try again.") from problem


def _cleaned(text: str) -> str:
    """A sentence on one line: a row is a line of the request, and cannot pass for two."""
    cleaned = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
    if not cleaned:
        raise TextRefused("There is nothing to remember. Type a sentence, for example: My name is Priya.")
    if len(cleaned) > MAX_CHARACTERS:
        raise TextRefused(f"That is {len(cleaned):,} characters; at most {MAX_CHARACTERS} are kept. Shorten it.")
    return cleaned


def configured_path() -> str:
    """Where rows are kept: the operator's file, or the server's memory."""
    return os.environ.get(VARIABLE, "").strip() or IN_MEMORY


def memory_message(rows: Sequence[Memory]) -> Message | None:
    """What is put before the conversation: one system message; None if nothing is kept."""
    if not rows:
        return None
    return Message("system", "\n".join([HEAD, *(f"- {row.text}" for row in rows)]), kind="memory")


def request(lm: LanguageModel, rows: Sequence[Memory], question: str) -> Prompt:
    """The next request: the memories, if any, and the question."""
    message = memory_message(rows)
    asked = Message("user", question.strip(), kind="question")
    return prompt_of(lm, [asked] if message is None else [message, asked])


def sent_text(lm: LanguageModel, prompt: Prompt) -> str:
    """The request as text, control tokens by their names."""
    return lm.tokenizer.decode(list(prompt.ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
