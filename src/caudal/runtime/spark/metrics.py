"""What an application tells about itself: figures of its tasks as they were last reported, put together for people and
tools.

One source (`ApplicationMetrics`), four forms: `snapshot()` for Python and the metrics topic, `prometheus()` for
scraping, the view of threads, tasks and partitions, and `live()` for whoever draws the pipeline while it runs.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from caudal.runtime.spark.deadline import Deadline

RECENT = 2048
_SUMS = ("records", "emitted", "commits", "restored", "in_time", "late")
_BY_NAME = ("read", "written", "dropped")  # counters by topic or reason


@dataclass(slots=True)
class TaskView:
    """A task, where it runs and what it reads."""

    task: str
    thread: int
    partitions: tuple[str, ...]
    pid: int | None = None
    host: str | None = None
    figures: dict[str, Any] = field(default_factory=dict)


class ApplicationMetrics:
    """Of one application. Any thread may write and read."""

    def __init__(self, application_id: str, deadline: Deadline | None = None) -> None:
        self.application_id = application_id
        self._deadline = deadline
        self._lock = threading.Lock()
        self._tasks: dict[str, TaskView] = {}
        self._before: dict[str, dict[str, int]] = {}  # sums of workers that are gone, by task
        self._named_before: dict[str, Counter[str]] = {key: Counter() for key in _BY_NAME}  # the same, by name
        self._latency: deque[int] = deque(maxlen=RECENT)
        self._batches: deque[float] = deque(maxlen=256)
        self._fresh_latency: deque[int] = deque(maxlen=RECENT)  # since `live` was asked last
        self._fresh_batches: deque[float] = deque(maxlen=256)
        self._lag: dict[tuple[str, int], int] = {}
        self._restoring: dict[tuple[str, str], tuple[int, int]] = {}
        self.restarts = 0
        self.moves = 0  # of a slot from one worker process to another
        self.last_trouble: str | None = None
        self._rate_at = (time.monotonic(), 0)
        self._rate = 0.0

    # -- written by the host -----------------------------------------------------------------------------------------

    def place(self, tasks: Mapping[str, tuple[int, tuple[str, ...]]]) -> None:
        """The assignment of a new run: task → thread, partitions."""
        with self._lock:
            for name, (thread, partitions) in tasks.items():
                known = self._tasks.get(name)
                self._tasks[name] = TaskView(name, thread, partitions, None, None, known.figures if known else {})

    def report(
        self,
        pid_of_thread: Mapping[int, int],
        tasks: Mapping[str, Mapping[str, Any]],
        host_of_thread: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        with self._lock:
            for name, figures in tasks.items():
                view = self._tasks.get(name)
                if view is None:
                    continue
                view.pid = pid_of_thread.get(view.thread)
                view.host = host_of_thread.get(view.thread)
                if figures["records"] < view.figures.get("records", 0) or figures["commits"] < view.figures.get(
                    "commits", 0
                ):
                    before = self._before.setdefault(name, dict.fromkeys(_SUMS, 0))
                    for key in _SUMS:
                        before[key] += view.figures.get(key, 0)
                    for key, counts in self._named_before.items():
                        counts.update(view.figures.get(key, {}))
                self._latency.extend(figures.get("latency_ms", ()))
                self._fresh_latency.extend(figures.get("latency_ms", ()))
                view.figures = {key: value for key, value in figures.items() if key != "latency_ms"}
            self._restoring = {key: at for key, at in self._restoring.items() if key[0] not in tasks}

    def restoring(self, task: str, store: str, done: int, total: int) -> None:
        with self._lock:
            self._restoring[task, store] = (done, total)

    def batch(self, seconds: float) -> None:
        with self._lock:
            self._batches.append(seconds)
            self._fresh_batches.append(seconds)

    def lag(self, ends: Mapping[tuple[str, int], int]) -> None:
        """End offsets of the source partitions."""
        with self._lock:
            positions = {
                (topic, int(name.partition("_")[2])): offset
                for name, view in self._tasks.items()
                for topic, offset in view.figures.get("positions", {}).items()
            }
            self._lag = {place: max(end - positions[place], 0) for place, end in ends.items() if place in positions}

    # -- read --------------------------------------------------------------------------------------------------------

    def next_punctuation(self) -> int | None:
        with self._lock:
            due = [view.figures.get("next_punctuation") for view in self._tasks.values()]
        return min((moment for moment in due if moment is not None), default=None)

    def _sum(self, key: str) -> int:
        now = sum(view.figures.get(key, 0) for view in self._tasks.values())
        return int(now + sum(before[key] for before in self._before.values()))

    def _by_name(self, key: str) -> dict[str, int]:
        counts = Counter(self._named_before[key])
        for view in self._tasks.values():
            counts.update(view.figures.get(key, {}))
        return dict(counts)

    def view(self) -> list[dict[str, Any]]:
        """Threads, tasks and partitions, in the order of the tasks."""
        with self._lock:
            return [
                {
                    "task": view.task,
                    "thread": view.thread,
                    "pid": view.pid,
                    "host": view.host,
                    "partitions": list(view.partitions),
                    "records": view.figures.get("records", 0),
                    "positions": dict(view.figures.get("positions", {})),
                    "state_bytes": view.figures.get("state_bytes", 0),
                }
                for view in sorted(self._tasks.values(), key=lambda view: tuple(map(int, view.task.split("_"))))
            ]

    def snapshot(self) -> dict[str, Any]:
        with self._lock:
            latency = sorted(self._latency)
            batches = sorted(self._batches)
            records = self._sum("records")
            at, before = self._rate_at
            now = time.monotonic()
            if now - at >= 1:
                self._rate = (records - before) / (now - at)
                self._rate_at = (now, records)
            return {
                "application": self.application_id,
                "tasks": len(self._tasks),
                "records": records,
                "records_per_second": round(self._rate, 1),
                "emitted": self._sum("emitted"),
                "commits": self._sum("commits"),
                "restored": self._sum("restored"),
                "restarts": self.restarts,
                "moves": self.moves,
                "dropped": self._by_name("dropped"),
                "state_bytes": sum(view.figures.get("state_bytes", 0) for view in self._tasks.values()),
                "lag": sum(self._lag.values()),
                "lag_by_partition": {f"{topic}-{number}": lag for (topic, number), lag in sorted(self._lag.items())},
                "latency_ms": _quantiles(latency),
                "deadline": self._punctuality(),
                "batch_seconds": _quantiles(batches),
                "restoring": {f"{task} {store}": list(at) for (task, store), at in self._restoring.items()},
                "last_trouble": self.last_trouble,
            }

    def live(self) -> dict[str, Any]:
        """What changes from second to second, by topic and task. Latencies and batches are those since the last call:
        one caller only."""
        with self._lock:
            latency, batches = sorted(self._fresh_latency), sorted(self._fresh_batches)
            self._fresh_latency.clear()
            self._fresh_batches.clear()
            lags: Counter[str] = Counter()
            for (topic, _), lag in self._lag.items():
                lags[topic] += lag
            tasks = {}
            for name, view in self._tasks.items():
                lag = sum(self._lag.get(_place(partition), 0) for partition in view.partitions)
                told = (view.figures.get(key, absent) for key, absent in _OF_TASKS)
                tasks[name] = [*told, lag]
            return {
                "read": self._by_name("read"),
                "written": self._by_name("written"),
                "state_rows": sum(view.figures.get("state_rows", 0) for view in self._tasks.values()),
                "stream_time": max((view.figures.get("stream_time", -1) for view in self._tasks.values()), default=-1),
                "lag_by_topic": dict(lags),
                "latency_ms": _quantiles(latency),
                "batch_seconds": _quantiles(batches),
                "tasks": tasks,
            }

    def _punctuality(self) -> dict[str, Any] | None:
        if self._deadline is None:
            return None
        counts = {"in_time": self._sum("in_time"), "late": self._sum("late")}
        return {"class": self._deadline.strictness.value, "limit_ms": self._deadline.limit, **counts}

    def prometheus(self, state: str) -> str:
        """The text that Prometheus scrapes."""
        snapshot = self.snapshot()
        label = f'application="{escaped(self.application_id)}"'
        lines: list[str] = []

        def family(name: str, kind: str, text: str, rows: Iterable[tuple[str, float]]) -> None:
            lines.append(f"# HELP caudal_streams_{name} {text}")
            lines.append(f"# TYPE caudal_streams_{name} {kind}")
            lines.extend(f"caudal_streams_{name}{{{label}{extra}}} {value}" for extra, value in rows)

        family("state", "gauge", "1 for the state the application is in.", [(f',state="{state}"', 1)])
        family("records_total", "counter", "Records processed and committed.", [("", snapshot["records"])])
        family("emitted_total", "counter", "Records written.", [("", snapshot["emitted"])])
        family("commits_total", "counter", "Commits.", [("", snapshot["commits"])])
        family("restored_records_total", "counter", "Changelog records replayed.", [("", snapshot["restored"])])
        family("restarts_total", "counter", "Restarts of the Spark query.", [("", snapshot["restarts"])])
        family("moves_total", "counter", "Threads that went to another worker process.", [("", snapshot["moves"])])
        family("state_bytes", "gauge", "Size of the local state.", [("", snapshot["state_bytes"])])
        dropped = [(f',reason="{escaped(why)}"', count) for why, count in sorted(snapshot["dropped"].items())]
        family("dropped_records_total", "counter", "Records dropped, by reason.", dropped)
        if (deadline := snapshot["deadline"]) is not None:
            kind = f',class="{deadline["class"]}"'
            rows = [(f'{kind},result="{name}"', deadline[name]) for name in ("in_time", "late")]
            family("deadline_records_total", "counter", "Records by whether their deadline was met.", rows)
            family("deadline_seconds", "gauge", "The deadline.", [(kind, deadline["limit_ms"] / 1000)])
        lags = []
        for place, lag in snapshot["lag_by_partition"].items():
            topic, _, number = place.rpartition("-")
            lags.append((f',topic="{escaped(topic)}",partition="{number}"', lag))
        family("lag", "gauge", "Records behind the end of a source partition.", lags)
        for name, unit, text in (
            ("latency_ms", 1000.0, "From the time of a record to its commit."),
            ("batch_seconds", 1.0, "Time of a batch."),
        ):
            shown = "latency_seconds" if name == "latency_ms" else name
            rows = [
                (f',quantile="{quantile}"', snapshot[name][key] / unit)
                for quantile, key in _QUANTILES
                if snapshot[name]
            ]
            family(shown, "gauge", text, rows)
        return "\n".join(lines) + "\n"


_OF_TASKS = (("records", 0), ("state_rows", 0), ("stream_time", -1))


def _place(partition: str) -> tuple[str, int]:
    topic, _, number = partition.rpartition("-")
    return topic, int(number)


_QUANTILES = (("0.5", "p50"), ("0.99", "p99"), ("1", "max"))


def _quantiles(values: list[Any]) -> dict[str, float]:
    if not values:
        return {}
    last = len(values) - 1
    return {"p50": values[last // 2], "p99": values[min(last, int(last * 0.99))], "max": values[last]}


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
