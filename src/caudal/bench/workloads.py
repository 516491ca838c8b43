"""What the client process does to a broker: produce, consume, paced latency, transactions, many connections,
administration.

Each workload is one function registered with `@workload`; it takes the broker's port and plain values, and returns
plain values (both travel as JSON, see client.py). The client is confluent-kafka with librdkafka's defaults unless a
line here says otherwise, and never knows which of the two servers it talks to. Nothing here measures the broker's own
CPU or memory: that is seen from outside, in servers.py.
"""

from __future__ import annotations

import itertools
import random
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from caudal.bench import probe

Workload = Callable[..., dict[str, Any]]
WORKLOADS: dict[str, Workload] = {}

ADMIN_TIMEOUT = 120.0
STALL_TIMEOUT = 60.0  # a broker that makes no progress for so long has failed the case
BATCH = 1000

# librdkafka stops fetching a partition while its queue is full, and meanwhile waits at the end of the others: pauses of
# half a second that are the client's own, on either broker. With these it keeps asking.
EAGER_FETCHING: dict[str, Any] = {
    "queued.min.messages": 1_000_000,
    "queued.max.messages.kbytes": 1_000_000,
    "fetch.queue.backoff.ms": 1,
    "fetch.wait.max.ms": 10,
}


class WorkloadError(Exception):
    """The broker refused or lost something; the case is reported as failed."""


def workload(function: Workload) -> Workload:
    WORKLOADS[function.__name__] = function
    return function


def client_config(port: int, **settings: Any) -> dict[str, Any]:
    # log_level 2: a server that is stopped between two cases is no news.
    return {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 2, **settings}


def percentile(values: Sequence[float], share: float) -> float:
    """Nearest rank: a value that was really seen."""
    if not values:
        raise WorkloadError("nothing was measured")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


def payloads(size: int, count: int = BATCH) -> list[bytes]:
    """Incompressible, and always the same: both servers get the same bytes."""
    generator = random.Random(size)
    return [generator.randbytes(size) for _ in range(count)]


