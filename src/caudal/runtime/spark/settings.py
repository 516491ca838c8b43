"""What an application runs with, and what a worker must know about it: plain data, sent to the workers with the plan.

Times are milliseconds. Kafka clients are configured here and nowhere else: librdkafka's for tasks and keeper, Java's
for Spark's own source.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from caudal.plan.topology import SubTopology, Topology
from caudal.runtime.errors import Handlers, StreamsError
from caudal.runtime.spark.deadline import Deadline
from caudal.runtime.stores.engines import DEFAULT_ENGINE


class Guarantee(Enum):
    EXACTLY_ONCE = "exactly_once"
    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class Mode(Enum):
    MICRO_BATCH = "micro-batch"
    REAL_TIME = "real-time"  # milliseconds instead of throughput: see real_time.py


# How long a transaction stays open. In micro-batch mode only a batch that takes longer is committed in parts.
COMMIT_INTERVAL = {Mode.MICRO_BATCH: 5_000, Mode.REAL_TIME: 100}


def default_state_dir() -> str:
    return str(Path(tempfile.gettempdir()) / "caudal-streams")


@dataclass(frozen=True, slots=True)
class Settings:
    """Of one application."""

    bootstrap: str = "localhost:9092"
    guarantee: Guarantee = Guarantee.EXACTLY_ONCE
    mode: Mode = Mode.MICRO_BATCH
    state_dir: str = field(default_factory=default_state_dir)
    engine: str = DEFAULT_ENGINE
    handlers: Handlers = field(default_factory=Handlers)
    deadline: Deadline | None = None
    client: tuple[tuple[str, str], ...] = ()  # librdkafka properties of every client, such as security.protocol
    replication_factor: int = -1  # of internal topics; -1: the broker's default
    session_timeout: int = 10_000  # how long a dead instance keeps a standby waiting
    transaction_timeout: int = 60_000
    commit_interval: int = 0  # 0: as COMMIT_INTERVAL has it for the mode
    max_records_per_batch: int = 500_000

    def __post_init__(self) -> None:
        if self.max_records_per_batch < 1:
            raise StreamsError("max_records_per_batch must be at least 1.")
        if self.commit_interval == 0:
            object.__setattr__(self, "commit_interval", COMMIT_INTERVAL[self.mode])
        elif self.commit_interval < 0:
            raise StreamsError("commit_interval must be at least 1 ms.")

    @property
    def exactly_once(self) -> bool:
        return self.guarantee is Guarantee.EXACTLY_ONCE

    @property
    def isolation_level(self) -> str:
        """As in Kafka Streams: only exactly once waits for other producers' transactions."""
        return "read_committed" if self.exactly_once else "read_uncommitted"

    def librdkafka(self, **settings: Any) -> dict[str, Any]:
        """The configuration of a confluent-kafka client: `group_id` becomes group.id."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        fixed = {
            "bootstrap.servers": self.bootstrap,
            "log_level": 2,
            # With the default (rebootstrap), send_offsets_to_transaction never returns after all brokers were away
            # (librdkafka 2.16): it waits for a broker object that the new bootstrap has thrown away.
            "metadata.recovery.strategy": "none",
        }
        return {**fixed, **named, **dict(self.client)}

    def java(self) -> dict[str, str]:
        """The same connection for a Java client."""
        return java_client(self.bootstrap, dict(self.client))


def java_client(bootstrap: str, client: Mapping[str, Any]) -> dict[str, str]:
    """A connection for a Java client, as far as librdkafka's names can be translated."""
    given = dict(client)
    result = {"bootstrap.servers": bootstrap}
    if "security.protocol" in given:
        result["security.protocol"] = given["security.protocol"].upper()
    mechanism = given.get("sasl.mechanism", given.get("sasl.mechanisms"))
    if mechanism is not None:
        result["sasl.mechanism"] = mechanism
    if "sasl.username" in given:
        module = "scram.ScramLoginModule" if (mechanism or "").startswith("SCRAM") else "plain.PlainLoginModule"
        quoted = (_quoted(given["sasl.username"]), _quoted(given.get("sasl.password", "")))
        result["sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.{module} required username={quoted[0]} password={quoted[1]};"
        )
    if "ssl.ca.location" in given:
        result["ssl.truststore.type"] = "PEM"
        result["ssl.truststore.location"] = given["ssl.ca.location"]
    if given.get("ssl.endpoint.identification.algorithm") == "none":
        result["ssl.endpoint.identification.algorithm"] = ""
    return result


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def keeper_topic(application_id: str) -> str:
    """One partition: whose keeper holds it runs the application. Its records are ticks."""
    return f"{application_id}-keeper"


def task_name(sub: int, partition: int) -> str:
    """As Kafka Streams names tasks."""
    return f"{sub}_{partition}"


def transactional_id(application_id: str, sub: int, partition: int) -> str:
    return f"{application_id}-{sub}-{partition}"


@dataclass(frozen=True, slots=True)
class Cargo:
    """What the workers get of one application: the plan, and what the driver found out about the cluster."""

    topology: Topology
    settings: Settings
    partitions: Mapping[str, int]  # topic → number of partitions; topics that a function names are missing
    compacted: frozenset[str]  # source topics whose offsets have holes

    @property
    def application_id(self) -> str:
        return self.topology.application_id

    def sub(self, number: int) -> SubTopology:
        return next(sub for sub in self.topology.subtopologies if sub.id == number)

    def topics_of(self, sub: SubTopology, partition: int) -> tuple[str, ...]:
        """The source topics that have this partition."""
        return tuple(topic for topic in sub.source_topics if partition < self.partitions[topic])

    def tasks(self) -> list[tuple[int, int]]:
        """(sub-topology, partition) of every task."""
        return [
            (sub.id, partition)
            for sub in self.topology.subtopologies
            for partition in range(max(self.partitions[topic] for topic in sub.source_topics))
        ]
