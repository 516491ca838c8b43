"""The bytes with which workers talk in their group: Kafka Connect's formats for metadata and assignments.

Protocol type `connect`. `sessioned` (version 2) and `compatible` (version 1) have one layout and differ in the version
number; under `sessioned` requests between workers are signed. The old `default` protocol, which stops the world, is
left out: a worker that speaks nothing else cannot join ours.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from caudal.connect.runtime.model import TaskId

PROTOCOL_TYPE = "connect"
SESSIONED = "sessioned"
COMPATIBLE = "compatible"
VERSIONS: Mapping[str, int] = {SESSIONED: 2, COMPATIBLE: 1}  # in order of preference

NO_ERROR = 0
CONFIG_MISMATCH = 1  # the leader had not read the newest configurations: nothing is assigned, join again

CONNECTOR_ITSELF = -1  # in a list of task numbers


@dataclass(frozen=True, slots=True)
class Load:
    """Connectors (their instances) and tasks."""

    connectors: frozenset[str] = frozenset()
    tasks: frozenset[TaskId] = frozenset()

    def __sub__(self, other: Load) -> Load:
        return Load(self.connectors - other.connectors, self.tasks - other.tasks)

    def __or__(self, other: Load) -> Load:
        return Load(self.connectors | other.connectors, self.tasks | other.tasks)

    def __and__(self, other: Load) -> Load:
        return Load(self.connectors & other.connectors, self.tasks & other.tasks)

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)

    def __len__(self) -> int:
        return len(self.connectors) + len(self.tasks)


NOTHING = Load()


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the leader tells a worker: what comes, what goes, and after how long it will assign what was lost."""

    leader: str
    leader_url: str
    config_offset: int
    assigned: Load = NOTHING
    revoked: Load = NOTHING
    delay_ms: int = 0
    error: int = NO_ERROR


@dataclass(frozen=True, slots=True)
class WorkerMetadata:
    """What a worker tells the leader: where it is, how far it has read, and what it has."""

    url: str
    config_offset: int
    assignment: Assignment | None = None

    @property
    def load(self) -> Load:
        return self.assignment.assigned if self.assignment is not None else NOTHING


class MalformedMessage(Exception):
    """Bytes that are not of this protocol."""


def encode_metadata(worker: WorkerMetadata, version: int) -> bytes:
    allocation = None if worker.assignment is None else encode_assignment(worker.assignment, version)
    head = struct.pack(">h", version) + _text(worker.url) + struct.pack(">q", worker.config_offset)
    if allocation is None:
        return head + struct.pack(">i", -1)
    return head + struct.pack(">i", len(allocation)) + allocation


def decode_metadata(data: bytes) -> WorkerMetadata:
    read = _Reading(data)
    read.version()
    url, offset = read.text(), read.number(">q")
    length = read.number(">i") if read.left() else -1
    allocation = read.bytes(length) if length > 0 else b""
    return WorkerMetadata(url, offset, decode_assignment(allocation) if allocation else None)


def encode_assignment(assignment: Assignment, version: int) -> bytes:
    return b"".join(
        (
            struct.pack(">hh", version, assignment.error),
            _text(assignment.leader),
            _text(assignment.leader_url),
            struct.pack(">q", assignment.config_offset),
            _load(assignment.assigned),
            _load(assignment.revoked),
            struct.pack(">i", assignment.delay_ms),
        )
    )


def decode_assignment(data: bytes) -> Assignment:
    read = _Reading(data)
    read.version()
    error, leader, leader_url = read.number(">h"), read.text(), read.text()
    offset = read.number(">q")
    assigned = read.load() if read.left() else NOTHING
    revoked = read.load() if read.left() else NOTHING
    delay = read.number(">i") if read.left() else 0
    return Assignment(leader, leader_url, offset, assigned, revoked, delay, error)


def by_connector(load: Load) -> dict[str, list[int]]:
    """Task numbers by connector, the connector itself first: how the protocol writes it."""
    numbers: dict[str, list[int]] = {}
    for name in load.connectors:
        numbers.setdefault(name, []).append(CONNECTOR_ITSELF)
    for name, task in load.tasks:
        numbers.setdefault(name, []).append(task)
    return {name: sorted(numbers[name]) for name in sorted(numbers)}


def _load(load: Load) -> bytes:
    entries = by_connector(load)
    parts = [struct.pack(">i", len(entries))]
    for name, numbers in entries.items():
        parts += [_text(name), struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
    return b"".join(parts)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


@dataclass(slots=True)
class _Reading:
    data: bytes
    at: int = field(default=0)

    def left(self) -> int:
        return len(self.data) - self.at

    def bytes(self, length: int) -> bytes:
        if length < 0 or length > self.left():
            raise MalformedMessage(f"{length} bytes are announced where {self.left()} are left")
        self.at += length
        return self.data[self.at - length : self.at]

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.bytes(struct.calcsize(form)))[0])

    def text(self) -> str:
        return self.bytes(self.number(">h")).decode()

    def version(self) -> None:
        # A higher version may have more behind what we know; that is Kafka Connect's rule, too.
        if (version := self.number(">h")) < 1:
            raise MalformedMessage(f"version {version} of the worker protocol is not spoken here")

    def load(self) -> Load:
        connectors: list[str] = []
        tasks: list[TaskId] = []
        for _ in range(max(0, self.number(">i"))):
            name = self.text()
            for _ in range(max(0, self.number(">i"))):
                number = self.number(">i")
                if number == CONNECTOR_ITSELF:
                    connectors.append(name)
                else:
                    tasks.append(TaskId(name, number))
        return load(connectors, tasks)


def load(connectors: Iterable[str] = (), tasks: Iterable[TaskId] = ()) -> Load:
    return Load(frozenset(connectors), frozenset(tasks))
