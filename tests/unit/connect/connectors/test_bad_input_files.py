"""Disks that are full and folders that may not be written, for the connectors that write files."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.connect.connectors.contexts import start_sink

from caudal.connect.connectors.file_stream import FileStreamSink
from caudal.connect.connectors.object_sink.connector import ObjectSink
from caudal.connect.errors import ConnectError, RetriableError
from caudal.connect.records import SinkRecord, TopicPartition

PARTITION = TopicPartition("t", 0)


def test_a_full_disk_fails_a_file_sink_and_nothing_is_committed() -> None:
    """/dev/full refuses every write, as a full disk does."""
    config = {"file": "/dev/full", "caudal.allowed.folders": "/dev"}
    task, _ = start_sink(FileStreamSink, config, [PARTITION])
    task.put([SinkRecord("t", 0, 0, "line")])
    with pytest.raises(ConnectError, match="/dev/full cannot be written: No space left on device"):
        task.pre_commit({PARTITION: 1})
    task.stop()


def object_sink(folder: Path, **more: str) -> Any:
    config = {"url": str(folder), "caudal.allowed.folders": str(folder), "flush.size": "1", **more}
    return start_sink(ObjectSink, config, [PARTITION])[0]


def test_a_full_disk_is_waited_for_and_then_fails_the_object_sink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = object_sink(tmp_path, **{"max.retries": "2"})
    full = True

    def fsync(descriptor: int) -> None:
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    record = SinkRecord("t", 0, 0, {"id": 1})
    for _ in range(2):
        with pytest.raises(RetriableError, match="No space left on device"):
            task.put([record])
    full = False
    task.put([record])
    assert task.pre_commit({}) == {PARTITION: 1}
    full = True
    for _ in range(2):
        with pytest.raises(RetriableError):
            task.put([SinkRecord("t", 0, 1, {"id": 2})])
    with pytest.raises(ConnectError, match=r"No space left on device\. Tried 3 times \(max.retries\)") as failure:
        task.put([])
    assert not isinstance(failure.value, RetriableError) and task.pre_commit({}) == {PARTITION: 1}
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left == ["t+0+0000000000.json"]  # nothing half written


@pytest.mark.parametrize("error", [PermissionError, NotADirectoryError])
def test_a_folder_that_may_not_be_written_fails_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    task = object_sink(tmp_path)

    def refuse(*given: Any, **more: Any) -> None:
        raise error("no")

    monkeypatch.setattr(Path, "open", refuse)  # the tests may run as root, whom no permission stops
    with pytest.raises(ConnectError, match="The store refuses topics/t/partition=0/t") as failure:
        task.put([SinkRecord("t", 0, 0, {"id": 1})])
    assert not isinstance(failure.value, RetriableError)


def test_a_file_where_a_folder_should_be_is_said_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    config = {"url": str(tmp_path / "file"), "caudal.allowed.folders": str(tmp_path), "flush.size": "1"}
    with pytest.raises(ConnectError, match="The store refuses"):
        ObjectSink().start(ObjectSink.config().parse(config))
