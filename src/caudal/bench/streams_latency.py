"""End-to-end latency of a running application: a paced producer on its input, a consumer on its output, in a process of
its own (`python -m caudal.bench.streams_latency '{…}'`), so that neither's CPU is the runner's.

Latency is from `produce()` to the output record in the consumer's hands. The map carries a stamp through its `id`; a
count cannot, there the record's timestamp is used, which every engine passes on (in ms).
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
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
    port: int, input: str, output: str, partitions: int, rate: int, seconds: float, warm_up: float, stamped: bool
) -> dict[str, Any]:
    """`warm_up` seconds go before the measured ones."""
    deliveries = Deliveries()
    producer = bulk_producer(port, "all", deliveries, partitioner=PARTITIONER, **{"linger.ms": 0})
    settings = {"group.id": "bench-latency", "isolation.level": "read_committed", "enable.auto.commit": False}
    consumer = Consumer(client_config(port, **{**settings, "fetch.wait.max.ms": 100}))
    consumer.list_topics(output, ADMIN_TIMEOUT)
    producer.list_topics(input, ADMIN_TIMEOUT)
    places = [TopicPartition(output, index) for index in range(partitions)]
    for place in places:
        place.offset = consumer.get_watermark_offsets(place, ADMIN_TIMEOUT, cached=False)[1]
    consumer.assign(places)
    total = int(rate * (warm_up + seconds))
    begin = time.time()
    latencies: list[float] = []  # of what was sent after the warm-up
    received = 0
    finished = threading.Event()

    def receive() -> None:
        nonlocal received
        last = time.monotonic()
        while received < total and not (finished.is_set() and time.monotonic() - last > STALL_TIMEOUT):
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
    for number in Pace(rate, warm_up + seconds, threading.Event()):
        now = time.time_ns()
        user = b"user-%07d" % (number % KEYS)
        value = b'{"id":%d,"user":"%s","amount":%d,"region":"north","note":"latency"}' % (now, user, number % 100)
        producer.produce(input, value, user, timestamp=now // 1_000_000)
        producer.poll(0)
    deliveries.check(producer.flush(STALL_TIMEOUT))
    finished.set()
    receiver.join(STALL_TIMEOUT + 5)
    consumer.close()
    if received != total:
        raise WorkloadError(f"{received:,} of {total:,} results arrived")
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
