"""What is produced comes back: every codec, keys, headers, null values, timestamps, sizes and partitions, in order."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from .clients import CODECS, Client, Outgoing, Refused

NOW = int(time.time() * 1000)


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_brings_back_key_value_headers_and_timestamp(client: Client, topic: str, codec: str) -> None:
    sent = [
        Outgoing(
            topic,
            value=f"value {number} ".encode() * 20,
            key=f"key {number}".encode(),
            headers=(("trace", bytes([number])), ("trace", b"again"), ("empty", b"")),
            timestamp=NOW - 1000 + number,
        )
        for number in range(100)
    ]
    with client.producer(codec=codec) as producer:
        assert producer.send(sent) == [(0, number) for number in range(100)]
    with client.consumer() as consumer:
        consumer.assign([(topic, 0)])
        received = consumer.take(100)
    assert [message.offset for message in received] == list(range(100))
    for outgoing, message in zip(sent, received, strict=True):
        assert (message.key, message.value, message.headers) == (outgoing.key, outgoing.value, outgoing.headers)
        assert message.timestamp == outgoing.timestamp


@pytest.mark.parametrize("codec", CODECS)
def test_what_one_client_compresses_another_reads(client: Client, other: Client, topic: str, codec: str) -> None:
    values = [f"{codec} {number} ".encode() * 50 for number in range(50)]
    with client.producer(codec=codec) as producer:
        producer.send(Outgoing(topic, value) for value in values)
    with other.producer(codec=codec) as producer:
        producer.send(Outgoing(topic, value) for value in values)
    for reader in (client, other):
        with reader.consumer() as consumer:
            consumer.assign([(topic, 0)])
            assert [message.value for message in consumer.take(100)] == values + values


def test_null_and_empty_are_different(client: Client, topic: str) -> None:
    with client.producer() as producer:
        producer.send(
            [
                Outgoing(topic, value=None, key=b"tombstone"),
                Outgoing(topic, value=b"", key=b""),
                Outgoing(topic, value=b"no key", key=None),
            ]
        )
    with client.consumer() as consumer:
        consumer.assign([(topic, 0)])
        received = consumer.take(3)
    assert [(message.key, message.value) for message in received] == [
        (b"tombstone", None),
        (b"", b""),
        (None, b"no key"),
    ]


def test_a_header_without_a_value_comes_back_so(client: Client, other: Client, topic: str) -> None:
    with (
        other if client.name == "kafka-python" else client
    ).producer() as producer:  # kafka-python reads but never writes one
        producer.send([Outgoing(topic, value=b"x", headers=(("nothing", None), ("empty", b"")))])
    with client.consumer() as consumer:
        consumer.assign([(topic, 0)])
        assert consumer.take(1)[0].headers == (("nothing", None), ("empty", b""))


@pytest.mark.parametrize("acks", ["1", "all"])
def test_acknowledged_records_have_their_offsets(client: Client, topic: str, acks: str) -> None:
    with client.producer(acks=acks) as producer:
        assert producer.send([Outgoing(topic, b"first")]) == [(0, 0)]
        assert producer.send([Outgoing(topic, b"second"), Outgoing(topic, b"third")]) == [(0, 1), (0, 2)]


def test_without_acknowledgement_the_record_still_arrives(client: Client, topic: str) -> None:
    with client.producer(acks="0") as producer:
        producer.send([Outgoing(topic, b"unconfirmed")])
    with client.consumer() as consumer:
        consumer.assign([(topic, 0)])
        assert consumer.take(1)[0].value == b"unconfirmed"


def test_each_partition_keeps_its_order(client: Client, unique: Callable[[str], str]) -> None:
    name = unique("ordered")
    with client.admin() as admin:
        admin.create_topic(name, partitions=3)
    with client.producer(codec="lz4") as producer:
        producer.send(Outgoing(name, str(number).encode(), partition=number % 3) for number in range(3000))
    with client.consumer() as consumer:
        consumer.assign([(name, partition) for partition in range(3)])
        received = consumer.take(3000)
    for partition in range(3):
        numbers = [int(message.value or b"") for message in received if message.partition == partition]
        assert numbers == list(range(partition, 3000, 3))


def test_a_record_above_the_limit_is_refused_and_one_below_is_not(client: Client, unique: Callable[[str], str]) -> None:
    name = unique("small")
    with client.admin() as admin:
        admin.create_topic(name, configs={"max.message.bytes": "2000"})
    with client.producer() as producer:
        producer.send([Outgoing(name, b"x" * 1500)])
        with pytest.raises(Refused) as refusal:
            producer.send([Outgoing(name, b"x" * 5000)])
        assert refusal.value.code == 10  # MESSAGE_TOO_LARGE


def test_records_close_to_one_mebibyte_pass(client: Client, topic: str) -> None:
    big = bytes(range(256)) * 3900  # 998,400 bytes: under the default limit of the clients and of the broker
    with client.producer() as producer:
        producer.send([Outgoing(topic, big), Outgoing(topic, big)])
    with client.consumer() as consumer:
        consumer.assign([(topic, 0)])
        assert [message.value == big for message in consumer.take(2)] == [True, True]


def test_a_topic_is_created_by_the_first_record(client: Client, unique: Callable[[str], str]) -> None:
    name = unique("auto")
    with client.producer() as producer:
        producer.send([Outgoing(name, b"hello")])
    with client.consumer() as consumer:
        consumer.assign([(name, 0)])
        assert consumer.take(1)[0].value == b"hello"


def test_a_waiting_consumer_gets_a_new_record_at_once(client: Client, topic: str) -> None:
    """The long poll ends when a record arrives, not when its time is over."""
    with client.producer() as producer, client.consumer() as consumer:
        consumer.assign([(topic, 0)])
        producer.send([Outgoing(topic, b"warm up")])
        consumer.take(1)
        delays = []
        for number in range(5):
            began = time.monotonic()
            producer.send([Outgoing(topic, str(number).encode())])
            consumer.take(1)
            delays.append(time.monotonic() - began)
        assert min(delays) < 0.25, delays


def test_log_append_time_is_the_brokers_clock(client: Client, unique: Callable[[str], str]) -> None:
    name = unique("append-time")
    with client.admin() as admin:
        admin.create_topic(name, configs={"message.timestamp.type": "LogAppendTime"})
    before = int(time.time() * 1000)
    with client.producer() as producer:
        producer.send([Outgoing(name, b"x", timestamp=1_000_000)])
    with client.consumer() as consumer:
        consumer.assign([(name, 0)])
        assert before - 1000 <= consumer.take(1)[0].timestamp <= int(time.time() * 1000) + 1000
