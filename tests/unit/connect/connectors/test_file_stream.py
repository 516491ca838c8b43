"""FileStreamSource follows a file; FileStreamSink appends to one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.connect.connectors.contexts import Offsets, start_sink, start_source

from caudal.connect.connectors import file_stream
from caudal.connect.connectors.file_stream import FileStreamSink, FileStreamSource
from caudal.connect.errors import ConfigError
from caudal.connect.records import SinkRecord, TopicPartition


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_stream, "_WAIT", 0)


def config(file: Path, **more: str) -> dict[str, str]:
    return {"file": str(file), "topic": "lines", "caudal.allowed.folders": str(file.parent), **more}


def polled(task: Any, offsets: Offsets | None = None, times: int = 4) -> list[str]:
    found = []
    for _ in range(times):
        records = task.poll() or []
        found += [record.value for record in records]
        if offsets is not None:
            offsets.commit(records)
    return found


def test_lines_come_when_their_end_is_there(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    task, _ = start_source(FileStreamSource, config(file))
    assert polled(task) == []  # no file yet
    file.write_bytes(b"one\ntwo\r\nthree\rfour")
    assert polled(task) == ["one", "two", "three"]
    with file.open("ab") as more:
        more.write("teen – ü\n\n".encode())
    assert polled(task) == ["fourteen – ü", ""]


def test_a_carriage_return_may_be_half_of_a_line_end(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"one\r")
    task, _ = start_source(FileStreamSource, config(file))
    assert polled(task) == []
    with file.open("ab") as more:
        more.write(b"\ntwo\n")
    assert polled(task) == ["one", "two"]


def test_a_restart_goes_on_behind_the_last_committed_line(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("".join(f"{n}\n" for n in range(10)))
    offsets = Offsets()
    task, _ = start_source(FileStreamSource, config(file, **{"batch.size": "4"}), offsets)
    records = task.poll()
    assert [record.value for record in records] == ["0", "1", "2", "3"]
    assert records[0].partition == {"filename": str(file)} and records[0].offset["position"] == 2
    offsets.commit(records)
    task.stop()
    task, _ = start_source(FileStreamSource, config(file), offsets)
    assert polled(task) == ["4", "5", "6", "7", "8", "9"]


def test_an_offset_set_by_hand_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    offsets = Offsets()
    offsets.store({"filename": str(file)}, {"position": 4})
    assert polled(start_source(FileStreamSource, config(file), offsets)[0]) == ["two"]


def test_truncated_and_replaced_files_are_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    offsets = Offsets()
    task, _ = start_source(FileStreamSource, config(file), offsets)
    assert polled(task, offsets) == ["one", "two"]
    file.write_text("new\n")
    assert polled(task, offsets) == ["new"]
    file.rename(tmp_path / "a.1")
    with (tmp_path / "a.1").open("a") as old:
        old.write("late\nunfinished")
    file.write_text("rotated, and longer than before\n")
    assert polled(task, offsets, 8) == ["late", "unfinished", "rotated, and longer than before"]
    task.stop()
    # While nobody reads: another file under the same name.
    file.rename(tmp_path / "a.2")
    file.write_text("yet another, which is the longest of them all\n")
    task, _ = start_source(FileStreamSource, config(file), offsets)
    assert polled(task, offsets) == ["yet another, which is the longest of them all"]


def test_no_file_and_no_folder_and_nothing_outside(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='Missing required configuration "file"'):
        FileStreamSource.config().parse({"topic": "t"})
    assert "is a folder" in FileStreamSource.check(config(tmp_path / "x") | {"file": str(tmp_path)})["file"][0]
    assert "outside" in FileStreamSink.check(config(tmp_path / "x") | {"file": "/etc/passwd"})["file"][0]


def test_the_sink_appends_lines(tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("before\n")
    task, _ = start_sink(FileStreamSink, config(file), [TopicPartition("t", 0)])
    values = ["text", {"a": 1}, b"bytes", 5, None]
    task.put([SinkRecord("t", 0, n, value) for n, value in enumerate(values)])
    task.flush({})
    assert file.read_text() == 'before\ntext\n{"a":1}\nbytes\n5\nnull\n'
    task.stop()


def test_offsets_that_mean_nothing_are_refused() -> None:
    connector = FileStreamSource()
    assert connector.alter_offsets({'{"filename":"a"}': {"position": 0}, '{"filename":"b"}': None}) is False
    for partition, offset in [
        ('{"file":"a"}', None),
        ('{"filename":"a"}', {"position": "5"}),
        ('{"filename":"a"}', {}),
    ]:
        with pytest.raises(ConfigError):
            connector.alter_offsets({partition: offset})
