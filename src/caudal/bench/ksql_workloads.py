"""What the client processes of `caudal bench ksql` do: fill topics, ask for keys, follow a push query, wait for others.

`port` is the broker's, `http_port` that of the HTTP server which is asked.
"""

from __future__ import annotations

import json
import random
import threading
import time
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition

from caudal.bench import streams_latency
from caudal.bench.http_load import drive
from caudal.bench.streams_data import PARTITIONER, Batch, fill
from caudal.bench.workloads import (
    ADMIN_TIMEOUT,
    STALL_TIMEOUT,
    Deliveries,
    Pace,
    WorkloadError,
    admin,
    bulk_producer,
    client_config,
    latency_figures,
    workload,
)
from caudal.ksql.shell.client import Server

PATIENCE_SECONDS = 300.0
POLL_SECONDS = 0.05
KNOCK_SECONDS = 0.02  # how often a record is written for a query that is on its way


@workload
def fill_orders(port: int, topic: str, count: int, keys: int) -> dict[str, Any]:
    begins_at = int(time.time() * 1000) - 2 * 60 * 60 * 1000
    fill(port, topic, Batch(count, keys, begins_at=begins_at).messages())
    return {}


@workload
def wait_for_group(port: int, group: str, topic: str, partitions: int, records: int) -> dict[str, Any]:
    """Until the group has committed so many records of the topic."""
    client = admin(port)
    places = [TopicPartition(topic, index) for index in range(partitions)]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        answers = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])
        found = answers[group].result(ADMIN_TIMEOUT).topic_partitions or []
        done = sum(max(0, int(place.offset)) for place in found)
        if done >= records:
            return {"records": done}
        if time.monotonic() > deadline:
            raise WorkloadError(f"{group} has read {done:,} of {records:,} records after {PATIENCE_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


# -- HTTP --------------------------------------------------------------------------------------------------------------


def _post(http_port: int, path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{http_port}\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body


@workload
def ask_for_keys(http_port: int, path: str, table: str, keys: int, connections: int, seconds: float) -> dict[str, Any]:
    """Pull queries of one key each, drawn at random, as fast as answers come. The empty endpoint gets the same."""

    def packet() -> bytes:
        sql = f"SELECT * FROM {table} WHERE USER_NAME = 'user-{random.randrange(keys):07d}';"
        return _post(http_port, path, json.dumps({"sql": sql}).encode())

    return drive(http_port, packet, connections, seconds)


@workload
def push_latency(port: int, http_port: int, topic: str, sql: str, rate: int, seconds: float) -> dict[str, Any]:
    """From `produce()` to the row at the client; `sql` selects ID alone, which has the time of the record."""
    deliveries = Deliveries()
    producer = bulk_producer(port, "all", deliveries, partitioner=PARTITIONER, **{"linger.ms": 0})
    producer.list_topics(topic, ADMIN_TIMEOUT)
    sent = int(rate * seconds)
    latencies: list[float] = []

    def read(rows: Any) -> None:
        for row in rows:
            latencies.append((time.time_ns() - row[0]) / 1e9)
            if len(latencies) == sent:
                return

    server = Server(f"127.0.0.1:{http_port}")
    try:
        with server.query(sql) as answer:
            reader = threading.Thread(target=read, args=(answer.rows,), daemon=True)
            reader.start()
            for number in Pace(rate, seconds, threading.Event()):
                value = b'{"id":%d,"amount":%d,"region":"north"}' % (time.time_ns(), number % 100)
                producer.produce(topic, value, b"user-%07d" % number)
                producer.poll(0)
            deliveries.check(producer.flush(STALL_TIMEOUT))
            reader.join(STALL_TIMEOUT)
    finally:
        server.close()
    if len(latencies) < sent:
        raise WorkloadError(f"{len(latencies):,} of {sent:,} rows arrived")
    return latency_figures(latencies[len(latencies) // 10 :])


# -- persistent queries ------------------------------------------------------------------------------------------------


@workload
def query_latency(
    port: int, inputs: list[str], outputs: list[str], partitions: int, rate: int, seconds: float, stop: threading.Event
) -> dict[str, Any]:
    """From `produce()` to the committed record in the output; by the records' timestamps."""
    return streams_latency.measure(port, inputs, outputs, partitions, rate, seconds, 0.0, stamped=False, stop=stop)


@workload
def first_row(port: int, input: str, output: str, partitions: int) -> dict[str, Any]:
    """Writes to a new query's input until something comes out; `at` is when, on the clock that all processes share."""
    producer = bulk_producer(port, "all", Deliveries(), partitioner=PARTITIONER, **{"linger.ms": 0})
    settings = {"group.id": "bench-first", "isolation.level": "read_committed", "enable.auto.commit": False}
    consumer = Consumer(client_config(port, **{**settings, "fetch.wait.max.ms": 50}))
    consumer.assign([TopicPartition(output, index, 0) for index in range(partitions)])
    deadline = time.monotonic() + STALL_TIMEOUT
    number = 0
    try:
        while time.monotonic() < deadline:
            value = b'{"id":%d,"amount":1,"region":"north"}' % time.time_ns()
            producer.produce(input, value, b"user-%07d" % number)
            producer.poll(0)
            number += 1
            message = consumer.poll(KNOCK_SECONDS)
            if message is not None and message.error() is None:
                return {"at": time.monotonic()}
    finally:
        producer.flush(STALL_TIMEOUT)
        consumer.close()
    raise WorkloadError(f"nothing came out of the query that writes {output} within {STALL_TIMEOUT:.0f} s")
