"""The object sink, called as the framework calls it: names, cuts, folders, reruns, errors."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import fsspec
import pytest
from tests.unit.connect.connectors.contexts import SinkSide, start_sink

from caudal.connect.connectors.object_sink.connector import ObjectSink, ObjectSinkTask
from caudal.connect.connectors.object_sink.storage import FileSystemStorage
from caudal.connect.data import INT32, INT64, STRING, Schema, struct
from caudal.connect.errors import ConnectError, DataError, RetriableError
from caudal.connect.records import SinkRecord, TopicPartition

ORDERS = TopicPartition("orders", 0)
ORDER = struct("order", id=INT64, city=STRING.as_optional())


def order(offset: int, city: str | None = "Bern", timestamp: int = 0, schema: Schema | None = None) -> SinkRecord:
    value = {"id": offset, "city": city}
    return SinkRecord("orders", 0, offset, value, schema or ORDER, timestamp=timestamp)


def sink(
    folder: Path, partitions: Iterable[TopicPartition] = (ORDERS,), **more: Any
) -> tuple[ObjectSinkTask, SinkSide]:
    config = {name.replace("_", "."): str(value) for name, value in more.items()}
    config = {"url": str(folder), "caudal.allowed.folders": str(folder), "flush.size": "3", **config}
    return start_sink(ObjectSink, config, partitions)


def files(folder: Path) -> dict[str, list[int]]:
    """The ids in every file, by path."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): [json.loads(line)["id"] for line in path.read_text().splitlines()]
        for path in found
    }


def test_files_are_cut_by_count_and_named_by_their_first_offset(tmp_path: Path) -> None:
    task, _ = sink(tmp_path)
    task.put([order(offset) for offset in range(5)])
    assert files(tmp_path) == {"topics/orders/partition=0/orders+0+0000000000.json": [0, 1, 2]}
    assert task.pre_commit({ORDERS: 5}) == {ORDERS: 3}
    task.put([order(5)])
    assert task.pre_commit({ORDERS: 6}) == {ORDERS: 6}
    assert files(tmp_path)["topics/orders/partition=0/orders+0+0000000003.json"] == [3, 4, 5]


def test_nothing_is_committed_before_the_first_file(tmp_path: Path) -> None:
    task, _ = sink(tmp_path)
    task.put([order(0), order(1)])
    assert task.pre_commit({ORDERS: 2}) == {}
    assert files(tmp_path) == {}


def test_a_repeated_put_writes_nothing_twice(tmp_path: Path) -> None:
    task, _ = sink(tmp_path)
    records = [order(offset) for offset in range(4)]
    task.put(records)
    task.put(records)
    task.put([*records[2:], order(4), order(5)])
    assert list(files(tmp_path).values()) == [[0, 1, 2], [3, 4, 5]]


def test_a_rerun_after_a_lost_commit_writes_the_same_files(tmp_path: Path) -> None:
    records = [order(offset) for offset in range(0, 20, 2)]  # with gaps, as compacted topics have them
    first, _ = sink(tmp_path)
    first.put(records)
    before = files(tmp_path)
    again, _ = sink(tmp_path)
    again.put(records[:5])
    again.put(records[5:])
    assert files(tmp_path) == before
    assert again.pre_commit({}) == {ORDERS: 18}


@pytest.mark.parametrize("flush", [1, 2, 4, 7, 100])
@pytest.mark.parametrize("partitioner", ["default", "field"])
def test_a_rerun_with_other_cuts_leaves_no_record_twice(tmp_path: Path, flush: int, partitioner: str) -> None:
    """The first run wrote more than was committed, and the second cuts elsewhere: it follows the names it finds."""
    by: dict[str, Any] = {"partitioner_class": partitioner, "partition_field_name": "city"}
    records = [order(offset, "abc"[offset * offset % 3]) for offset in range(20)]
    first, _ = sink(tmp_path, **by)
    first.put(records[:17])
    second, _ = sink(tmp_path, **{**by, "flush_size": flush})
    for offset in range(6, 20):
        second.put([records[offset]])
    last, _ = sink(tmp_path, **{**by, "flush_size": 1})
    begin = second.pre_commit({}).get(ORDERS, 6)
    last.put(records[begin:])
    ids = sorted(each for held in files(tmp_path).values() for each in held)
    assert ids == list(range(20))


def test_partitions_and_topics_have_their_own_folders(tmp_path: Path) -> None:
    other = TopicPartition("users", 7)
    task, _ = sink(tmp_path, [ORDERS, other], flush_size=1, topics_dir="")
    task.put([order(0), SinkRecord("users", 7, 3, {"id": 9}), order(1)])
    assert files(tmp_path) == {
        "orders/partition=0/orders+0+0000000000.json": [0],
        "orders/partition=0/orders+0+0000000001.json": [1],
        "users/partition=7/users+7+0000000003.json": [9],
    }


