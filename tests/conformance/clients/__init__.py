"""What the conformance suite asks of a Kafka client, whatever its language.

Each client has one adapter in this folder; the tests are written once, against these classes, and run for every
adapter. The adapters are thin on purpose: they translate names and never repair behaviour, so that a test judges the
client and the broker, not the adapter.
Every refusal reaches the test as ``Refused`` with the protocol's error code.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

TopicPartition = tuple[str, int]
Headers = tuple[tuple[str, bytes | None], ...]


class Refused(Exception):
    """The broker answered with an error code (kafka's numbers: 3 unknown topic, 36 topic already exists …)."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Outgoing:
    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Closing(ABC):
    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Producer(Closing):
    @abstractmethod
    def send(self, records: Iterable[Outgoing]) -> list[tuple[int, int]]:
        """Sends, waits for the acknowledgements, returns (partition, offset) of each; raises the first refusal."""

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def abort(self) -> None: ...

    @abstractmethod
    def send_offsets(self, offsets: Mapping[TopicPartition, int], consumer: Consumer) -> None: ...


class Consumer(Closing):
    @abstractmethod
    def subscribe(self, topics: Sequence[str]) -> None: ...

    @abstractmethod
    def assign(self, partitions: Sequence[TopicPartition]) -> None: ...

    @abstractmethod
    def poll(self, seconds: float) -> list[Message]: ...

    @abstractmethod
    def assignment(self) -> set[TopicPartition]: ...

    @abstractmethod
    def seek(self, partition: TopicPartition, offset: int) -> None: ...

    @abstractmethod
    def offset_for_time(self, partition: TopicPartition, timestamp: int) -> int | None:
        """The first offset at or after the time; None when there is none."""

    @abstractmethod
    def bounds(self, partition: TopicPartition) -> tuple[int, int]:
        """The earliest and the next offset."""

    @abstractmethod
    def commit(self, offsets: Mapping[TopicPartition, int]) -> None: ...

    @abstractmethod
    def committed(self, partition: TopicPartition) -> int | None: ...

    def nudge(self) -> None:
        """Helps a client over a bug of its own; does nothing for the others."""

    def take(self, count: int, seconds: float = 60) -> list[Message]:
        """Exactly ``count`` messages, or fails saying what came."""
        taken: list[Message] = []
        deadline = time.monotonic() + seconds
        while len(taken) < count and time.monotonic() < deadline:
            taken += self.poll(0.2)
        assert len(taken) == count, f"{count} messages expected, {len(taken)} came: {taken[:5]}"
        return taken

    def is_quiet(self, seconds: float = 0.7) -> bool:
        """True if nothing comes for a while."""
        return not self.poll(seconds)


class Admin(Closing):
    @abstractmethod
    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None: ...

    @abstractmethod
    def delete_topic(self, name: str) -> None: ...

    @abstractmethod
    def add_partitions(self, name: str, total: int) -> None: ...

    @abstractmethod
    def topics(self) -> dict[str, int]:
        """Every topic with its number of partitions."""

    @abstractmethod
    def topic_configs(self, name: str) -> dict[str, str | None]: ...

    @abstractmethod
    def set_topic_config(self, name: str, key: str, value: str) -> None: ...

    @abstractmethod
    def delete_records(self, partition: TopicPartition, before: int) -> None: ...

    @abstractmethod
    def groups(self) -> set[str]: ...

    @abstractmethod
    def group(self, name: str) -> tuple[str, int]:
        """The state (lower case, no separators: stable, empty, dead …) and the number of members."""


class Client(ABC):
    name: str

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    @abstractmethod
    def producer(
        self,
        *,
        codec: str = "none",
        acks: str = "all",
        transactional_id: str | None = None,
        transaction_seconds: float = 60,
    ) -> Producer:
        """A producer; with a transactional id its transactions are already initialised."""

    @abstractmethod
    def consumer(
        self,
        group: str | None = None,
        *,
        committed_only: bool = False,
        start: str = "earliest",
        cooperative: bool = False,
        instance_id: str | None = None,
    ) -> Consumer: ...

    @abstractmethod
    def admin(self) -> Admin: ...

    def close(self) -> None:  # noqa: B027 - most clients share nothing
        """Ends what all producers and consumers of this client share."""


def eventually(check: Callable[[], bool], seconds: float = 60, every: float = 0.1) -> bool:
    """Waits, with a limit, for what must come true: metadata spreads and groups settle with a delay on any cluster."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(every)
    return check()


def spelled(state: object) -> str:
    """A group state without the clients' differences in spelling (PREPARING_REBALANCE, PreparingRebalance …)."""
    return str(state).rsplit(".", 1)[-1].replace("_", "").replace(" ", "").lower()
