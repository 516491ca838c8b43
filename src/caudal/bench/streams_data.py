"""The records of `caudal bench streams`: made by number, so that what must come out is known without keeping them.

`Batch` is a run of such records; `fill` writes it; `Expected` says what a topology must make of the batches, and
`check` reads an output topic and compares. An engine whose output is not right gets no time.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from confluent_kafka import Consumer, KafkaError, TopicPartition

from caudal.bench.streams_job import WINDOW_MS
from caudal.bench.workloads import (
    ADMIN_TIMEOUT,
    EAGER_FETCHING,
    STALL_TIMEOUT,
    Deliveries,
    WorkloadError,
    bulk_producer,
    client_config,
)

STEP = 7919  # a prime: consecutive records have other keys, and every key comes equally often
SPAN_MS = 60 * WINDOW_MS
TOTALS = ("totals", "sql-totals")  # of a window, count and sum
CITIES = ("Soria", "Cuenca", "Teruel", "Huesca")
# Java's partitioner, which Kafka Streams and Caudal use for what they write.
PARTITIONER = "murmur2_random"


@dataclass(frozen=True, slots=True)
class Batch:
    """Records `first` … `first + count - 1`. Those of the warm-up have keys of their own (`prefix`)."""

    count: int
    keys: int
    first: int = 0
    prefix: str = "user"
    begins_at: int = 0  # ms; the records are spread evenly over an hour from here

    def key(self, number: int) -> int:
        return number * STEP % self.keys

    def amount(self, number: int) -> int:
        return number % 100

    def timestamp(self, number: int) -> int:
        return self.begins_at + (number - self.first) * SPAN_MS // self.count

    def messages(self) -> Iterator[dict[str, Any]]:
        prefix = self.prefix.encode()
        for number in range(self.first, self.first + self.count):
            user = b"%s-%07d" % (prefix, self.key(number))
            value = b'{"id":%d,"user":"%s","amount":%d,"region":"north","note":"an order of the bench"}' % (
                number,
                user,
                self.amount(number),
            )
            yield {"key": user, "value": value, "timestamp": self.timestamp(number)}


def customers(keys: int, prefixes: Sequence[str], at: int) -> Iterator[dict[str, Any]]:
    """The table of the join: every key that the batches have, older than all of them."""
    for prefix in prefixes:
        for key in range(keys):
            value = b'{"name":"customer %d","city":"%s"}' % (key, city(key).encode())
            yield {"key": b"%s-%07d" % (prefix.encode(), key), "value": value, "timestamp": at}


def city(key: int) -> str:
    return CITIES[key % len(CITIES)]


def fill(port: int, topic: str, messages: Iterator[dict[str, Any]]) -> None:
    """Writes all of them, by key."""
    deliveries = Deliveries()
    settings = {"linger.ms": 20, "queue.buffering.max.messages": 200_000}
    producer = bulk_producer(port, "all", deliveries, partitioner=PARTITIONER, **settings)
    for message in messages:
        # One by one: produce_batch takes no timestamps.
        while True:
            try:
                producer.produce(topic, **message)
                break
            except BufferError:
                producer.poll(0.01)
    deliveries.check(producer.flush(STALL_TIMEOUT))


@dataclass(slots=True)
class Expected:
    """What must stand in the output at the end, for the records of the batches whose keys begin with `user`."""

    records: int
    finals: Mapping[Any, int]  # key, or key and window → last value; for map and join: a sum under one name

    @classmethod
    def of(cls, topology: str, batches: Sequence[Batch]) -> Expected:
        counted = [batch for batch in batches if batch.prefix == "user"]
        records = sum(batch.count for batch in counted)
        finals: Counter[Any] = Counter()
        for batch in counted:
            for number in range(batch.first, batch.first + batch.count):
                key, amount = batch.key(number), batch.amount(number)
                if topology == "count":
                    finals[key] += 1
                elif topology == "sum":
                    start = batch.timestamp(number) // WINDOW_MS * WINDOW_MS
                    finals[key, start] += amount
                elif topology in TOTALS:
                    start = batch.timestamp(number) // WINDOW_MS * WINDOW_MS
                    finals[key, start, "ORDERS"] += 1
                    finals[key, start, "AMOUNT"] += amount
                else:
                    finals["ids"] += number
                    finals["total"] += amount * 2
        return cls(records, finals)


def check(
    port: int, topic: str, partitions: int, topology: str, form: str, expected: Expected, every_update: bool
) -> None:
    """Reads the output to its end, committed records only; raises where it is not what it must be."""
    seen = 0
    finals: dict[Any, int] = {"ids": 0, "total": 0} if topology in ("map", "sql-map", "join") else {}
    for key, value in committed(port, topic, partitions):
        if not key.startswith(b"user"):
            continue
        seen += 1
        _take(finals, topology, form, key, value)
    if every_update and seen != expected.records:
        raise WorkloadError(f"wrong result: {seen:,} records came out, {expected.records:,} went in")
    wanted = dict(expected.finals)
    if topology in ("sum", *TOTALS):  # a sum of zero may or may not be there
        finals, wanted = ({k: v for k, v in one.items() if v} for one in (finals, wanted))
    if finals != wanted:
        wrong = [key for key in {*finals, *wanted} if finals.get(key) != wanted.get(key)]
        name = min(wrong, key=str)
        raise WorkloadError(
            f"wrong result: {len(wrong):,} of {len(wanted):,} final values differ, such as {name}: "
            f"{finals.get(name)} instead of {wanted.get(name)}"
        )


def _take(finals: dict[Any, int], topology: str, form: str, key: bytes, value: bytes) -> None:
    if topology in ("map", "sql-map", "join"):
        order = orjson.loads(value)
        finals["ids"] += order["id"]
        finals["total"] += order["total"]
        if topology == "join" and order["city"] != city(int(key[5:12])):
            raise WorkloadError(f"wrong result: {key.decode()} was joined with {order['city']}")
        return
    number = int(key[5:12])
    if topology == "count":
        finals[number] = struct.unpack(">q", value)[0] if form == "long" else int(value)
    elif topology in TOTALS:
        start = struct.unpack(">q", key[-8:])[0]
        for name, total in orjson.loads(value).items():
            finals[number, start, name] = total
    elif form == "long":  # Kafka Streams' windowed key: key, then the start in 8 bytes
        finals[number, struct.unpack(">q", key[-8:])[0]] = struct.unpack(">q", value)[0]
    else:
        window = orjson.loads(value)
        finals[number, window["start"]] = int(window["value"])


def committed(port: int, topic: str, partitions: int) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of every committed record; of one key in their order."""
    settings = {"group.id": "bench-check", "isolation.level": "read_committed", "enable.auto.commit": False}
    consumer = Consumer(client_config(port, **{**settings, **EAGER_FETCHING, "enable.partition.eof": True}))
    try:
        consumer.list_topics(topic, ADMIN_TIMEOUT)
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        ended: set[int] = set()
        while len(ended) < partitions:
            messages = consumer.consume(10_000, 1.0)
            for message in messages:
                error = message.error()
                if error is None:
                    yield message.key() or b"", message.value() or b""
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(int(message.partition() or 0))
                else:
                    raise WorkloadError(f"reading {topic} failed: {error}")
    finally:
        consumer.close()
