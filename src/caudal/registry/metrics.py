"""What `/metrics` shows, read from the instance when it is asked for: nothing is counted twice, no request pays."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from caudal.registry.http import App
from caudal.registry.instance import Instance

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


class InstanceCollector(Collector):
    def __init__(self, instance: Instance, app: App) -> None:
        self._instance = instance
        self._app = app

    def collect(self) -> Iterable[Metric]:
        index = self._instance.index
        yield GaugeMetricFamily("caudal_registry_subjects", "Subjects, soft-deleted ones included", len(index.subjects))
        versions = sum(len(numbers) for numbers in index.subjects.values())
        yield GaugeMetricFamily("caudal_registry_versions", "Versions of all subjects", versions)
        schemas = sum(len(context.ids) for context in index.contexts.values())
        yield GaugeMetricFamily("caudal_registry_schemas", "Schemas with an id", schemas)
        yield CounterMetricFamily(
            "caudal_registry_broken_records", "Records of the topic that were skipped", index.broken
        )
        yield GaugeMetricFamily("caudal_registry_writer", "1 if this instance writes", int(self._instance.is_writer))
        yield GaugeMetricFamily(
            "caudal_registry_position", "Offset up to which the topic was read", self._instance.position
        )
        requests = CounterMetricFamily(
            "caudal_registry_requests", "Requests that were answered", labels=["method", "status"]
        )
        for (method, status), count in sorted(self._app.answered.items()):
            requests.add_metric([method, str(status)], count)
        yield requests


class MetricsPage:
    def __init__(self, instance: Instance, app: App) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(InstanceCollector(instance, app))

    def text(self) -> bytes:
        return generate_latest(self._registry)
