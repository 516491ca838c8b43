"""What a benchmark case is: a function of a `Session` that returns figures, registered by `@case` beside the targets
it must reach.

Adding a case is one decorated function in a module of `caudal.bench.cases`; every module there is imported by itself.
Running the cases is broker.py's business, judging the figures is results.py's.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from caudal.bench.client import Client
from caudal.bench.servers import Server

Values = dict[str, float]


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on the ratio Caudal / Apache Kafka, or on Caudal's own value."""

    of: Literal["ratio", "value"]
    bound: float
    at_least: bool
    unit: str = ""

    def is_met(self, ratio: float | None, value: float) -> bool | None:
        """None when there is nothing to compare with (Caudal ran alone)."""
        measured = ratio if self.of == "ratio" else value
        if measured is None:
            return None
        return measured >= self.bound if self.at_least else measured <= self.bound

    def __str__(self) -> str:
        unit = "×" if self.of == "ratio" else f" {self.unit}".rstrip()
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}{unit}"


def ratio_at_least(bound: float) -> Target:
    return Target("ratio", bound, at_least=True)


def ratio_at_most(bound: float) -> Target:
    return Target("ratio", bound, at_least=False)


def value_at_least(bound: float, unit: str = "") -> Target:
    return Target("value", bound, at_least=True, unit=unit)


def value_at_most(bound: float, unit: str = "") -> Target:
    return Target("value", bound, at_least=False, unit=unit)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. Without targets it is for information."""

    title: str
    unit: str
    more_is_better: bool
    targets: tuple[Target, ...] = ()


@dataclass(slots=True)
class Session:
    """What a case may use: a server, clients, and topics that are deleted after it."""

    server: Server
    scale: float = 1.0
    new_server: Callable[[], Server] | None = None
    _companions: list[Session] = field(default_factory=list)
    _clients: list[Client] = field(default_factory=list)
    _topics: list[str] = field(default_factory=list)

    _numbers = itertools.count()

    def count(self, full: int) -> int:
        """A number of messages or topics, smaller in a quick run or a warm-up."""
        return max(10, int(full * self.scale))

    def seconds(self, full: float) -> float:
        return max(0.3, full * self.scale)

    def client(self, number: int = 0) -> Client:
        """A client process; those with different numbers work at the same time."""
        while len(self._clients) <= number:
            self._clients.append(Client())
        return self._clients[number]

    def run(self, workload: str, **arguments: Any) -> dict[str, Any]:
        """Runs a workload against the server on the first client."""
        return self.client().run(workload, port=self.server.port, **arguments)

    def begin(self, workload: str, client: int, **arguments: Any) -> Client:
        """Starts a workload on a client of its own."""
        chosen = self.client(client)
        chosen.begin(workload, port=self.server.port, **arguments)
        return chosen

    def topics(self, count: int, partitions: int = 1, configs: Mapping[str, str] | None = None) -> list[str]:
        names = [f"bench-{next(self._numbers)}" for _ in range(count)]
        self._topics += names
        self.run("create_topics", topics=names, partitions=partitions, configs=dict(configs or {}))
        return names

    def topic(self, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        return self.topics(1, partitions, configs)[0]

    @property
    def first_topic(self) -> str:
        return self._topics[0]

    def take_topics(self) -> list[str]:
        """The topics made so far, which the runner deletes."""
        taken, self._topics = self._topics, []
        return taken

    @contextmanager
    def broker_cpu(self) -> Iterator[list[float]]:
        """Appends to the list it yields the CPU seconds the broker took inside the block."""
        spent: list[float] = []
        before = self.server.cpu_seconds()
        yield spent
        spent.append(self.server.cpu_seconds() - before)

    def companion(self) -> Session:
        """A second server of the same kind, not started yet, to compare two states of it; only in a case with its own
        server.
        """
        if self.new_server is None:
            raise ValueError("only a case with its own server can have a second one")
        self._companions.append(Session(self.new_server(), self.scale))
        return self._companions[-1]

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """The server goes on inside the block and is paused after it."""
        self.server.resume()
        try:
            yield
        finally:
            self.server.pause()

    def close_clients(self) -> None:
        while self._clients:
            self._clients.pop().close()

    def close(self) -> None:
        """Ends the clients and the servers, those of companions included, and removes their folders."""
        while self._companions:
            self._companions.pop().close()
        self.close_clients()
        self.server.remove()


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    run: Callable[[Session], Values]
    figures: Mapping[str, Figure]
    own_server: bool
    max_rounds: int | None


CASES: dict[str, Case] = {}


def case(
    name: str, figures: Mapping[str, Figure], *, own_server: bool = False, max_rounds: int | None = None
) -> Callable[[Callable[[Session], Values]], Callable[[Session], Values]]:
    """Registers a case.

    With `own_server` the session's server is not started yet and belongs to the case alone; otherwise it is a running
    one that the cases share. `max_rounds` keeps the long ones from being repeated as often as the short ones.
    """

    def register(function: Callable[[Session], Values]) -> Callable[[Session], Values]:
        if name in CASES:
            raise ValueError(f"two bench cases are called {name}")
        CASES[name] = Case(name, function, figures, own_server, max_rounds)
        return function

    return register


def all_cases() -> list[Case]:
    """Every case of `caudal.bench.cases`, in the order of the files' names."""
    from caudal.bench import cases

    for module in sorted(found.name for found in pkgutil.iter_modules(cases.__path__)):
        importlib.import_module(f"{cases.__name__}.{module}")
    return list(CASES.values())
