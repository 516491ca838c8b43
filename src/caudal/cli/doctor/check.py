"""A check of `caudal doctor`: how one is declared, what it is told, what it answers, and how all of them are run.

A check is a function with `@check("name")` that yields `ok`, `note` or `trouble`, or nothing where its question does
not arise. It changes nothing. All run at the same time, each for its seconds at most; one that raises or hangs is a
note and keeps no other from answering.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from caudal.cli.doctor import THEMES
from caudal.cli.doctor.cluster import Cluster

OK, NOTE, TROUBLE = "ok", "note", "trouble"
SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Situation:
    """What the person asked about. A service without an address is looked for where it usually is."""

    bootstrap: str
    bootstrap_given: bool
    data: Path
    properties: Sequence[str] = ()
    services: dict[str, str] = field(default_factory=dict)  # registry, connect, ksql, ui → URL
    cluster: Cluster = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cluster", Cluster(self.bootstrap, list(self.properties)))


class Answer(NamedTuple):
    """`fix` is one command or sentence, set where something can be done about it."""

    status: str
    text: str
    fix: str = ""


class Finding(NamedTuple):
    check: str
    status: str
    text: str
    fix: str = ""


def ok(text: str) -> Answer:
    return Answer(OK, text)


def note(text: str, fix: str = "") -> Answer:
    """Worth knowing: it may be meant so."""
    return Answer(NOTE, text, fix)


def trouble(text: str, fix: str) -> Answer:
    """Something will not work."""
    return Answer(TROUBLE, text, fix)


Asking = Callable[[Situation], Iterable[Answer]]


class Check(NamedTuple):
    name: str
    asking: Asking
    seconds: float


CHECKS: list[Check] = []


def check(name: str, seconds: float = SECONDS) -> Callable[[Asking], Asking]:
    def declared(asking: Asking) -> Asking:
        CHECKS.append(Check(name, asking, seconds))
        return asking

    return declared


def all_checks() -> list[Check]:
    """Every check of every theme, in the order of the report."""
    order = {f"caudal.cli.doctor.{theme}": number for number, theme in enumerate(THEMES)}
    for module in order:
        importlib.import_module(module)
    return sorted(CHECKS, key=lambda each: order.get(each.asking.__module__, len(order)))


def run_checks(situation: Situation, checks: Sequence[Check] | None = None) -> Iterator[Finding]:
    """What they find, in their order, while those behind are still under way."""
    runs = [_Run(each, situation) for each in (all_checks() if checks is None else checks)]
    for run in runs:
        yield from run.findings()


class _Run:
    """A check under way, in a thread that nobody waits for at the end: it may hang in a system call."""

    def __init__(self, check: Check, situation: Situation) -> None:
        self._check = check
        self._answers: list[Answer] = []
        self._deadline = time.monotonic() + check.seconds
        self._thread = threading.Thread(target=self._ask, args=(situation,), name=f"doctor {check.name}", daemon=True)
        self._thread.start()

    def _ask(self, situation: Situation) -> None:
        try:
            self._answers = list(self._check.asking(situation))
        except Exception as error:
            self._answers = [note(f"could not be checked: {type(error).__name__}: {' '.join(str(error).split())}")]

    def findings(self) -> list[Finding]:
        self._thread.join(max(0.0, self._deadline - time.monotonic()))
        if self._thread.is_alive():
            return [Finding(self._check.name, NOTE, f"no answer in {self._check.seconds:.0f} s; it was given up")]
        return [Finding(self._check.name, *answer) for answer in self._answers]
