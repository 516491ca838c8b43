"""What goes wrong ends in one sentence, or where the handler says: bad records, refused records, topics."""

from __future__ import annotations

import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from caudal.runtime.errors import StreamsError
from caudal.runtime.spark.host import SparkHost
from caudal.serde import Json, String
from caudal.streams import StreamsBuilder
from caudal.streams.application import Application, start_all

from .conftest import Kafka

Names = Callable[[str], str]


@pytest.fixture
def host(spark: Any) -> Iterator[SparkHost]:
    host = SparkHost(threads=2)
    yield host
    host.close()


def doubled(application_id: str, source: str, target: str) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    stream = builder.stream(source, key=String(), value=Json())
    stream.map_values(lambda order: {"amount": order["amount"] * 2}).to(target, key=String(), value=Json())
    return builder


def test_bad_records_fail_skip_or_go_to_the_dead_letters(
    kafka: Kafka, host: SparkHost, unique: Names, tmp_path: Path
) -> None:
    """Four applications on one host read the same topic; the one that fails leaves the others alone."""
    source, letters = unique("orders"), unique("letters")
    targets = [unique(name) for name in ("failing", "skipping", "burying", "tolerant")]
    kafka.create(source, letters, *targets, partitions=1)
    settings: list[dict[str, Any]] = [
        {},
        {"on_bad_record": "skip", "on_processing_error": "skip"},
        {"on_bad_record": "dead letter", "on_processing_error": "dead-letter", "dead_letter_topic": letters},
        {"on_bad_record": "skip", "on_processing_error": "skip", "on_produce_error": "skip"},
    ]
    builders = [doubled(target, source, target) for target in targets]
    # The last one writes too much for one record where the amount is 4.
    builders[3] = StreamsBuilder(targets[3])
    stream = builders[3].stream(source, key=String(), value=Json())
    stream.map_values(lambda order: "x" * 3_000_000 if order["amount"] == 4 else "fine").to(
        targets[3], key=String(), value=Json()
    )
    applications = [
        Application(builder, host=host, bootstrap=kafka.bootstrap, state_dir=str(tmp_path), **given)
        for builder, given in zip(builders, settings, strict=True)
    ]
    failing, skipping, burying, tolerant = start_all(applications, host=host)
    good = [("a", '{"amount": 1}'), ("b", "no json"), ("c", '{"price": 3}'), ("d", '{"amount": 4}')]
    kafka.send(source, *good)

    assert [m.value() for m in kafka.read(targets[1], 2)] == [b'{"amount":2}', b'{"amount":8}']
    assert [m.value() for m in kafka.read(targets[2], 2)] == [b'{"amount":2}', b'{"amount":8}']
    assert [m.value() for m in kafka.read(targets[3], 1)] == [b'"fine"']
    buried = {m.key(): (m.value(), dict(m.headers())) for m in kafka.read(letters, 2)}
    assert buried.keys() == {b"b", b"c"}
    assert buried[b"b"][0] == b"no json"
    assert buried[b"c"][1]["__streams.errors.topic"] == source.encode()
    assert buried[b"c"][1]["__streams.errors.offset"] == b"2"
    assert b"price" in buried[b"c"][0]
    assert failing.wait(30)
    assert failing.state == "ERROR"
    assert failing.failure is not None
    assert f"the record at offset 1 of topic '{source}', partition 0" in failing.failure
    assert [m.value() for m in kafka.read(targets[0])] == [], "the record before the bad one was in its transaction"
    kafka.until(lambda: skipping.metrics()["dropped"], {"deserialization error": 1, "processing error": 1})
    kafka.until(lambda: burying.state, "RUNNING")
    kafka.until(lambda: tolerant.metrics()["dropped"].get("production error"), 1)
    kafka.send(source, ("e", '{"amount": 5}'))
    assert kafka.read(targets[1], 3)[-1].value() == b'{"amount":10}'


def test_a_missing_source_topic_is_named(kafka: Kafka, start: Callable[..., Any], unique: Names) -> None:
    missing = unique("missing")
    builder = doubled(unique("app"), missing, unique("target"))
    with pytest.raises(StreamsError, match=f"Source topic '{missing}' does not exist; create it"):
        start(builder)


def test_no_broker_is_said(start: Callable[..., Any], unique: Names) -> None:
    with pytest.raises(StreamsError, match=r"No broker answers at 127\.0\.0\.1:1"):
        start(doubled(unique("app"), "a", "b"), bootstrap="127.0.0.1:1", client={"log_level": "0"})


