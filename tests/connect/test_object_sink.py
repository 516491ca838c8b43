"""The object sink in real tasks: killed in the middle, every record is in one file, in a folder as in S3."""

from __future__ import annotations

import io
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, TopicPartition

from caudal.connect.connectors.object_sink.connector import ObjectSink, storage_of
from caudal.connect.errors import ConnectError
from caudal.connect.runtime.model import State
from caudal.connect.runtime.tasks.process_host import TaskProcess
from caudal.testing import EmbeddedBroker
from tests.connect.s3 import S3Store, s3_store
from tests.connect.task_harness import Bench, Heard, wait_for

PARTITIONS, PER_RUN, KILLS = 2, 300, 4
EXPECTED = PARTITIONS * PER_RUN * KILLS


class Store(NamedTuple):
    config: dict[str, str]
    names: Callable[[], list[str]]
    contents: Callable[[], dict[str, bytes]]


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Store]:
    with s3_store() as running:
        yield running


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    # Commits are rare: kills find files that are written and not committed. Sessions of the killed end soon.
    rare = {"offset_flush_seconds": 30.0, "session_timeout_ms": 1500, "heartbeat_interval_ms": 300}
    made = Bench(broker.bootstrap, tmp_path, allowed_folders=(tmp_path,), **rare)
    yield made
    made.close()


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "s3":
        running: S3Store = request.getfixturevalue("s3")
        folder = tmp_path.name
        config = {**running.sink_config(), "topics.dir": folder}
        return Store(config, partial(running.names, folder), partial(running.contents, folder))
    path = tmp_path / "archive"
    config = {"connector.class": "ObjectSink", "url": str(path), "topics.dir": ""}
    return Store(config, partial(_names, path), partial(_contents, path))


def _names(folder: Path) -> list[str]:
    """Hidden ones are not whole."""
    found = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return [str(path.relative_to(folder)) for path in found]


def _contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in _names(folder)}


def start(bench: Bench, name: str, config: dict[str, str]) -> tuple[Any, Any]:
    return bench.start(config["connector.class"], name, {"topics": name, **config})


def values(store: Store) -> list[Any]:
    return [json.loads(line) for content in store.contents().values() for line in content.splitlines()]


def _has_more(store: Store, before: int, heard: Heard) -> bool:
    assert State.FAILED not in heard.states, heard.traces
    return len(store.names()) > before + 2


# Cuts that follow from the records, in one folder or several; and cuts by chance, elsewhere in every run.
CUTS: dict[str, Callable[[int], dict[str, str]]] = {
    "by count": lambda run: {"flush.size": "60"},
    "by field": lambda run: {"flush.size": "60", "partitioner.class": "field", "partition.field.name": "city"},
    "by chance": lambda run: {"flush.size": str([60, 7, 150, 20][run % 4]), "rotate.schedule.interval.ms": "40"},
}


USUAL = [("folder", "by chance"), ("s3", "by count")]
OTHERS = [(store, cuts) for store in ("folder", "s3") for cuts in CUTS if (store, cuts) not in USUAL]


@pytest.mark.parametrize(
    ("store", "cuts"), [*USUAL, *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS)], indirect=["store"]
)
def test_killed_again_and_again_every_record_is_in_one_file(
    bench: Bench, broker: EmbeddedBroker, store: Store, cuts: str
) -> None:
    name = f"{cuts}-{bench.folder.name}".replace(" ", "-").replace("[", "-").replace("]", "")
    broker.create_topic(name, PARTITIONS)
    config = {**store.config, "consumer.override.max.poll.records": "30"}
    for run in range(KILLS):
        for partition in range(PARTITIONS):
            numbers = range(run * PER_RUN, (run + 1) * PER_RUN)
            bench.produce(name, [{"id": f"{partition}-{n}", "city": "abc"[n * n % 3]} for n in numbers], partition)
        before = len(store.names())
        task, heard = start(bench, name, config | CUTS[cuts](run))
        assert isinstance(task, TaskProcess)  # it says so itself
        wait_for(partial(_has_more, store, before, heard), "files")
        os.kill(task.pid, signal.SIGKILL)
        heard.wait(State.FAILED)
        if cuts != "by chance":  # there a rerun may have cut a file shorter, and not come to its end again
            found = Counter(value["id"] for value in values(store))
            assert max(found.values()) == 1
    assert sum(committed(bench, name)) == 0, "no kill found files that were written and not committed"
    task, heard = start(bench, name, config | CUTS[cuts](0) | {"rotate.schedule.interval.ms": "40"})

    def is_complete() -> bool:
        assert State.FAILED not in heard.states, heard.traces
        return len({value["id"] for value in values(store)}) == EXPECTED

    wait_for(is_complete, "all records")
    bench.stop(task)
    found = Counter(value["id"] for value in values(store))
    assert len(found) == EXPECTED and set(found.values()) == {1}
    assert committed(bench, name) == [PER_RUN * KILLS] * PARTITIONS


