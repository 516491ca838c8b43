"""What the processes of `caudal bench views` do: fill and write a changelog, keep a view of it, ask the view.

The view is that of an application's store (String keys, JSON values of about 60 bytes, 4 partitions), opened the way
`app.store` opens it. Clients draw keys at random. HTTP clients keep their connections open and ask one question at a
time each. `port` is the broker's.
"""

from __future__ import annotations

import gc
import random
import threading
import time
from typing import Any

import orjson
import psutil

from caudal.bench.http_load import WARM_UP, drive
from caudal.bench.workloads import (
    STALL_TIMEOUT,
    Deliveries,
    Pace,
    WorkloadError,
    bulk_producer,
    latency_figures,
    produce_bulk,
    workload,
)

APPLICATION, STORE = "bench-views", "totals"
TOPIC = f"{APPLICATION}-{STORE}-changelog"
COMMIT_SECONDS = 0.1
CATCH_UP_SECONDS = 300.0

_open: dict[str, Any] = {}  # the view and its server, in the process that keeps them


def key(number: int) -> str:
    return f"user-{number:07d}"


def value(number: int, change: int) -> bytes:
    return orjson.dumps({"orders": change, "amount": number * 0.25, "last": f"order-{number:07d}-{change}"})


# -- the changelog ---------------------------------------------------------------------------------------------------


@workload
def fill_changelog(port: int, keys: int, partitions: int) -> dict[str, Any]:
    deliveries = Deliveries()
    producer = bulk_producer(port, "all", deliveries)
    chunk = 10_000
    for first in range(0, keys, chunk):
        messages = [
            {"key": key(number).encode(), "value": value(number, 0), "partition": number % partitions}
            for number in range(first, min(keys, first + chunk))
        ]
        produce_bulk(producer, TOPIC, len(messages), messages)
    deliveries.check(producer.flush(STALL_TIMEOUT))
    return {}


@workload
def write_changelog(
    port: int, keys: int, partitions: int, rate: int, seconds: float, stop: threading.Event
) -> dict[str, Any]:
    """As an application with exactly once writes it: a transaction every 100 ms."""
    deliveries = Deliveries()
    settings = {"transactional.id": APPLICATION, "linger.ms": 5}
    producer = bulk_producer(port, "all", deliveries, **settings)
    producer.init_transactions(30)
    each = max(1, int(rate * COMMIT_SECONDS))
    begin, written = time.perf_counter(), 0
    for change in Pace(int(1 / COMMIT_SECONDS), seconds, stop):
        producer.begin_transaction()
        for _ in range(each):
            number = random.randrange(keys)
            producer.produce(TOPIC, value(number, change + 1), key(number), number % partitions)
        producer.commit_transaction(30)
        written += each
    deliveries.check()
    return {"per_second": written / (time.perf_counter() - begin)}


# -- the view --------------------------------------------------------------------------------------------------------


@workload
def open_store(port: int, folder: str) -> dict[str, Any]:
    """Opens the view and the HTTP server; the time until it answers, and how many records it had to read."""
    from caudal.runtime.spark.settings import Settings
    from caudal.serde import Json, String
    from caudal.streams import StreamsBuilder
    from caudal.views import ApplicationViews
    from caudal.views.http_server import ViewServer

    builder = StreamsBuilder(APPLICATION)
    orders = builder.stream("orders", key=String(), value=Json())
    orders.group_by_key().aggregate(dict, lambda key, value, total: total, store=STORE, value=Json())
    settings = Settings(bootstrap=f"127.0.0.1:{port}", state_dir=folder)
    begin = time.perf_counter()
    views = ApplicationViews(builder.build(), settings)
    view = views.open(STORE).wait(CATCH_UP_SECONDS)
    seconds = time.perf_counter() - begin
    server = ViewServer(views).start()
    _open.update(views=views, view=view, server=server)
    return {"seconds": seconds, "http_port": server.port, "count": view.approximate_count}


@workload
def close_store() -> dict[str, Any]:
    size = _open["view"]._followed.index.size_bytes()
    _open["server"].stop()
    _open["views"].close()
    _open.clear()
    return {"disk_mb": size / 1e6, "memory_mb": psutil.Process().memory_info().rss / 1e6}


@workload
def ask_in_python(keys: int, seconds: float, threads: int = 1) -> dict[str, Any]:
    """Point queries one after the other, in the process of the view."""
    gc.enable()  # as in an application
    view = _open["view"]
    found: list[list[float]] = [[] for _ in range(threads)]
    missed: list[str] = []
    lags: list[int] = []

    def ask(latencies: list[float]) -> None:
        clock = time.perf_counter
        end = clock() + seconds
        counted_from = clock() + seconds * WARM_UP
        while (begin := clock()) < end:
            answer = view.get(key(random.randrange(keys)))
            done = clock()
            if answer is None:
                missed.append("a key that was written was not found")
                return
            if begin >= counted_from:
                latencies.append(done - begin)

    workers = [threading.Thread(target=ask, args=(latencies,)) for latencies in found]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        lags.append(view.lag.total)
        time.sleep(0.05)
    if missed:
        raise WorkloadError(missed[0])
    latencies = [latency for part in found for latency in part]
    rate = len(latencies) / (seconds * (1 - WARM_UP))
    return {"per_second": rate, "largest_lag": max(lags), **latency_figures(latencies)}


# -- HTTP ------------------------------------------------------------------------------------------------------------


@workload
def ask_over_http(
    http_port: int, keys: int, connections: int, seconds: float, rate: int | None = None
) -> dict[str, Any]:
    """Point queries on `connections` connections: as fast as answers come, or `rate` a second in all."""

    def packet() -> bytes:
        path = f"/stores/{STORE}/key/{key(random.randrange(keys))}"
        return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{http_port}\r\n\r\n".encode()

    return drive(http_port, packet, connections, seconds, rate)
