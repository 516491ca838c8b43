"""A plain Structured Streaming query as a pipeline: what Spark's own progress tells, reported. Used by the connectors
that run on Spark; orders are not taken here, whoever owns the query pauses and stops it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from caudal.pipelines.rates import RateMeter
from caudal.pipelines.records import Order


class ReportedQuery:
    """`query` is Spark's StreamingQuery. `outside` names what is read or written and is no topic."""

    def __init__(
        self,
        application: str,
        query: Any,
        *,
        origin: Mapping[str, str],
        outside: str,
        reads: Sequence[str] = (),
        writes: Sequence[str] = (),
        spark: Mapping[str, Any] | None = None,
    ) -> None:
        self.application = application
        self._query = query
        self._reads, self._writes = list(reads), list(writes)
        self._seen = -1  # batch
        self._records = 0
        self._last: dict[str, Any] = {}
        self._meter = RateMeter()
        self._about = {
            "origin": dict(origin),
            "started": int(time.time() * 1000),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "lane": "native",
            "why": "a Structured Streaming query of its own",
            "mode": "micro-batch",
            "topology": _topology(outside, self._reads, self._writes),
            "spark": dict(spark or {}),
        }

    def about(self) -> dict[str, Any]:
        return self._about

    def figures(self) -> dict[str, Any]:
        batches = self._take_progress()
        counters = {"in": self._records, "out": self._records, "commits": self._seen + 1}
        rates = self._meter.update(time.monotonic(), counters)
        states = self._last.get("stateOperators") or ()
        return {
            "state": "RUNNING" if self._query.isActive else "STOPPED",
            "failure": None,
            "records": self._records,
            "emitted": self._records,
            **counters,
            "rate": rates,
            # Spark counts the rows of a batch, not those of a topic.
            "read_rate": {self._reads[0]: rates["in"]} if len(self._reads) == 1 else {},
            "write_rate": {self._writes[0]: rates["out"]} if len(self._writes) == 1 else {},
            "batch_seconds": {"p50": batches[-1], "max": max(batches)} if batches else {},
            "latency_ms": {},
            "state_rows": sum(state.get("numRowsTotal", 0) for state in states),
            "stream_time": _watermark(self._last),
            "last_trouble": None,
        }

    def obey(self, order: Order) -> None:
        raise NotImplementedError("its owner is asked to do that")

    def _take_progress(self) -> list[float]:
        """Counts the batches since the last call; their durations in seconds."""
        durations = []
        for progress in self._query.recentProgress:
            if progress["batchId"] > self._seen:
                self._seen = progress["batchId"]
                self._last = progress
                self._records += max(0, progress["numInputRows"])
                if progress["numInputRows"]:
                    durations.append(progress["durationMs"].get("triggerExecution", 0) / 1000)
        return durations


def _topology(outside: str, reads: list[str], writes: list[str]) -> dict[str, Any]:
    return {
        "subtopologies": [{"id": 0, "global": False, "nodes": ["source", "sink"], "stores": []}],
        "nodes": [
            {"name": "source", "kind": "source", "topics": reads, "text": "" if reads else outside},
            {
                "name": "sink",
                "kind": "sink",
                "topics": writes,
                "parents": ["source"],
                "text": "" if writes else outside,
            },
        ],
        "stores": [],
        "topics": [{"name": topic, "kind": "external"} for topic in [*reads, *writes]],
    }


def _watermark(progress: Mapping[str, Any]) -> int:
    """Milliseconds; -1 where the query has none. Before the first record Spark says 1970."""
    text = (progress.get("eventTime") or {}).get("watermark")
    moment = int(datetime.fromisoformat(text).timestamp() * 1000) if text else 0
    return moment if moment > 0 else -1
