"""What /metrics shows: connectors and tasks by state, and what this worker measures, by Kafka Connect's names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4"
PREFIX = "caudal_connect_"
_WHERE = ("state", "worker")
_TASK = re.compile(r"(.+)-(\d+)")


def metrics_text(
    statuses: list[dict[str, Any]],
    measured: Mapping[str, Mapping[str, float]],
    answered: Mapping[tuple[str, int], int],
) -> bytes:
    """`measured`: by worker (the empty name), connector or task (`orders-0`)."""
    registry = CollectorRegistry()
    registry.register(_Worker(statuses, measured, answered))
    return generate_latest(registry)


class _Worker(Collector):
    def __init__(
        self,
        statuses: list[dict[str, Any]],
        measured: Mapping[str, Mapping[str, float]],
        answered: Mapping[tuple[str, int], int],
    ) -> None:
        self._statuses = statuses
        self._measured = measured
        self._answered = answered

    def collect(self) -> Iterable[Metric]:
        # Every worker knows the states of all, so that any one can be asked.
        yield _states("connectors", "Connectors of the cluster", [each["connector"] for each in self._statuses])
        tasks = [task for each in self._statuses for task in each.get("tasks", ())]
        yield _states("tasks", "Tasks of the cluster", tasks)
        yield from self._each()
        requests = CounterMetricFamily(f"{PREFIX}requests", "Requests that were answered", labels=["method", "status"])
        for (method, status), count in sorted(self._answered.items()):
            requests.add_metric([method, str(status)], count)
        yield requests
        yield from self._measurements()

    def _each(self) -> Iterable[Metric]:
        """What Kafka Connect has as texts (status, connector-class, …): labels of a one."""
        about = GaugeMetricFamily(
            f"{PREFIX}connector_info", "Connectors and what they are", labels=["connector", "class", "type", "version"]
        )
        connectors = GaugeMetricFamily(f"{PREFIX}connector_status", "Their states", labels=["connector", *_WHERE])
        tasks = GaugeMetricFamily(f"{PREFIX}task_status", "States of tasks", labels=["connector", "task", *_WHERE])
        for each in self._statuses:
            name, connector = each["name"], each["connector"]
            kind = [each.get("class") or "", each.get("type") or "", connector.get("version") or ""]
            about.add_metric([name, *kind], 1)
            connectors.add_metric([name, connector["state"], connector.get("worker_id") or ""], 1)
            for task in each.get("tasks", ()):
                tasks.add_metric([name, str(task["id"]), task["state"], task.get("worker_id") or ""], 1)
        return about, connectors, tasks

    def _measurements(self) -> Iterable[Metric]:
        connectors = {each["name"] for each in self._statuses}
        families: dict[tuple[str, str], Metric] = {}
        for subject, values in self._measured.items():
            labels = _labels(subject, connectors)
            for name, value in values.items():
                # One family has one set of labels: what a worker and a task both measure are two.
                scope = {0: "worker_", 1: "connector_", 2: "task_"}[len(labels)]
                key = (scope, name)
                if key not in families:
                    families[key] = _family(scope, name, list(labels))
                families[key].add_metric(list(labels.values()), value)  # type: ignore[attr-defined]
        yield from families.values()


def _states(name: str, words: str, parts: list[dict[str, Any]]) -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}{name}", f"{words}, by state", labels=["state"])
    for state, count in sorted(Counter(part["state"] for part in parts).items()):
        family.add_metric([state], count)
    return family


def _labels(subject: str, connectors: set[str]) -> dict[str, str]:
    if subject in ("", "worker") and subject not in connectors:
        return {}
    found = _TASK.fullmatch(subject)
    if subject in connectors or found is None:
        return {"connector": subject}
    return {"connector": found[1], "task": found[2]}


def _family(scope: str, name: str, labels: list[str]) -> Metric:
    """`source-record-poll-total` of a task → caudal_connect_task_source_record_poll_total."""
    plain = PREFIX + scope + re.sub(r"[^a-zA-Z0-9]+", "_", name)
    words = name.replace("-", " ")
    if plain.endswith("_total"):
        return CounterMetricFamily(plain.removesuffix("_total"), words, labels=labels)
    return GaugeMetricFamily(plain, words, labels=labels)