def test_two_topics_routed_into_one_do_not_overwrite_each_other(tmp_path: Path) -> None:
    places = [TopicPartition("a", 0), TopicPartition("b", 0)]
    task, _ = sink(tmp_path, places, flush_size=1)
    task.put([SinkRecord("all", 0, 0, {"id": n}, original=(name, 0, 0)) for n, name in enumerate("ab")])
    assert sorted(files(tmp_path).values()) == [[0], [1]]
    assert task.pre_commit({}) == dict.fromkeys(places, 1)


def test_folders_by_field_hold_no_path_of_the_data(tmp_path: Path) -> None:
    task, _ = sink(tmp_path, flush_size=3, partitioner_class="field", partition_field_name="city,id")
    task.put([order(0, "../../etc"), order(1, None), order(2, "a/b")])
    assert list(files(tmp_path)) == [
        "topics/orders/city=..%2F..%2Fetc/id=0/orders+0+0000000000.json",
        "topics/orders/city=__HIVE_DEFAULT_PARTITION__/id=1/orders+0+0000000001.json",
        "topics/orders/city=a%2Fb/id=2/orders+0+0000000002.json",
    ]


def test_folders_by_time_and_cuts_by_the_records_timestamps(tmp_path: Path) -> None:
    hour = 3_600_000
    task, _ = sink(
        tmp_path, flush_size=100, partitioner_class="io.confluent.connect.storage.partitioner.TimeBasedPartitioner",
        path_format="'day'=YYYY-MM-dd/'hour'=HH", timezone="Europe/Berlin", rotate_interval_ms=hour,
    )  # fmt: skip
    task.put([order(0, timestamp=0), order(1, timestamp=10), order(2, timestamp=hour), order(3, timestamp=3 * hour)])
    assert files(tmp_path) == {
        "topics/orders/day=1970-01-01/hour=01/orders+0+0000000000.json": [0, 1],
        "topics/orders/day=1970-01-01/hour=02/orders+0+0000000002.json": [2],
    }
    assert task.pre_commit({}) == {ORDERS: 3}


def test_cuts_by_the_clock_come_without_records_too(tmp_path: Path) -> None:
    task, _ = sink(tmp_path, flush_size=100, rotate_schedule_interval_ms=1)
    task.put([order(0)])
    while not files(tmp_path):
        task.put([])
    assert task.pre_commit({}) == {ORDERS: 1}


def test_a_change_of_schema_begins_a_new_file(tmp_path: Path) -> None:
    task, _ = sink(tmp_path)
    newer = struct("order", id=INT64, city=STRING.as_optional(), floor=INT32.as_optional())
    task.put([order(0), order(1, schema=newer), order(2, schema=newer)])
    task.put([order(3)])
    assert list(files(tmp_path).values()) == [[0], [1, 2]]


def test_tombstones_and_bad_records_are_reported_and_passed_over(tmp_path: Path) -> None:
    task, side = sink(tmp_path, flush_size=2)
    bad = SinkRecord("orders", 0, 1, {"id": 1, "what": object()}, ORDER)
    task.put([order(0), bad, SinkRecord("orders", 0, 2), order(3)])
    assert [record.offset for record, _ in side.reported] == [1, 2]
    assert files(tmp_path) == {"topics/orders/partition=0/orders+0+0000000000.json": [0]}
    task.put([order(4)])
    assert task.pre_commit({}) == {ORDERS: 5}
    ignoring, side = sink(tmp_path / "b", behavior_on_null_values="ignore")
    ignoring.put([SinkRecord("orders", 0, 2)])
    assert side.reported == [] and ignoring.pre_commit({}) == {ORDERS: 3}


def test_a_bad_record_fails_the_task_when_none_are_tolerated(tmp_path: Path) -> None:
    config = {"url": str(tmp_path), "caudal.allowed.folders": str(tmp_path), "flush.size": "1"}
    task, _ = start_sink(ObjectSink, config, [ORDERS], tolerates=False)
    with pytest.raises(DataError, match="cannot be written as JSON"):
        task.put([SinkRecord("orders", 0, 0, {"x": object()})])


