"""One broker for all tests of this folder, on the Spark session that all tests share; applications and topics of their
own for each test."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition

from caudal.testing import EmbeddedBroker, embedded_broker

pytest.importorskip("pyspark")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="session")
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker(
        transaction_abort_timed_out_transaction_cleanup_interval_ms=500,
        group_min_session_timeout_ms=1000,
        log_retention_check_interval_ms=10_000,  # what it takes away must be gone in every run, not in one of ten
    ) as started:
        yield started


_numbers = itertools.count(1)


@pytest.fixture
def unique() -> Callable[[str], str]:
    """A name that no other test uses."""
    number = f"{os.getpid():x}-{next(_numbers)}"
    return lambda name: f"{name}-{number}"


@pytest.fixture
def kafka(broker: EmbeddedBroker) -> Kafka:
    return Kafka(broker)


class Kafka:
    """What tests do with topics."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.bootstrap = broker.bootstrap
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "partitioner": "murmur2"})

    def create(self, *names: str, partitions: int = 2, **configs: Any) -> None:
        for name in names:
            self.broker.create_topic(name, partitions, **configs)

    def send(self, topic: str, *records: tuple[str | bytes | None, Any], partition: int = -1) -> None:
        """(key, value) pairs; values as text or bytes."""
        for key, value in records:
            self._producer.produce(topic, value, key, partition)
        assert self._producer.flush(30) == 0

    def read(
        self, topic: str, count: int | None = None, seconds: float = 60, isolation: str = "read_committed"
    ) -> list[Any]:
        """All records up to the present end, or as soon as `count` are there."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "tests",
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 10,
            }
        )
        try:
            metadata = consumer.list_topics(topic, 10).topics[topic]
            places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in metadata.partitions]
            consumer.assign(places)
            found: list[Any] = []
            ended: set[int] = set()
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                message = consumer.poll(0.1)
                if message is None:
                    continue
                if message.error() is None:
                    found.append(message)
                    if count is not None and len(found) >= count:
                        return found
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                    if count is None and len(ended) == len(places):
                        return found
            if count is None:
                return found
            raise AssertionError(f"only {len(found)} of {count} records in {topic}: {[m.value() for m in found][-5:]}")
        finally:
            consumer.close()

    def table(self, topic: str) -> dict[str, int]:
        """The last value per key, of a topic with text keys and Long values."""
        return {message.key().decode(): number(message.value()) for message in self.read(topic)}

    def until(self, question: Callable[[], Any], wanted: Any, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while (answer := question()) != wanted:
            assert time.monotonic() < deadline, f"{answer!r} is not {wanted!r}"
            time.sleep(0.2)


def number(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


@pytest.fixture
def start(spark: Any, broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Starts applications on the shared session and stops them after the test."""
    running: list[Any] = []

    def start_one(builder: Any, **settings: Any) -> Any:
        from caudal.streams.application import Application

        given = {"bootstrap": broker.bootstrap, "threads": 2, "state_dir": str(tmp_path / "state"), **settings}
        wait = given.pop("wait", True)
        application = Application(builder, **given)
        running.append(application)
        return application.start(wait)

    yield start_one
    for application in running:
        application.stop()
