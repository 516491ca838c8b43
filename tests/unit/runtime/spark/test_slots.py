"""Tasks to slots, rows to chunks, Spark's log to ranges: the pure parts of the Spark host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from caudal.runtime.spark.batch_ranges import BatchRanges
from caudal.runtime.spark.metrics import ApplicationMetrics
from caudal.runtime.spark.settings import Cargo, Settings
from caudal.runtime.spark.slots import assign, partitions_read, slot_count
from caudal.serde import String
from caudal.streams import StreamsBuilder


def cargo(application_id: str, source: str = "in", partitions: int = 4) -> Cargo:
    builder = StreamsBuilder(application_id, key=String(), value=String())
    builder.stream(source).select_key(lambda key, value: value).group_by_key().count(store="n").to_stream().to("out")
    topology = builder.build()
    counts = {source: partitions, f"{application_id}-n-repartition": partitions}
    return Cargo(topology, Settings(), counts, frozenset())


def test_tasks_are_dealt_out_evenly_and_always_alike() -> None:
    slots = assign([cargo("app")], 3)
    names = [[f"{task.sub}_{task.partition}" for task in slot.tasks] for slot in slots]
    assert names == [["0_0", "0_3", "1_2"], ["0_1", "1_0", "1_3"], ["0_2", "1_1"]]
    assert slots[0].sources[0].partitions == {"app-keeper": {0}, "in": {0, 3}, "app-n-repartition": {2}}
    assert assign([cargo("app")], 3) == slots


def test_more_threads_than_tasks_stay_idle() -> None:
    assert slot_count([cargo("app", partitions=1)], 8) == 2
    assert slot_count([cargo("app")], 3) == 3


def test_real_time_mode_needs_no_ticks_and_a_thread_for_each_partition() -> None:
    slots = assign([cargo("app")], 3, ticks=False)
    assert slots[0].sources[0].partitions == {"in": {0, 3}, "app-n-repartition": {2}}
    assert partitions_read([cargo("app")]) == 8
    assert partitions_read([cargo("a"), cargo("b", partitions=2)]) == 12


def test_applications_share_a_source_unless_they_read_the_same_topic() -> None:
    """Two readers of one partition may be at different offsets: they need two sources."""
    (slot,) = assign([cargo("a"), cargo("b"), cargo("c", source="other")], 1)
    assert [sorted(source.applications) for source in slot.sources] == [["a", "c"], ["b"]]


def test_an_application_that_catches_up_has_a_source_of_its_own() -> None:
    apart = [cargo("a"), cargo("b", source="old"), cargo("c", source="other")]
    (slot,) = assign(apart, 1, behind={"b"})
    assert [(sorted(source.applications), source.catches_up) for source in slot.sources] == [
        (["a", "c"], False),
        (["b"], True),
    ]
    assert [source.catches_up for source in assign(apart, 1)[0].sources] == [False]


def test_chunks_are_runs_of_one_partition() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from caudal.runtime.spark.rows import COLUMNS, chunks

    rows = [(0, "a", 0, 5), (0, "a", 0, 6), (0, "a", 1, 2), (0, "b", 1, 9), (1, "b", 1, 9)]
    headers = [None, [{"key": "h", "value": b"x"}], None, None, None]
    kind = pyarrow.list_(pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())]))
    batch = pyarrow.record_batch(
        [
            pyarrow.array([row[0] for row in rows], pyarrow.int32()),
            pyarrow.array([row[1] for row in rows]),
            pyarrow.array([row[2] for row in rows], pyarrow.int32()),
            pyarrow.array([row[3] for row in rows], pyarrow.int64()),
            pyarrow.array([1000] * 5, pyarrow.int64()),
            pyarrow.array([None, b"k", b"k", b"k", b"k"], pyarrow.binary()),
            pyarrow.array([b"v", None, b"v", b"v", b"v"], pyarrow.binary()),
            pyarrow.array(headers, kind),
        ],
        names=list(COLUMNS),
    )
    found = list(chunks(batch))
    assert [(chunk.source, chunk.topic, chunk.partition, chunk.offsets()) for chunk in found] == [
        (0, "a", 0, [5, 6]),
        (0, "a", 1, [2]),
        (0, "b", 1, [9]),
        (1, "b", 1, [9]),
    ]
    assert found[0].headers() == [(), (("h", b"x"),)]
    assert found[1].headers() is None
    assert (found[0].keys(), found[0].values()) == ([None, b"k"], [b"v", None])


def test_ranges_come_from_sparks_log(tmp_path: Path) -> None:
    slots = assign([cargo("app", partitions=1)], 1)
    slots[0].number = 7
    log = tmp_path / "offsets"
    log.mkdir()

    def write(batch: int, ends: Any) -> None:
        (log / str(batch)).write_text(f"v1\n{{}}\n{json.dumps(ends)}")

    write(0, {"in": {"0": 10}, "app-keeper": {"0": 3}})
    write(1, {"in": {"0": 12}, "app-n-repartition": {"0": 4}, "app-keeper": {"0": 3}})
    ranges = BatchRanges(tmp_path, slots, {"app": {("in", 0): 2, ("app-n-repartition", 0): 0}})
    assert ranges.of(0, 7) == [(0, "in", 0, 2, 10)]
    assert (0, "in", 0, 10, 12) in ranges.of(1, 7)
    assert ranges.of(1, 8) == []
    assert ranges.of(5, 7) == [], "a log that cannot be read explains nothing"
    write(2, {"unknown": {"0": 1}})
    assert ranges.of(2, 7) == []


def test_figures_of_a_lost_worker_still_count() -> None:
    metrics = ApplicationMetrics("app")
    metrics.place({"0_0": (0, ("in-0",))})
    figures = {"records": 10, "emitted": 5, "commits": 2, "restored": 0, "latency_ms": [3, 9], "positions": {"in": 10}}
    metrics.report({0: 1}, {"0_0": figures})
    metrics.report({0: 2}, {"0_0": {**figures, "records": 4, "commits": 1, "dropped": {"late record": 2}}})
    metrics.lag({("in", 0): 14})
    snapshot = metrics.snapshot()
    assert (snapshot["records"], snapshot["commits"], snapshot["lag"]) == (14, 3, 4)
    text = metrics.prometheus("RUNNING")
    assert 'caudal_streams_records_total{application="app"} 14' in text
    assert 'caudal_streams_dropped_records_total{application="app",reason="late record"} 2' in text
    assert 'caudal_streams_lag{application="app",topic="in",partition="0"} 4' in text
