"""Transactions: all or nothing for readers of committed records, fencing, and offsets that move with the output."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from .clients import Client, Outgoing, Refused, eventually

# INVALID_PRODUCER_EPOCH, PRODUCER_FENCED, librdkafka's own _FENCED, and aiokafka's ProducerFenced, which has no code
FENCED = (47, 90, -144, -1)


def values(client: Client, topic: str, count: int, *, committed_only: bool = True) -> list[bytes | None]:
    with client.consumer(committed_only=committed_only) as consumer:
        consumer.assign([(topic, 0)])
        taken = [message.value for message in consumer.take(count)]
        assert consumer.is_quiet()
        return taken


def test_committed_records_are_seen_and_aborted_ones_are_not(
    client: Client, other: Client, topic: str, unique: Callable[[str], str]
) -> None:
    with client.producer(transactional_id=unique("tx")) as producer:
        producer.begin()
        producer.send([Outgoing(topic, b"one"), Outgoing(topic, b"two")])
        producer.commit()
        producer.begin()
        producer.send([Outgoing(topic, b"never")])
        producer.abort()
        producer.begin()
        producer.send([Outgoing(topic, b"three")])
        producer.commit()
    for reader in (client, other):
        assert values(reader, topic, 3) == [b"one", b"two", b"three"]
        assert values(reader, topic, 4, committed_only=False) == [b"one", b"two", b"never", b"three"]


def test_an_open_transaction_holds_back_readers_of_committed_records(
    client: Client, topic: str, unique: Callable[[str], str]
) -> None:
    with client.producer(transactional_id=unique("tx")) as producer, client.producer() as plain:
        producer.begin()
        producer.send([Outgoing(topic, b"open")])
        plain.send([Outgoing(topic, b"after")])
        with client.consumer(committed_only=True) as consumer:
            consumer.assign([(topic, 0)])
            assert consumer.is_quiet(1.5)
            producer.commit()
            assert [message.value for message in consumer.take(2)] == [b"open", b"after"]


def test_a_transaction_spans_topics(client: Client, unique: Callable[[str], str]) -> None:
    names = [unique("span"), unique("span")]
    with client.admin() as admin:
        for name in names:
            admin.create_topic(name)
    with client.producer(codec="zstd", transactional_id=unique("tx")) as producer:
        for value in (b"kept", b"dropped"):
            producer.begin()
            producer.send(Outgoing(name, value) for name in names)
            producer.commit() if value == b"kept" else producer.abort()
    for name in names:
        assert values(client, name, 1) == [b"kept"]


def test_a_second_producer_with_the_same_id_fences_the_first(
    client: Client, topic: str, unique: Callable[[str], str]
) -> None:
    identity = unique("tx")
    zombie = client.producer(transactional_id=identity)
    try:
        zombie.begin()
        zombie.send([Outgoing(topic, b"zombie")])
        with client.producer(transactional_id=identity) as successor:
            successor.begin()
            successor.send([Outgoing(topic, b"successor")])
            successor.commit()
            with pytest.raises(Refused) as refusal:
                zombie.commit()
            if client.name != "confluent-kafka":  # librdkafka wraps it into its own _FENCED
                assert refusal.value.code in FENCED
    finally:
        zombie.close()
    assert values(client, topic, 1) == [b"successor"]


def test_a_transaction_that_takes_too_long_is_aborted_by_the_broker(
    client: Client, topic: str, unique: Callable[[str], str]
) -> None:
    with client.producer(transactional_id=unique("tx"), transaction_seconds=2) as producer, client.producer() as plain:
        producer.begin()
        producer.send([Outgoing(topic, b"too slow")])
        plain.send([Outgoing(topic, b"patient")])
        began = time.monotonic()
        with client.consumer(committed_only=True) as consumer:
            consumer.assign([(topic, 0)])
            assert [message.value for message in consumer.take(1, seconds=30)] == [b"patient"]
        assert time.monotonic() - began > 1
        with pytest.raises(Refused):
            producer.commit()


def test_offsets_move_with_the_output_or_not_at_all(client: Client, topic: str, unique: Callable[[str], str]) -> None:
    """Read, process, write: the loop of every exactly-once application."""
    group, target = unique("group"), unique("target")
    with client.admin() as admin:
        admin.create_topic(target)
    with client.producer() as feeder:
        feeder.send(Outgoing(topic, str(number).encode()) for number in range(10))
    with (
        client.consumer(group, committed_only=True) as consumer,
        client.producer(transactional_id=unique("tx")) as producer,
    ):
        consumer.subscribe([topic])
        batch = consumer.take(10)
        producer.begin()
        producer.send(Outgoing(target, b"dropped " + (message.value or b"")) for message in batch)
        producer.send_offsets({(topic, 0): 10}, consumer)
        producer.abort()
        assert consumer.committed((topic, 0)) is None
        producer.begin()
        producer.send(Outgoing(target, b"kept " + (message.value or b"")) for message in batch)
        producer.send_offsets({(topic, 0): 10}, consumer)
        producer.commit()
        assert eventually(lambda: consumer.committed((topic, 0)) == 10)
    assert values(client, target, 10) == [f"kept {number}".encode() for number in range(10)]


def test_many_small_transactions_in_a_row(client: Client, topic: str, unique: Callable[[str], str]) -> None:
    with client.producer(transactional_id=unique("tx")) as producer:
        for number in range(30):
            producer.begin()
            producer.send([Outgoing(topic, str(number).encode())])
            producer.abort() if number % 3 == 0 else producer.commit()
    assert values(client, topic, 20) == [str(number).encode() for number in range(30) if number % 3]


def test_a_new_producer_of_the_same_id_finishes_what_its_forerunner_left_open(
    client: Client, topic: str, unique: Callable[[str], str]
) -> None:
    identity = unique("tx")
    forerunner = client.producer(transactional_id=identity)
    forerunner.begin()
    forerunner.send([Outgoing(topic, b"left open")])
    with client.producer(transactional_id=identity) as producer:
        producer.begin()
        producer.send([Outgoing(topic, b"done")])
        producer.commit()
    assert values(client, topic, 1) == [b"done"]
    forerunner.close()
