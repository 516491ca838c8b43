"""Topics and records for the browser tests, through plain clients; and a page that has come to rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Page

_numbers = itertools.count(1)


def fresh(name: str) -> str:
    """A name that no other test uses."""
    return f"{name}-{next(_numbers)}"


def make_topic(bootstrap: str, name: str, partitions: int = 1, **configs: str) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    for future in admin.create_topics([NewTopic(name, partitions, 1, config=settings)]).values():
        future.result(10)
    return name


def write(bootstrap: str, topic: str, records: Iterable[Mapping[str, Any]]) -> None:
    """Records as the arguments of `produce`; all are acknowledged when this returns."""
    failures: list[Any] = []

    def delivered(error: Any, message: Any) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 10})
    for record in records:
        while True:
            try:
                producer.produce(topic, on_delivery=delivered, **record)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush(60)
    assert not failures


def read_all(bootstrap: str, topic: str, count: int, partitions: int = 1) -> list[Any]:
    """The first `count` messages."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test-reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, one, 0) for one in range(partitions)])
    found: list[Any] = []
    while len(found) < count:
        batch = consumer.consume(count - len(found), 10)
        assert batch, f"{topic} has only {len(found)} messages"
        found += batch
    consumer.close()
    return found


def settled(page: Page) -> None:
    """Returns when nothing moves any more: colours of what fades in are not those that people see."""
    page.wait_for_function(
        "() => document.getAnimations().every("
        "one => one.playState !== 'running' || one.effect.getTiming().iterations === Infinity)"
    )
