"""A pipeline for the browser tests: the specification's example, run by the interpreter in this process (no Spark), and
reported by the real reporter. It reads a fixed number of records each second while it is not paused."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any

from caudal.pipelines.rates import RateMeter
from caudal.pipelines.records import Order
from caudal.pipelines.reporter import report
from caudal.pipelines.topology_data import topology_data
from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder, tumbling
from caudal.testing import TopologyTestDriver

USERS = ("ana", "luis", "eva", "ivo", "mar")
OUTPUTS = ("orders-per-user", "orders-enriched", "spent-per-minute")
BEAT_SECONDS = 0.25
PER_BEAT = 40


def example(application_id: str) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    orders = builder.stream("orders", key=String(), value=Json())
    customers = builder.table("customers", key=String(), value=Json())
    by_user = orders.filter("amount > 0").select_key(lambda key, order: order["user"])
    by_user.group_by_key().count(store="orders-per-user").to("orders-per-user", value=Long())
    by_user.join(customers, lambda order, customer: {**order, "city": customer["city"]}).to("orders-enriched")
    by_user.group_by_key().windowed_by(tumbling("1 minute", grace="10 seconds")).aggregate(
        lambda: 0, lambda key, order, total: total + order["amount"], value=Long()
    ).to("spent-per-minute")
    return builder


class InProcessPipeline:
    """`with InProcessPipeline(bootstrap) as pipeline:` runs and reports it."""

    def __init__(self, bootstrap: str, application: str = "orders-by-user", **origin: str) -> None:
        self.application = application
        self.state = "RUNNING"
        self.orders: list[Order] = []
        self._connection = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._builder = example(application)
        self._topology = self._builder.build()
        self._repartitions = [
            topic.name for topic in self._topology.internal_topics.values() if topic.kind == "repartition"
        ]
        self._origin = origin or {"kind": "streams", "program": "orders.py"}
        self._read: Counter[str] = Counter()
        self._written: Counter[str] = Counter()
        self._meter = RateMeter()
        self._started = int(time.time() * 1000)
        self._stopping = threading.Event()
        self._end: Callable[..., None] = lambda *_: None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> InProcessPipeline:
        self._thread.start()
        self._end = report(self, self._connection)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(10)
        self._end()

    def _run(self) -> None:
        with TopologyTestDriver(self._builder) as driver:
            for user in USERS:
                driver.pipe_input("customers", user, {"city": "Madrid"})
            self._read["customers"] += len(USERS)
            number = 0
            while not self._stopping.wait(BEAT_SECONDS):
                if self.state != "RUNNING":
                    continue
                for _ in range(PER_BEAT):
                    number += 1
                    amount = number % 10 - 1
                    order = {"user": USERS[number % 5], "amount": amount}
                    driver.pipe_input("orders", str(number), order, timestamp=int(time.time() * 1000))
                    if amount > 0:
                        self._written.update(self._repartitions)
                        self._read.update(self._repartitions)
                self._read["orders"] += PER_BEAT
                for topic in OUTPUTS:
                    self._written[topic] += len(driver.read_outputs(topic))

    def about(self) -> dict[str, Any]:
        tasks = [
            {
                "task": f"{sub.id}_{part}",
                "thread": part,
                "host": "worker-1",
                "pid": 4242,
                "partitions": [f"orders-{part}"],
            }
            for sub in self._topology.subtopologies
            for part in range(2)
        ]
        return {
            "origin": self._origin,
            "started": self._started,
            "host": "worker-1",
            "pid": 4242,
            "python": "3.11",
            "lane": "task",
            "why": "exactly_once runs in the task lane",
            "mode": "micro-batch",
            "guarantee": "exactly_once",
            "deadline": None,
            "topology": topology_data(self._topology),
            "description": self._topology.describe(),
            "spark": {"version": "4.3.0", "master": "local[2]", "application": "local-1", "ui": "http://worker-1:4040"},
            "tasks": tasks,
        }

    def figures(self) -> dict[str, Any]:
        counters = {
            "in": self._read["orders"] + self._read["customers"],
            "out": sum(self._written[topic] for topic in OUTPUTS),
            "commits": self._read["orders"] / 40,
        }
        counters |= {f"r/{topic}": count for topic, count in self._read.items()}
        counters |= {f"w/{topic}": count for topic, count in self._written.items()}
        rates = self._meter.update(time.monotonic(), counters)
        working = self.state == "RUNNING"
        return {
            "state": self.state,
            "failure": None,
            "in": counters["in"],
            "out": counters["out"],
            "commits": int(counters["commits"]),
            "restarts": 0,
            "dropped": {},
            "lag": 0 if working else 120,
            "state_rows": 15,
            "state_bytes": 24_576,
            "stream_time": int(time.time() * 1000) if working else self._started,
            "latency_ms": {"p50": 42 + counters["in"] % 17, "p99": 88, "max": 120} if working else {},
            "batch_seconds": {"p50": 0.21, "p99": 0.3, "max": 0.34} if working else {},
            "rate": {name: rates[name] for name in ("in", "out", "commits")},
            "read_rate": {topic: rates[f"r/{topic}"] for topic in self._read},
            "write_rate": {topic: rates[f"w/{topic}"] for topic in self._written},
            "tasks": {
                f"{sub.id}_{part}": [7, 3, self._started, 0] for sub in self._topology.subtopologies for part in (0, 1)
            },
        }

    def obey(self, order: Order) -> None:
        self.orders.append(order)
        if order is Order.STOP:
            self.stop()
        else:
            self.state = "PAUSED" if order is Order.PAUSE else "RUNNING"
