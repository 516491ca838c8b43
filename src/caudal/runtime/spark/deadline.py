"""Deadlines: how old a record may be when its results are committed, and what happens when it is older.

Three classes, as real-time systems have them. Near: it is told. Soft: late results are worth less, they are counted.
Hard: a late result is worth nothing: a record that is too old when its turn comes goes to `late_topic` instead of being
processed, or stops the application where there is none, as does a commit that comes too late.

Age is measured from the record's own timestamp, so the clocks of producers and workers must agree.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

from caudal.plan.durations import milliseconds
from caudal.plan.errors import PlanError
from caudal.runtime.errors import StreamsError


class Strictness(Enum):
    NEAR = "near"
    SOFT = "soft"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class Deadline:
    strictness: Strictness
    limit: int  # milliseconds
    late_topic: str | None = None

    @classmethod
    def parse(cls, text: str, late_topic: str | None = None) -> Deadline:
        """'soft 200 ms' → a Deadline."""
        word, _, duration = text.strip().partition(" ")
        try:
            strictness = Strictness(word.lower())
            limit = milliseconds(duration, "deadline")
        except (ValueError, PlanError):
            raise StreamsError(
                f"deadline takes a class and a duration, such as 'near 2 seconds', 'soft 200 ms' or 'hard 50 ms', not "
                f"'{text}'."
            ) from None
        if limit < 1:
            raise StreamsError("A deadline must be at least 1 ms.")
        if late_topic is not None and strictness is not Strictness.HARD:
            raise StreamsError(f"late_topic is for hard deadlines: with a {word} one late records are processed.")
        return cls(strictness, limit, late_topic)

    @property
    def is_hard(self) -> bool:
        return self.strictness is Strictness.HARD

    def __str__(self) -> str:
        return f"{self.strictness.value} deadline of {self.limit} ms"


class Punctuality:
    """What a task counts of its deadline: in this commit, and in all."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.met = 0
        self.missed = 0
        self.timestamps: list[int] = []  # of records that wait for the commit
        self.diverted = 0  # records of this commit that went to the late topic

    def lateness(self, timestamp: int) -> int:
        """How many milliseconds over the limit a record is right now; 0 where it is in time."""
        return max(0, int(time.time() * 1000) - timestamp - self.deadline.limit)

    def committed(self) -> int:
        """Judges what was committed; by how many milliseconds the latest result was late."""
        bound = int(time.time() * 1000) - self.deadline.limit
        late = sum(timestamp < bound for timestamp in self.timestamps)
        worst = bound - min(self.timestamps, default=bound)
        self.met += len(self.timestamps) - late
        self.missed += late + self.diverted
        self.forget()
        return max(0, worst)

    def forget(self) -> None:
        """The commit did not come about."""
        self.timestamps = []
        self.diverted = 0
