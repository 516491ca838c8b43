"""What an application on Spark tells the reporter about itself, and how it takes orders (caudal.pipelines).

`about` changes rarely, `figures` is small and made from what the driver knows already; neither asks Spark or Kafka.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caudal.pipelines.rates import RateMeter
from caudal.pipelines.records import Order
from caudal.pipelines.topology_data import topology_data

if TYPE_CHECKING:
    from caudal.runtime.spark.hosted_application import HostedApplication
    from caudal.streams.application import Application

MOST_TASKS = 256  # shown one by one; a record must stay small
Obey = Callable[[Order], None]


class ReportedApplication:
    """`origin` says where it comes from: {"kind": "streams"}, or of KSQL {"kind": "ksql", "query": …, "sql": …}.
    `obey` takes orders in place of the application, where pausing and stopping it is somebody else's business."""

    def __init__(
        self,
        application: Application,
        hosted: HostedApplication,
        spark: Callable[[], Mapping[str, Any]],
        *,
        origin: Mapping[str, str] | None = None,
        obey: Obey | None = None,
    ) -> None:
        self._application = application
        self._hosted = hosted
        self._spark = spark
        self._obey = obey
        self._meter = RateMeter()
        self._internal = frozenset(application.topology.internal_topics)
        settings = hosted.settings
        self._fixed: dict[str, Any] = {
            "origin": dict(origin) if origin is not None else {"kind": "streams", "program": _program()},
            "started": int(time.time() * 1000),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "python": ".".join(map(str, sys.version_info[:3])),
            "mode": settings.mode.value,
            "guarantee": settings.guarantee.value,
            "deadline": str(settings.deadline) if settings.deadline is not None else None,
            "topology": topology_data(application.topology),
            "description": application.topology.describe(),
        }

    @property
    def application(self) -> str:
        return self._hosted.id

    def about(self) -> dict[str, Any]:
        lane, why = self._application.lane
        tasks = [
            {key: task[key] for key in ("task", "thread", "host", "pid", "partitions")}
            for task in self._hosted.metrics.view()[:MOST_TASKS]
        ]
        return {**self._fixed, "lane": lane, "why": why, "spark": dict(self._spark()), "tasks": tasks}

    def figures(self) -> dict[str, Any]:
        metrics = self._hosted.metrics
        whole, live = metrics.snapshot(), metrics.live()
        counters = {
            "in": self._external(live["read"], whole["records"]),
            "out": self._external(live["written"], whole["emitted"]),
            "commits": whole["commits"],
        }
        counters.update({f"r/{topic}": count for topic, count in live["read"].items()})
        counters.update({f"w/{topic}": count for topic, count in live["written"].items()})
        rates = self._meter.update(time.monotonic(), counters)
        tasks = live.pop("tasks")
        return {
            **{name: whole[name] for name in _TOTALS},
            **live,
            "in": counters["in"],
            "out": counters["out"],
            "state": self._hosted.state.value,
            "failure": self._hosted.failure,
            "rate": {name: rates[name] for name in ("in", "out", "commits")},
            "read_rate": {topic: rates[f"r/{topic}"] for topic in live["read"]},
            "write_rate": {topic: rates[f"w/{topic}"] for topic in live["written"]},
            "tasks": dict(list(tasks.items())[:MOST_TASKS]),
        }

    def _external(self, by_topic: Mapping[str, int], all_of_them: int) -> int:
        """Records over the border of the application: what it sends to itself does not count. Native plans with several
        sinks only know the sum, and have no topics of their own."""
        return (
            sum(count for topic, count in by_topic.items() if topic not in self._internal) if by_topic else all_of_them
        )

    def obey(self, order: Order) -> None:
        if self._obey is not None:
            self._obey(order)
        elif order is Order.PAUSE:
            self._application.pause()
        elif order is Order.RESUME:
            self._application.resume()
        else:
            self._application.stop()


_TOTALS = (
    "records",
    "emitted",
    "commits",
    "restored",
    "restarts",
    "moves",
    "dropped",
    "deadline",
    "lag",
    "state_bytes",
    "restoring",
    "last_trouble",
)


def _program() -> str:
    """The file's name, without its folder: of `caudal run FILE` the file."""
    given = sys.argv[2:3] if sys.argv[1:2] == ["run"] else sys.argv[:1]
    return Path(given[0]).name if given and given[0] else ""