def test_joined_topics_need_equal_partitions(kafka: Kafka, start: Callable[..., Any], unique: Names) -> None:
    left, right = unique("left"), unique("right")
    kafka.create(left, partitions=2)
    kafka.create(right, partitions=3)
    builder = StreamsBuilder(unique("join"))
    table = builder.table(right, key=String(), value=Json())
    builder.stream(left, key=String(), value=Json()).join(table, lambda a, b: a).to(unique("target"))
    with pytest.raises(StreamsError, match="need equally many partitions") as caught:
        start(builder)
    assert f"'{left}' has 2, '{right}' has 3" in str(caught.value)


def test_partitions_added_and_topics_deleted_under_way_stop_it(
    kafka: Kafka, host: SparkHost, unique: Names, tmp_path: Path
) -> None:
    grown, gone, target = unique("grown"), unique("gone"), unique("target")
    kafka.create(grown, gone, target, partitions=1)
    settings: dict[str, Any] = {"bootstrap": kafka.bootstrap, "state_dir": str(tmp_path)}
    one, two = start_all(
        [doubled(unique("one"), grown, target), doubled(unique("two"), gone, target)], host=host, **settings
    )
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_partitions([NewPartitions(grown, 3)])[grown].result(10)
    admin.delete_topics([gone])[gone].result(10)
    assert one.wait(40)
    assert two.wait(40)
    assert one.failure is not None
    assert two.failure is not None
    assert f"Source topic '{grown}' has 3 partitions now and had 1" in one.failure
    assert f"Source topic '{gone}' was deleted" in two.failure


def test_state_without_offsets_is_not_trusted(kafka: Kafka, start: Callable[..., Any], unique: Names) -> None:
    source, target, application_id = unique("orders"), unique("target"), unique("counted")

    def counted() -> StreamsBuilder:
        builder = StreamsBuilder(application_id)
        builder.stream(source, key=String(), value=Json()).group_by_key().count(store="n").to_stream().to(target)
        return builder

    kafka.create(source, target, partitions=1)
    kafka.send(source, ("a", "1"))
    app = start(counted())
    kafka.read(target, 1)
    app.stop()
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    deadline = time.monotonic() + 20
    while True:
        try:
            admin.delete_consumer_groups([application_id])[application_id].result(10)
            break
        except Exception:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    with pytest.raises(StreamsError, match=r"has state .* but no committed offset"):
        start(counted())


def test_a_program_that_workers_cannot_load_stops_at_once(
    kafka: Kafka, start: Callable[..., Any], unique: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = unique("orders")
    kafka.create(source, partitions=1)
    module = types.ModuleType("only_in_the_driver")
    exec("def keep(order): return order", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    builder = StreamsBuilder(unique("unloadable"))
    builder.stream(source, key=String(), value=Json()).map_values(module.keep).to(unique("target"))
    kafka.send(source, ("a", "1"))
    with pytest.raises(StreamsError, match="ModuleNotFoundError: No module named 'only_in_the_driver'"):
        start(builder)


def test_a_program_that_cannot_be_sent_names_the_node(kafka: Kafka, start: Callable[..., Any], unique: Names) -> None:
    source, lock = unique("orders"), threading.Lock()
    kafka.create(source, partitions=1)
    builder = StreamsBuilder(unique("unpicklable"))
    builder.stream(source).filter(lambda key, value: lock.locked(), name="guard").to(unique("target"))
    with pytest.raises(StreamsError, match=r"Node guard of .* cannot be sent to Spark's workers: TypeError"):
        start(builder)


def test_a_dead_jvm_ends_the_application_with_a_sentence(kafka: Kafka, unique: Names, tmp_path: Path) -> None:
    source, target, name = unique("orders"), unique("target"), unique("dead-jvm")
    kafka.create(source, target, partitions=1)
    kafka.send(source, ("a", "1"))
    file = tmp_path / "app.py"
    file.write_text(
        "from caudal.streams import StreamsBuilder\n"
        f"builder = StreamsBuilder({name!r})\nbuilder.stream({source!r}).to({target!r})\n"
    )
    command = [sys.executable, "-m", "caudal.cli.main", "run", str(file), "--bootstrap", kafka.bootstrap]
    told = tmp_path / "stderr"
    with told.open("w") as stderr:
        process = psutil.Popen([*command, "--threads", "1", "--state-dir", str(tmp_path)], stderr=stderr)
    try:
        kafka.read(target, 1, seconds=150)
        for child in process.children(recursive=True):
            if child.name() == "java":
                child.kill()
        assert process.wait(60) == 1
    finally:
        if process.is_running():
            process.kill()
    last = told.read_text().splitlines()[-1]
    assert last.startswith("caudal: Spark's JVM died (process ")
    assert "signal 9" in last