def test_a_store_that_fails_for_a_while_gets_every_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, _ = sink(tmp_path, flush_size=2, partitioner_class="field", partition_field_name="city")
    storage: Any = task._rules.storage
    put, calls = storage.put, 0

    def failing(path: str, content: BinaryIO, replaces: Any) -> None:
        nonlocal calls
        calls += 1
        if calls % 2:
            raise RetriableError("throttled")
        put(path, content, replaces)

    monkeypatch.setattr(storage, "put", failing)
    records = [order(offset, "ab"[offset % 2]) for offset in range(10)]
    for _ in range(50):
        try:
            task.put(records)
            break
        except RetriableError:
            assert task.pre_commit({}).get(ORDERS, 0) <= 2 * calls
    assert task.pre_commit({}) == {ORDERS: 10}
    assert sorted(each for held in files(tmp_path).values() for each in held) == list(range(10))


def test_what_is_lost_to_another_task_leaves_nothing_behind(tmp_path: Path) -> None:
    task, _ = sink(tmp_path)
    task.put([order(0), order(1)])
    task.close({ORDERS})
    task.open({ORDERS})
    task.put([order(offset) for offset in range(3)])
    assert list(files(tmp_path).values()) == [[0, 1, 2]]


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("leftover", [False, True])
def test_a_task_that_wakes_after_its_successor_overwrites_nothing(tmp_path: Path, size: int, leftover: bool) -> None:
    """With cuts by the clock its file has other records than its successor's of the same name: fewer or more."""
    records = [order(offset) for offset in range(6)]
    if leftover:  # which both of them see, and may replace
        died, _ = sink(tmp_path, flush_size=1)
        died.put(records[:1])
    sleeping, _ = sink(tmp_path, flush_size=100)
    sleeping.put(records[:size])
    successor, _ = sink(tmp_path, flush_size=3)
    successor.put(records)
    before = files(tmp_path)
    assert list(before.values()) == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ConnectError, match="was written by another task in the meantime"):
        sleeping._writers[ORDERS]._cut(None)  # as the clock does
    assert files(tmp_path) == before and sleeping.pre_commit({}) == {}


def test_the_same_file_of_two_tasks_is_no_conflict(tmp_path: Path) -> None:
    tasks = [sink(tmp_path)[0] for _ in range(2)]
    for task in tasks:
        task.put([order(0)])
    for task in tasks:
        task.put([order(offset) for offset in range(1, 6)])
        assert task.pre_commit({}) == {ORDERS: 6}
    assert list(files(tmp_path).values()) == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("renames", [False, True])
def test_other_stores_do_not_overwrite_either(renames: bool) -> None:
    storage = FileSystemStorage(fsspec.filesystem("memory"), f"/sleepers-{renames}", is_atomic=not renames)
    storage.put("a", io.BytesIO(b"one"))
    storage.put("a", io.BytesIO(b"one"))
    with pytest.raises(ConnectError, match="a was written by another task"):
        storage.put("a", io.BytesIO(b"two"))
    storage.put("a", io.BytesIO(b"two"), storage.names("")["a"])


def test_temporary_files_of_a_dead_run_are_swept(tmp_path: Path) -> None:
    folder = tmp_path / "topics/orders/partition=0"
    folder.mkdir(parents=True)
    (folder / ".orders+0+0000000000.json.abcd.tmp").write_text("half")
    (folder / ".orders+1+0000000000.json.abcd.tmp").write_text("another's")
    task, _ = sink(tmp_path, flush_size=1)
    task.put([order(0)])
    assert sorted(path.name for path in folder.iterdir()) == [
        ".orders+1+0000000000.json.abcd.tmp", "orders+0+0000000000.json",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "key", "words"),
    [
        ({"url": "/etc"}, "url", "outside of the folders"),
        ({"url": ""}, "url", "say where the files go"),
        ({"url": "simplecache::s3://b"}, "url", "wraps another"),
        ({"url": "zip://x"}, "url", "wraps another"),
        ({"url": "nonsense://x"}, "url", "cannot be opened"),
        ({"topics.dir": "../x"}, "topics.dir", "without dots"),
        ({"partitioner.class": "field"}, "partition.field.name", "name the fields"),
        ({"partitioner.class": "time", "path.format": "bob"}, "path.format", "means nothing"),
        ({"partitioner.class": "time", "timezone": "Mars"}, "timezone", "not a known time zone"),
        ({"storage.options": "[", "url": "memory://x"}, "storage.options", "JSON object"),
    ],
)
def test_wrong_configurations_are_named(tmp_path: Path, given: dict[str, str], key: str, words: str) -> None:
    config = {"url": str(tmp_path), "caudal.allowed.folders": str(tmp_path), "flush.size": "1", **given}
    errors = ObjectSink.check(ObjectSink.config().parse(config))
    assert list(errors) == [key] and words in errors[key][0]
