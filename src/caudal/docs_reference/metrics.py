"""Every metric of every server: the names, kinds, labels and words that `/metrics` has, from the code that makes them.

The broker's come from one that runs in this process for a moment, for some of them exist only beside topics and
groups. What Connect's tasks measure has Kafka Connect's names, and is listed by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from unittest.mock import Mock

from caudal.docs_reference.markdown import code, sentence, table

INTRODUCTION = """# Metrics

Prometheus' text format, at `/metrics` of each server. [Monitoring with Prometheus](../howto/monitoring.md) has the
configuration for scraping, alerts and a query for lag.
"""


class Family(NamedTuple):
    name: str
    kind: str
    words: str
    labels: tuple[str, ...]


def page() -> str:
    parts = [INTRODUCTION]
    for title, where, families in (
        ("Broker", "Port 9404, or the next free one.", broker_families()),
        ("Schema Registry", "Port 8081.", registry_families()),
        ("Connect", "Port 8083. [Connect](../connect.md#metrics) has more: rates, averages and the worker's own, "
         "all by Kafka Connect's names.", connect_families()),
        ("KSQL", "Port 8088.", ksql_families()),
        ("Control center", "Port 9021.", control_center_families()),
        ("Streams applications", "`caudal run --metrics-port N`.", streams_families()),
    ):  # fmt: skip
        rows = [
            (code(each.name), each.kind, ", ".join(map(code, each.labels)), sentence(each.words)) for each in families
        ]
        parts.append(f"## {title}\n\n{where}\n\n{table(('metric', 'kind', 'labels', 'what it is'), rows)}")
    return "\n".join(parts)


def broker_families() -> Iterator[Family]:
    from caudal.testing import embedded_broker

    with embedded_broker() as running:
        broker = running.broker
        found = running.call(lambda: [each for each in broker.metrics.families(broker) if each is not None])
    for each in found:
        yield Family(each.name, each.kind, each.help, each.labels)


def registry_families() -> Iterator[Family]:
    from caudal.registry.http import App
    from caudal.registry.instance import Instance, Settings
    from caudal.registry.metrics import InstanceCollector

    instance = Instance(Settings({}, "http://localhost"))
    yield from _collected(InstanceCollector(instance, App([], instance.index, "localhost")).collect())


def connect_families() -> Iterator[Family]:
    from caudal.connect.runtime.tasks.task_metrics import ERRORS, SINK, SOURCE
    from caudal.connect.server.metrics import metrics_text

    names = [name for kind in (SOURCE, SINK, ERRORS) for part in ("counters", "gauges") for name in kind[part]]
    place = ("state", "worker")
    labels = {
        "caudal_connect_connectors": ("state",),
        "caudal_connect_tasks": ("state",),
        "caudal_connect_connector_info": ("connector", "class", "type", "version"),
        "caudal_connect_connector_status": ("connector", *place),
        "caudal_connect_task_status": ("connector", "task", *place),
        "caudal_connect_requests_total": ("method", "status"),
    }
    yield from _written(metrics_text([], {"orders-0": dict.fromkeys(names, 0.0)}, {}).decode(), labels)


def ksql_families() -> Iterator[Family]:
    from caudal.ksql.server.overview import Overview
    from caudal.ksql.testing.in_process import InProcess

    with InProcess() as engine:
        yield from _written(Overview(engine).prometheus(), {"caudal_ksql_query_records_total": ("query",)})


def control_center_families() -> Iterator[Family]:
    from caudal.ui.server import metrics_text

    platform: Any = Mock()
    yield from _written(metrics_text(platform), {})


def streams_families() -> Iterator[Family]:
    from caudal.runtime.spark.deadline import Deadline
    from caudal.runtime.spark.metrics import ApplicationMetrics

    metrics = ApplicationMetrics("shop", Deadline.parse("soft 200 ms"))
    more = {
        "caudal_streams_dropped_records_total": ("application", "reason"),
        "caudal_streams_lag": ("application", "topic", "partition"),
        "caudal_streams_latency_seconds": ("application", "quantile"),
        "caudal_streams_batch_seconds": ("application", "quantile"),
    }
    yield from _written(metrics.prometheus("RUNNING"), more)


def _collected(metrics: Iterable[Any]) -> Iterator[Family]:
    for metric in metrics:
        ending = "_total" if metric.type == "counter" else ""
        yield Family(metric.name + ending, metric.type, metric.documentation, tuple(metric._labelnames))


def _written(text: str, labels: dict[str, tuple[str, ...]]) -> Iterator[Family]:
    """From the text itself; `labels` are of families that have no sample yet."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE))
    for name, words in re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE):
        sample = re.search(rf"^{name}{{(.*)}}", text, re.MULTILINE)
        shown = tuple(re.findall(r'(\w+)="', sample[1])) if sample else labels.get(name, ())
        yield Family(name, kinds[name], words, shown)
