"""End-to-end latency of running applications: a paced producer on their inputs, a consumer on their outputs, in a
process of its own (`python -m caudal.bench.streams_latency '{…}'`), so that neither's CPU is the runner's.

Latency is from `produce()` to the output record in the consumer's hands. The map carries a stamp through its `id`; a
count cannot, there the record's timestamp is used, which every engine passes on (in ms).
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import orjson
from confluent_kafka import Consumer, TopicPartition

from caudal.bench.streams_data import PARTITIONER
from caudal.bench.workloads import (
    ADMIN_TIMEOUT,
    STALL_TIMEOUT,
    Deliveries,
    Pace,
    WorkloadError,
    bulk_producer,
    client_config,
    explain,
    latency_figures,
)

KEYS = 10_000  # no key comes twice within a commit interval, or an engine with a cache would emit one result for two


def measure(
    port: int,
    inputs: Sequence[str],
    outputs: Sequence[str],
    partitions: int,
    rate: int,
    seconds: float,
    warm_up: float,
    stamped: bool,
    stop: threading.Event | None = None,
) -> dict[str, Any]:
    """`warm_up` seconds go before the measured ones. Each input gets `rate` records a second. With `stop` it may end
    earlier.
    """
    deliveries = Deliveries()
    producer = bulk_producer(port, "all", deliveries, partitioner=PARTITIONER, **{"linger.ms": 0})
    settings = {"group.id": "bench-latency", "isolation.level": "read_committed", "enable.auto.commit": False}
    consumer = Consumer(client_config(port, **{**settings, "fetch.wait.max.ms": 100}))
    for output in outputs:
        consumer.list_topics(output, ADMIN_TIMEOUT)
    for input in inputs:
        producer.list_topics(input, ADMIN_TIMEOUT)
    places = [TopicPartition(output, index) for output in outputs for index in range(partitions)]
    for place in places:
        place.offset = consumer.get_watermark_offsets(place, ADMIN_TIMEOUT, cached=False)[1]
    consumer.assign(places)
    begin = time.time()
    latencies: list[float] = []  # of what was sent after the warm-up
    sent_count = received = 0
    finished = threading.Event()

    def receive() -> None:
        nonlocal received
        last = time.monotonic()
        while not finished.is_set() or (received < sent_count and time.monotonic() - last < STALL_TIMEOUT):
            message = consumer.poll(0.2)
            if message is None or message.error() is not None:
                continue
            now = time.time()
            last = time.monotonic()
            sent = orjson.loads(message.value())["id"] / 1e9 if stamped else message.timestamp()[1] / 1e3
            if sent < begin - 0.001:
                continue  # a late output of an earlier phase
            received += 1
            if sent >= begin + warm_up:
                latencies.append(now - sent)

    receiver = threading.Thread(target=receive, daemon=True)
    receiver.start()
    for number in Pace(rate * len(inputs), warm_up + seconds, stop or threading.Event()):
        now = time.time_ns()
        user = b"user-%07d" % (number % KEYS)
        value = b'{"id":%d,"user":"%s","amount":%d,"region":"north","note":"latency"}' % (now, user, number % 100)
        producer.produce(inputs[number % len(inputs)], value, user, timestamp=now // 1_000_000)
        sent_count += 1
        producer.poll(0)
    deliveries.check(producer.flush(STALL_TIMEOUT))
    finished.set()
    receiver.join(STALL_TIMEOUT + 5)
    consumer.close()
    if received != sent_count:
        raise WorkloadError(f"{received:,} of {sent_count:,} results arrived")
    return latency_figures(latencies)


def main() -> int:
    gc.disable()
    try:
        print(json.dumps(measure(**json.loads(sys.argv[1]))))
    except Exception as error:
        print(json.dumps({"error": explain(error)}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
