"""Changelogs as the runtime writes them: topologies run in process, and what their stores log is produced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Producer

from caudal.plan.naming import changelog_topic
from caudal.plan.topology import Topology
from caudal.testing import EmbeddedBroker, TopologyTestDriver
from caudal.views.index import ViewIndex


@contextmanager
def records_taken() -> Iterator[list[int]]:
    """How many records the views take over meanwhile, write by write."""
    taken: list[int] = []
    before = ViewIndex.apply

    def apply(self: ViewIndex, records: Any, offsets: Any) -> None:
        taken.append(sum(map(len, records.values())))
        before(self, records, offsets)

    ViewIndex.apply = apply  # type: ignore[method-assign]
    try:
        yield taken
    finally:
        ViewIndex.apply = before  # type: ignore[method-assign]


class Tasks:
    """One task per partition; `commit` writes what they changed since, in one transaction, as a task does."""

    def __init__(self, broker: EmbeddedBroker, topology: Topology, partitions: int) -> None:
        self.topology = topology
        self.drivers = [TopologyTestDriver(topology) for _ in range(partitions)]
        for name in topology.internal_topics:
            if name.endswith("-changelog"):
                broker.create_topic(name, partitions, cleanup_policy="compact")
        self._producer: Any = Producer(
            {"bootstrap.servers": broker.bootstrap, "transactional.id": f"{topology.application_id}-tests"}
        )
        self._producer.init_transactions(20)

    def produce(self) -> int:
        """The records of a transaction that is still open."""
        count = 0
        self._producer.begin_transaction()
        for partition, driver in enumerate(self.drivers):
            for state in driver._states:
                for name, key, value, timestamp in state.changes():
                    topic = changelog_topic(self.topology.application_id, name)
                    self._producer.produce(topic, value, key, partition, timestamp=timestamp)
                    count += 1
                state.commit({})
        assert self._producer.flush(20) == 0
        return count

    def commit(self) -> int:
        count = self.produce()
        self.end(commit=True)
        return count

    def end(self, commit: bool) -> None:
        if commit:
            self._producer.commit_transaction(20)
        else:
            self._producer.abort_transaction(20)

    def close(self) -> None:
        for driver in self.drivers:
            driver.close()


@contextmanager
def tasks(broker: EmbeddedBroker, builder: Any, partitions: int = 1) -> Iterator[Tasks]:
    made = Tasks(broker, builder.build(), partitions)
    try:
        yield made
    finally:
        made.close()
