"""The parts of the native lane that need no Spark: progress from checkpoint files, failures that are a record's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caudal.plan.native import native_plan
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark.native.diagnosis import is_of_a_record
from caudal.runtime.spark.native.host import NativeHost
from caudal.runtime.spark.native.progress import BatchProgress
from caudal.runtime.spark.settings import Mode
from caudal.serde import Long, String
from caudal.streams import StreamsBuilder


def begin(checkpoint: Path, batch: int, *sources: dict[str, dict[str, int]] | None) -> None:
    lines = ["v1", "{}", *("-" if source is None else json.dumps(source) for source in sources)]
    (checkpoint / "offsets").mkdir(exist_ok=True)
    (checkpoint / "offsets" / str(batch)).write_text("\n".join(lines))


def finish(checkpoint: Path, batch: int) -> None:
    (checkpoint / "commits").mkdir(exist_ok=True)
    (checkpoint / "commits" / str(batch)).write_text("v1\n{}")
    (checkpoint / "commits" / f".{batch}.crc").write_text("")


def test_only_finished_batches_count(tmp_path: Path) -> None:
    progress = BatchProgress(tmp_path)
    assert progress.advance() is None
    assert not progress.is_under_way()
    begin(tmp_path, 0, {"a": {"0": 5, "1": 7}}, None)
    assert progress.advance() is None
    assert progress.is_under_way()
    assert progress.planned() == {("a", 0): 5, ("a", 1): 7}
    finish(tmp_path, 0)
    assert progress.advance() == {("a", 0): 5, ("a", 1): 7}
    assert progress.advance() is None
    begin(tmp_path, 1, {"a": {"0": 6, "1": 7}}, {"b": {"0": 1}})
    begin(tmp_path, 2, {"a": {"0": 9, "1": 9}}, {"b": {"0": 2}})
    finish(tmp_path, 1)
    assert progress.advance() == {("a", 0): 6, ("a", 1): 7, ("b", 0): 1}
    assert progress.is_under_way()


def test_a_failure_is_a_records_or_passes() -> None:
    assert is_of_a_record("[ARITHMETIC_OVERFLOW] long overflow")
    assert is_of_a_record('[USER_RAISED_EXCEPTION] caudal-bad-record {"topic":"a"}')
    assert not is_of_a_record("org.apache.kafka.common.errors.TimeoutException: no answer")


def test_counts_are_refused_in_real_time_mode() -> None:
    builder = StreamsBuilder("app")
    builder.stream("in", key=String(), value=String()).group_by_key().count().to("out", value=Long())
    plan = native_plan(builder.build(), counts=True)
    with pytest.raises(StreamsError, match="is a native count, which runs with mode='micro-batch' only"):
        NativeHost(plan, Mode.REAL_TIME)