def committed(bench: Bench, name: str) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bench.bootstrap, "group.id": f"connect-{name}"})
    try:
        places = consumer.committed([TopicPartition(name, each) for each in range(PARTITIONS)], timeout=60)
        return [max(place.offset, 0) for place in places]
    finally:
        consumer.close()


def test_parquet_columns_come_from_the_schema_in_the_topic(bench: Bench, broker: EmbeddedBroker, store: Store) -> None:
    name = f"parquet-{bench.folder.name}".replace("[", "-").replace("]", "")
    broker.create_topic(name, 1)
    fields = [{"field": "id", "type": "int64"}, {"field": "city", "type": "string", "optional": True}]
    schema = {"type": "struct", "name": "order", "fields": fields}
    bench.produce(
        name, [{"schema": schema, "payload": {"id": n, "city": None if n % 2 else "Bern"}} for n in range(30)]
    )
    config = {
        **store.config, "flush.size": "10", "value.converter": "Json", "value.converter.schemas.enable": "true",
        "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
    }  # fmt: skip
    task, _ = start(bench, name, config)
    wait_for(lambda: len(store.names()) == 3, "three files")
    bench.stop(task)
    names = [path.rsplit("/", 1)[1] for path in sorted(store.contents())]
    assert names == [f"{name}+0+{n:010}.parquet" for n in (0, 10, 20)]
    tables = [pq.read_table(io.BytesIO(content)) for _, content in sorted(store.contents().items())]
    rows = [row for table in tables for row in table.to_pylist()]
    assert rows == [{"id": n, "city": None if n % 2 else "Bern"} for n in range(30)]
    assert str(tables[0].schema.field("id").type) == "int64" and not tables[0].schema.field("id").nullable


def test_large_files_go_to_s3_in_parts(bench: Bench, broker: EmbeddedBroker, s3: S3Store) -> None:
    broker.create_topic("large", 1)
    text = "x" * 500_000
    bench.produce("large", [{"id": n, "text": text} for n in range(100)])
    task, _ = start(bench, "large", {**s3.sink_config(), "topics.dir": "large", "flush.size": "100"})
    wait_for(lambda: s3.names("large"), "the file")
    bench.stop(task)
    ((path, content),) = s3.contents("large").items()
    assert path == "large/large/partition=0/large+0+0000000000.json" and len(content) > 50_000_000
    assert [json.loads(line)["id"] for line in content.splitlines()] == list(range(100))


@pytest.mark.parametrize("size", [10, 40 << 20], ids=["whole", "parts"])
def test_s3_refuses_to_overwrite_what_another_has_written(s3: S3Store, size: int) -> None:
    storage = storage_of(ObjectSink.config().parse({**s3.sink_config(), "flush.size": "1"}))
    ours, theirs = io.BytesIO(b"a" * size), io.BytesIO(b"b" * size)
    name = f"sleepers/{size}"
    storage.put(name, ours)
    storage.put(name, ours)  # the answer to the first was lost
    with pytest.raises(ConnectError, match="was written by another task in the meantime"):
        storage.put(name, theirs)
    seen = storage.names("sleepers")[str(size)]
    storage.put(name, theirs, seen)
    assert s3.contents("sleepers")[name] == theirs.getvalue()
    if size <= 32 << 20:
        with pytest.raises(ConnectError, match="was written by another task in the meantime"):
            storage.put(name, ours, seen)


def test_a_bucket_that_is_not_there_is_said_at_the_start(s3: S3Store) -> None:
    config = ObjectSink.config().parse({**s3.sink_config(), "s3.bucket.name": "nowhere", "flush.size": "1"})
    with pytest.raises(ConnectError, match="there is no bucket nowhere"):
        ObjectSink().start(config)
