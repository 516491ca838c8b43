"""An application's life on Spark: guarantees, global tables, punctuators, pause and resume, a broker that goes and
comes."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from caudal.runtime.errors import StreamsError
from caudal.runtime.record import Record
from caudal.runtime.spark.host import SparkHost
from caudal.runtime.spark.metrics_page import serve_metrics
from caudal.runtime.spark.settings import Mode
from caudal.serde import Long, String
from caudal.streams import Processor, StreamsBuilder
from caudal.streams.application import Application, start_all
from caudal.testing import EmbeddedBroker, embedded_broker

from .conftest import Kafka

Names = Callable[[str], str]


MODES = pytest.mark.parametrize("mode", [mode.value for mode in Mode])


@pytest.fixture
def host(spark: Any, mode: str) -> Iterator[SparkHost]:
    host = SparkHost(threads=2, mode=Mode(mode))
    yield host
    host.close()


def counts(application_id: str, source: str, target: str) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    stream = builder.stream(source, key=String(), value=String())
    stream.group_by_key().count(store="n").to_stream().to(target, key=String(), value=Long())
    return builder


def ticking(application_id: str, source: str, target: str) -> StreamsBuilder:
    """Says every 300 ms how many records it has seen, whether or not one comes."""

    class Ticking(Processor):
        def init(self, context: Any) -> None:
            self.context = context
            self.seen = 0
            context.schedule(300, "wall_clock_time", self.tell)

        def process(self, record: Record) -> None:
            self.seen += 1

        def tell(self, now: int) -> None:
            self.context.forward(Record("seen", self.seen, now))

    builder = StreamsBuilder(application_id)
    stream = builder.stream(source, key=String(), value=String())
    stream.process(Ticking).to(target, key=String(), value=Long())
    return builder


def named(application_id: str, source: str, table: str, target: str) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    names = builder.global_table(table, key=String(), value=String())
    stream = builder.stream(source, key=String(), value=String())
    joined = stream.join(names, lambda value, name: f"{value} {name}", key_selector=lambda key, value: value)
    joined.to(target, key=String(), value=String())
    return builder


@MODES
def test_guarantees_tables_and_punctuators_on_one_host(
    kafka: Kafka, host: SparkHost, unique: Names, tmp_path: Path, mode: str
) -> None:
    source, table = unique("source"), unique("names")
    targets = {name: unique(name) for name in ("least", "most", "ticks", "named")}
    metrics_topic = unique("metrics")
    kafka.create(source, metrics_topic, *targets.values())
    kafka.create(table, partitions=3, cleanup_policy="compact")
    kafka.send(table, ("x", "one"), ("y", "two"))
    shared: dict[str, Any] = {"host": host, "mode": mode, "bootstrap": kafka.bootstrap, "state_dir": str(tmp_path)}
    least, most, _, _ = applications = [
        Application(
            counts(targets["least"], source, targets["least"]),
            guarantee="at_least_once",
            metrics_topic=metrics_topic,
            **shared,
        ),
        Application(counts(targets["most"], source, targets["most"]), guarantee="at_most_once", **shared),
        Application(ticking(targets["ticks"], source, targets["ticks"]), **shared),
        Application(named(targets["named"], source, table, targets["named"]), **shared),
    ]
    changes: list[tuple[str, str]] = []
    least.add_state_listener(lambda new, old: changes.append((new.value, old.value)))
    start_all(applications, host=host)
    before = len(kafka.read(targets["ticks"]))
    kafka.read(targets["ticks"], before + 4, seconds=15)  # no record has come: ticks alone wake the tasks

    kafka.send(source, ("a", "x"), ("b", "y"), ("a", "x"), ("c", "z"))
    kafka.until(lambda: kafka.table(targets["least"]), {"a": 2, "b": 1, "c": 1})
    kafka.until(lambda: kafka.table(targets["most"]), {"a": 2, "b": 1, "c": 1})
    assert sorted(m.value() for m in kafka.read(targets["named"], 3)) == [b"x one", b"x one", b"y two"]
    kafka.send(table, ("z", "three"))
    kafka.send(source, ("c", "z"))
    assert kafka.read(targets["named"], 4)[-1] is not None
    assert b"z three" in [m.value() for m in kafka.read(targets["named"])]
    kafka.until(lambda: kafka.table(targets["least"])["c"], 2)

    # Paused, it reads nothing and stays the owner; the others go on.
    least.pause()
    assert least.state == "PAUSED"
    kafka.send(source, ("a", "x"))
    kafka.until(lambda: kafka.table(targets["most"])["a"], 3)
    assert kafka.table(targets["least"])["a"] == 2
    least.resume()
    kafka.until(lambda: kafka.table(targets["least"])["a"], 3)
    assert [new for new, _ in changes] == ["STARTING", "RUNNING", "PAUSED", "STARTING", "RUNNING"]

    port = serve_metrics(most, 0)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    assert f'caudal_streams_records_total{{application="{targets["most"]}"}} 6' in text
    for application in applications:
        application.stop()
    assert json.loads(kafka.read(metrics_topic, 1)[-1].value())["application"] == targets["least"]
    assert {application.state for application in applications} == {"STOPPED"}


@pytest.mark.parametrize("mode", ["micro-batch", pytest.param("real-time", marks=pytest.mark.slow)])
def test_a_broker_that_goes_and_comes(spark: Any, unique: Names, tmp_path: Path, mode: str) -> None:
    with embedded_broker() as broker:
        kafka = Kafka(broker)
        source, target = unique("source"), unique("target")
        kafka.create(source, target)
        app = Application(
            counts(unique("away"), source, target),
            bootstrap=broker.bootstrap,
            mode=mode,
            threads=2,
            state_dir=str(tmp_path),
        ).start()
        try:
            kafka.send(source, *[(f"k{index % 5}", "x") for index in range(50)])
            kafka.until(lambda: kafka.table(target), {f"k{index}": 10 for index in range(5)})
            _go_and_come(broker)
            kafka = Kafka(broker)
            kafka.send(source, *[(f"k{index % 5}", "x") for index in range(50)])
            kafka.until(lambda: kafka.table(target), {f"k{index}": 20 for index in range(5)}, seconds=100)
            assert len(kafka.read(target)) == 100
            assert app.state == "RUNNING"
        finally:
            app.stop()


def _go_and_come(broker: EmbeddedBroker) -> None:
    broker.kill()
    time.sleep(2)
    broker.start()


def test_settings_are_checked() -> None:
    builder = counts("app", "a", "b")
    with pytest.raises(StreamsError, match="mode takes 'micro-batch', 'real-time', not 'slow'"):
        Application(builder, mode="slow")
    with pytest.raises(StreamsError, match="commit_interval must be at least 1 ms"):
        Application(builder, commit_interval=-1)
    with pytest.raises(StreamsError, match="guarantee takes 'exactly_once', 'at_least_once', 'at_most_once', not 'x'"):
        Application(builder, guarantee="x")
    with pytest.raises(ValueError, match="none is named"):
        Application(builder, on_bad_record="dead letter")
