"""`kill -9` under load, at random moments: what was acknowledged is there afterwards, in order, once, all or nothing.

The clients and their books are in workload.py, what must be true in verify.py. A run prints its seed; the moments of
the kills and the clients' choices come from it: `CAUDAL_CHAOS_SEED=123 pytest tests/chaos/test_kill.py`.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from .process import BrokerProcess
from .verify import (
    batches_of,
    check_files,
    check_plain,
    check_processed,
    check_table,
    check_transactions,
    read_topic,
)
from .workload import PARTITIONS, Committer, PlainProducer, Processor, TableProducer, TransactionalProducer, Worker

pytestmark = pytest.mark.chaos

# Small segments and a restless cleaner, so that rolls, snapshots, recovery points and compaction meet the kills.
PROPERTIES = {
    "log.segment.bytes": str(1 << 20),
    "log.flush.offset.checkpoint.interval.ms": "500",
    "log.cleaner.backoff.ms": "200",
}
TOPICS = ("plain", "orders", "txn", "sink", "table")
CONFIGS = {"table": {"cleanup.policy": "compact", "segment.ms": "300", "min.cleanable.dirty.ratio": "0.01"}}


@pytest.mark.timeout(360)
def test_kills_in_the_suite(tmp_path: Path) -> None:
    play(tmp_path, kills=4)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_kills(tmp_path: Path) -> None:
    play(tmp_path, kills=20)


def play(folder: Path, kills: int) -> None:
    seed = int(os.environ.get("CAUDAL_CHAOS_SEED") or random.randrange(1 << 32))
    print(f"CAUDAL_CHAOS_SEED={seed}")
    started = time.monotonic()
    dice = random.Random(seed)
    broker = BrokerProcess(folder / "data", PROPERTIES)
    broker.start()
    workers: list[Worker] = []
    try:
        workers = begin(broker.bootstrap, seed)
        observer = Observer(broker.bootstrap, workers)
        for number in range(kills):
            wait_for_progress(workers)
            time.sleep(dice.uniform(0.0, 0.8))
            broker.kill()
            observer.forget_connection()
            if dice.random() < 0.3:  # and again while it starts or recovers
                broker.spawn()
                time.sleep(dice.uniform(0.0, 0.7))
                broker.kill()
            time.sleep(dice.choice((0.0, 0.3)))
            broker.start()
            observer.look()
            progress = ", ".join(f"{worker.name} {worker.progress}" for worker in workers)
            print(f"kill {number + 1} at {time.monotonic() - started:.1f} s: {progress}")
        wait_for_progress(workers)
        end(workers)
        print(f"clients ended at {time.monotonic() - started:.1f} s")
        observer.look()
        verify(broker.bootstrap, workers, observer)
        assert broker.stop() == 0
        assert check_files(broker.data, compacted={"table"}) > 0
        table = next(worker for worker in workers if isinstance(worker, TableProducer))
        kept = sum(header.record_count for header in batches_of(broker.data, "table"))
        assert kept < table.sent, "nothing was compacted: the kills did not meet the cleaner"
        unexpected = [line for line in broker.said().splitlines() if "Traceback" in line or "ERROR" in line]
        assert not unexpected, "\n".join(unexpected)
    finally:
        for worker in workers:  # those of a test that failed; nobody waits for them
            worker.stopping.set()
        broker.close()


def begin(bootstrap: str, seed: int) -> list[Worker]:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    new_topics = [NewTopic(topic, PARTITIONS, 1, config=CONFIGS.get(topic, {})) for topic in TOPICS]
    for made in admin.create_topics(new_topics).values():
        made.result()
    workers: list[Worker] = [
        PlainProducer("rides", bootstrap, seed, "plain", rides=True, idempotent=False),
        PlainProducer("gives-up", bootstrap, seed, "plain", rides=False, idempotent=False),
        PlainProducer("idempotent", bootstrap, seed, "orders", rides=True, idempotent=True),
        TableProducer("table", bootstrap, seed, "table"),
        TransactionalProducer("txn-a", bootstrap, seed, "txn"),
        TransactionalProducer("txn-b", bootstrap, seed, "txn"),
        Processor("processor", bootstrap, seed, "orders", "sink", "processors"),
        Committer("committer", bootstrap, seed, "orders", "committers"),
    ]
    for worker in workers:
        worker.thread.start()
    return workers


def wait_for_progress(workers: list[Worker]) -> None:
    """Until every client has been promised something new: then a kill has something to destroy."""
    before = [worker.progress for worker in workers]
    deadline = time.monotonic() + 60
    while any(worker.progress <= old for worker, old in zip(workers, before, strict=True)):
        raise_failures(workers)
        stuck = [worker.name for worker, old in zip(workers, before, strict=True) if worker.progress <= old]
        assert time.monotonic() < deadline, (
            f"{stuck} made no progress: {[(w.name, w.doing, w.errors) for w in workers]}"
        )
        time.sleep(0.02)


def end(workers: list[Worker]) -> None:
    for worker in workers:
        worker.stopping.set()
    for worker in workers:
        worker.thread.join(90)
        assert not worker.thread.is_alive(), f"{worker.name} hangs: {worker.errors}"
    raise_failures(workers)


def raise_failures(workers: list[Worker]) -> None:
    failures = [worker.failure for worker in workers if worker.failure]
    assert not failures, "\n".join(failures)


def verify(bootstrap: str, workers: list[Worker], observer: Observer) -> None:
    plain, orders = read_topic(bootstrap, "plain"), read_topic(bootstrap, "orders")
    transactions, table = read_topic(bootstrap, "txn", committed=True), read_topic(bootstrap, "table")
    for worker in workers:
        if isinstance(worker, TableProducer):
            check_table(worker, table)
        elif isinstance(worker, PlainProducer):
            check_plain(worker, orders if worker.idempotent else plain)
        elif isinstance(worker, TransactionalProducer):
            check_transactions(worker, transactions)
    assert [record.offset for record in orders if record.partition == 0] == list(
        range(sum(record.partition == 0 for record in orders))
    ), "the offsets of a topic without transactions have gaps"
    check_processed(read_topic(bootstrap, "sink", committed=True), observer.processed)


class Observer:
    """Reads the committed offsets of both groups now and then: they may only grow."""

    def __init__(self, bootstrap: str, workers: list[Worker]) -> None:
        self.bootstrap = bootstrap
        self.committer = next(worker for worker in workers if isinstance(worker, Committer))
        self.processed = dict.fromkeys(range(PARTITIONS), 0)
        self.committed = 0
        self._consumers: dict[str, Consumer] = {}

    def look(self) -> None:
        promised = self.committer.acknowledged
        found = self._offsets("committers", [0])[0]
        assert max(promised, self.committed) <= found <= self.committer.attempted, (
            f"offset {promised} was acknowledged and {self.committed} seen before, now it is {found}"
        )
        self.committed = found
        for partition, offset in self._offsets("processors", list(range(PARTITIONS))).items():
            before = self.processed[partition]
            assert offset >= before, f"the group's offset of partition {partition} went back: {before} → {offset}"
            self.processed[partition] = offset

    def forget_connection(self) -> None:
        """A new client after a restart, so that the answer is the broker's and no delay of the old client's."""
        for consumer in self._consumers.values():
            consumer.close()
        self._consumers = {}

    def _offsets(self, group: str, partitions: list[int]) -> dict[int, int]:
        consumer = self._consumers.get(group)
        if consumer is None:
            consumer = self._consumers[group] = Consumer(
                {
                    "bootstrap.servers": self.bootstrap,
                    "group.id": group,
                    "isolation.level": "read_committed",
                    "log_level": 0,
                }
            )
        answers = consumer.committed([TopicPartition("orders", partition) for partition in partitions], 30)
        assert all(answer.error is None for answer in answers), answers
        return {answer.partition: max(answer.offset, 0) for answer in answers}