class Deliveries:
    """Collects what was not delivered. With librdkafka's errors-only reports a delivered message costs the client
    nothing.
    """

    def __init__(self) -> None:
        self.errors: list[str] = []

    def __call__(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self.errors.append(str(error))

    def check(self, outstanding: int = 0) -> None:
        if self.errors:
            raise WorkloadError(f"{len(self.errors)} messages were not delivered, the first because: {self.errors[0]}")
        if outstanding:
            raise WorkloadError(f"{outstanding} messages were still not acknowledged at the end")


def bulk_producer(port: int, acks: str, deliveries: Deliveries, **settings: Any) -> Producer:
    config = client_config(port, acks=acks, on_delivery=deliveries, **settings)
    return Producer({**config, "delivery.report.only.error": True})


def produce_bulk(producer: Producer, topic: str, count: int, messages: Sequence[dict[str, Any]]) -> None:
    """Hands over the first `count` of the messages, waiting while the client's queue is full."""
    left = list(messages[:count])
    last_progress = time.monotonic()
    while left:
        queued = producer.produce_batch(topic, left)
        # The queue fills from the front: what was not taken is the end of the list.
        left = left[queued:]
        if queued:
            last_progress = time.monotonic()
        if left:
            producer.poll(0.005)
            if time.monotonic() - last_progress > STALL_TIMEOUT:
                raise WorkloadError(f"no message was acknowledged for {STALL_TIMEOUT:.0f} s")


@workload
def produce(
    port: int, topics: list[str], count: int, size: int, acks: str = "all", keys: int = 0, turn: int = BATCH
) -> dict[str, Any]:
    """`count` messages of `size` bytes as fast as they go, until all are acknowledged.

    With `keys`, keyed by that many keys in turn; with several topics, each in turn gets `turn` messages.
    """
    deliveries = Deliveries()
    producer = bulk_producer(port, acks, deliveries)
    # Neither the connection nor the first look at the metadata is part of throughput.
    producer.list_topics(topics[0], ADMIN_TIMEOUT)
    chunks = message_chunks(size, keys, turn)
    produce_bulk(producer, topics[0], 1, chunks[0])
    deliveries.check(producer.flush(STALL_TIMEOUT))
    sent, begin = 0, time.perf_counter()
    for chunk, topic in zip(itertools.cycle(chunks), itertools.cycle(topics), strict=False):
        if sent >= count:
            break
        produce_bulk(producer, topic, min(len(chunk), count - sent), chunk)
        sent += len(chunk)
    outstanding = producer.flush(STALL_TIMEOUT)
    seconds = time.perf_counter() - begin
    deliveries.check(outstanding)
    return {"seconds": seconds, "per_second": count / seconds, "mb": count * size / 1e6}


def message_chunks(size: int, keys: int, chunk: int) -> list[list[dict[str, Any]]]:
    """What is sent over and over: one chunk without keys, or as many as it takes to hold every key once."""
    values = payloads(size)
    if not keys:
        return [[{"value": value} for value in values[:chunk]]]
    messages = [{"key": f"key-{number:07}", "value": values[number % BATCH]} for number in range(keys)]
    return [messages[start : start + chunk] for start in range(0, keys, chunk)]


@workload
def consume(port: int, topic: str, partitions: int, count: int) -> dict[str, Any]:
    """Reads `count` messages from the beginning of every partition, without a group."""
    consumer = Consumer(client_config(port, **{"group.id": "bench", "enable.auto.commit": False, **EAGER_FETCHING}))
    try:
        consumer.list_topics(topic, ADMIN_TIMEOUT)
        seen = size = 0
        begin = last_progress = time.perf_counter()
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        while seen < count:
            # Never more than there are: consume() waits for as many as it is asked for.
            messages = consumer.consume(min(10_000, count - seen), 0.5)
            now = time.perf_counter()
            if messages:
                last_progress = now
                if error := messages[-1].error():
                    raise WorkloadError(f"consuming {topic} failed: {error}")
            elif now - last_progress > STALL_TIMEOUT:
                raise WorkloadError(f"{topic} gave {seen} of {count} messages and then none for {STALL_TIMEOUT:.0f} s")
            seen += len(messages)
            if messages:
                size += len(messages) * len(messages[0].value() or b"")
        seconds = time.perf_counter() - begin
    finally:
        consumer.close()
    return {"seconds": seconds, "per_second": seen / seconds, "mb": size / 1e6}


@workload
def paced_produce(
    port: int, topic: str, rate: int, seconds: float, stop: threading.Event, size: int = 100, acks: str = "all"
) -> dict[str, Any]:
    """A steady producer; latency from produce() to the acknowledgement as librdkafka sees it, of the messages after
    the first second.
    """
    latencies: list[float] = []
    deliveries = Deliveries()

    def delivered(error: KafkaError | None, message: Message) -> None:
        deliveries(error, message)
        latency = message.latency()
        if error is None and latency is not None:
            latencies.append(latency)

    producer = Producer(client_config(port, acks=acks, on_delivery=delivered, **{"linger.ms": 0}))
    producer.list_topics(topic, ADMIN_TIMEOUT)
    values = payloads(size)
    finished = threading.Event()

    # The latency is taken when the report is handed out, so somebody must always be waiting for one.
    def serve_reports() -> None:
        while not finished.is_set():
            producer.poll(0.1)

    reports = threading.Thread(target=serve_reports, daemon=True)
    reports.start()
    for number in Pace(rate, seconds, stop):
        producer.produce(topic, values[number % BATCH])
    finished.set()
    reports.join()
    outstanding = producer.flush(STALL_TIMEOUT)
    deliveries.check(outstanding)
    return latency_figures(latencies[min(rate, len(latencies) // 5) :])


@workload
def end_to_end(
    port: int, topic: str, rate: int, seconds: float, stop: threading.Event, size: int = 100, acks: str = "all"
) -> dict[str, Any]:
    """A steady producer and a consumer at the end of the topic; latency from produce() to the message in the
    consumer's hands.
    """
    producer = bulk_producer(port, acks, deliveries := Deliveries(), **{"linger.ms": 0})
    consumer = Consumer(client_config(port, **{"group.id": "bench", "enable.auto.commit": False}))
    latencies: list[float] = []
    finished = threading.Event()
    sent = 0
    padding = bytes(max(0, size - 20))

    def receive() -> None:
        last = time.monotonic()
        while not finished.is_set() or len(latencies) < sent:
            message = consumer.poll(0.2)
            if message is None:
                if time.monotonic() - last > STALL_TIMEOUT:
                    return
                continue
            value = message.value()
            if message.error() is None and value is not None:
                now = time.perf_counter_ns()
                latencies.append((now - int(value[:20])) / 1e9)
                last = time.monotonic()

    consumer.list_topics(topic, ADMIN_TIMEOUT)
    producer.list_topics(topic, ADMIN_TIMEOUT)
    consumer.assign([TopicPartition(topic, 0, 0)])
    receiver = threading.Thread(target=receive, daemon=True)
    receiver.start()
    for _number in Pace(rate, seconds, stop):
        producer.produce(topic, b"%020d" % time.perf_counter_ns() + padding)
        sent += 1
        producer.poll(0)
    outstanding = producer.flush(STALL_TIMEOUT)
    finished.set()
    receiver.join(STALL_TIMEOUT + 5)
    consumer.close()
    deliveries.check(outstanding)
    if len(latencies) < sent:
        raise WorkloadError(f"the consumer saw {len(latencies)} of {sent} messages")
    return latency_figures(latencies[min(rate, len(latencies) // 5) :])


class Pace:
    """Yields 0, 1, 2… at `rate` per second for `seconds` or until told to stop. Late turns are made up for, so that
    the rate holds.
    """

    def __init__(self, rate: int, seconds: float, stop: threading.Event) -> None:
        self.rate, self.seconds, self.stop = rate, seconds, stop

    def __iter__(self) -> Any:
        begin = time.perf_counter()
        for number in range(int(self.rate * self.seconds)):
            wait = begin + number / self.rate - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            if self.stop.is_set():
                return
            yield number


def latency_figures(latencies: Sequence[float]) -> dict[str, Any]:
    return {
        "count": len(latencies),
        "p50_ms": percentile(latencies, 0.50) * 1e3,
        "p99_ms": percentile(latencies, 0.99) * 1e3,
        "max_ms": percentile(latencies, 1.0) * 1e3,
    }


@workload
def transactions(port: int, topic: str, seconds: float, messages: int = 10, size: int = 100) -> dict[str, Any]:
    """Transactions of `messages` messages one after the other; how many were committed in a second."""
    deliveries = Deliveries()
    producer = bulk_producer(port, "all", deliveries, **{"transactional.id": f"bench-{topic}", "linger.ms": 0})
    producer.init_transactions(ADMIN_TIMEOUT)
    values = payloads(size)

    def commit_one() -> None:
        producer.begin_transaction()
        for value in values[:messages]:
            producer.produce(topic, value)
        producer.commit_transaction(STALL_TIMEOUT)

    commit_one()
    committed, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        commit_one()
        committed += 1
    elapsed = time.perf_counter() - begin
    deliveries.check()
    return {"per_second": committed / elapsed, "count": committed}


@workload
def metadata_cost(port: int, topic: str, count: int) -> dict[str, Any]:
    """Median seconds of a Metadata request for one topic."""
    probe.metadata_round_trips(port, topic, count // 4)
    return {"seconds": percentile(probe.metadata_round_trips(port, topic, count), 0.5)}


@workload
def hold_connections(port: int, count: int, rate: int, seconds: float, stop: threading.Event) -> dict[str, Any]:
    """Opens `count` connections and keeps them in use: `rate` ApiVersions requests a second, over the connections in
    turn.
    """
    connections: list[socket.socket] = []
    message = probe.api_versions_request()
    answered = 0
    try:
        for _ in range(count):
            connection = probe.connect(port)
            connections.append(connection)
            probe.exchange(connection, message)
        for number in Pace(rate, seconds, stop):
            probe.exchange(connections[number % count], message)
            answered += 1
    finally:
        for connection in connections:
            connection.close()
    return {"answered": answered}


def admin(port: int) -> AdminClient:
    return AdminClient(client_config(port))


def finish(futures: Any) -> None:
    for future in futures.values():
        future.result(ADMIN_TIMEOUT)


@workload
def create_topics(port: int, topics: list[str], partitions: int, configs: dict[str, str]) -> dict[str, Any]:
    begin = time.perf_counter()
    client = admin(port)
    for start in range(0, len(topics), 500):
        new = [NewTopic(topic, partitions, 1, config=configs) for topic in topics[start : start + 500]]
        finish(client.create_topics(new, operation_timeout=ADMIN_TIMEOUT, request_timeout=ADMIN_TIMEOUT))
    deadline = time.monotonic() + ADMIN_TIMEOUT
    while not probe.is_answering(port, topics):  # created is not yet led: the clients must not run into that
        if time.monotonic() > deadline:
            raise WorkloadError("the new topics have no leader")
        time.sleep(0.02)
    return {"seconds": time.perf_counter() - begin}


@workload
def delete_topics(port: int, topics: list[str]) -> dict[str, Any]:
    client = admin(port)  # held by a name: without one it would be gone before its answers arrive
    finish(client.delete_topics(topics, operation_timeout=ADMIN_TIMEOUT, request_timeout=ADMIN_TIMEOUT))
    return {}


@workload
def alter_topic(port: int, topic: str, configs: dict[str, str]) -> dict[str, Any]:
    entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in configs.items()]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    client = admin(port)
    finish(client.incremental_alter_configs([resource]))
    return {}


def explain(error: Exception) -> str:
    """One sentence for the report."""
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        return str(error.args[0].str())
    return f"{type(error).__name__}: {error}" if not isinstance(error, WorkloadError) else str(error)
