"""The journal: what was answered is there after a crash, what was cut off is not, and damage is not read over."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from caudal.broker.controller.journal import Journal, JournalDamaged, decode_line, encode_line


def reopened(path: Path) -> list[dict[str, Any]]:
    journal = Journal(path)
    records = journal.open()
    os.close(journal._fd)
    return records


async def written(path: Path, count: int) -> None:
    journal = Journal(path)
    journal.open()
    for number in range(count):
        await journal.append({"number": number})
    await journal.close()


def test_a_line_is_json_with_a_checksum() -> None:
    line = encode_line([{"name": "é"}])
    assert json.loads(line)["records"] == [{"name": "é"}]
    assert decode_line(line) == [{"name": "é"}]


@pytest.mark.parametrize("position", range(0, 40, 3))
def test_a_changed_byte_is_noticed(position: int) -> None:
    line = bytearray(encode_line([{"name": "orders"}]))
    line[position % len(line)] ^= 0x01
    assert decode_line(bytes(line)) is None


async def test_appended_records_are_read_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "j"
    await written(path, 3)
    assert reopened(path) == [{"number": 0}, {"number": 1}, {"number": 2}]


async def test_every_cut_of_the_last_line_drops_that_line_only(tmp_path: Path) -> None:
    path = tmp_path / "j"
    await written(path, 3)
    data = path.read_bytes()
    before = len(b"".join(data.splitlines(keepends=True)[:2]))
    for end in range(before, len(data)):
        path.write_bytes(data[:end])
        assert reopened(path) == [{"number": 0}, {"number": 1}]
        assert path.stat().st_size == before, "the torn tail must go from the file, not only from memory"


async def test_after_a_torn_tail_appending_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "j"
    await written(path, 2)
    path.write_bytes(path.read_bytes()[:-5])
    journal = Journal(path)
    assert journal.open() == [{"number": 0}]
    await journal.append({"number": 9})
    await journal.close()
    assert reopened(path) == [{"number": 0}, {"number": 9}]


async def test_garbage_at_the_end_counts_as_torn(tmp_path: Path) -> None:
    path = tmp_path / "j"
    await written(path, 1)
    with path.open("ab") as file:
        file.write(b"\0" * 100 + b"\n" + b"half a li")
    assert reopened(path) == [{"number": 0}]


async def test_damage_before_the_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j"
    await written(path, 3)
    data = bytearray(path.read_bytes())
    data[data.index(b'"number":1') + 9] ^= 0x01
    path.write_bytes(data)
    with pytest.raises(JournalDamaged, match="damaged in line 2"):
        Journal(path).open()


async def test_records_that_wait_together_share_a_line(tmp_path: Path) -> None:
    """Group commit: while one write is under way the others collect, so 50 changes are a few fsyncs, not 50."""
    path = tmp_path / "j"
    journal = Journal(path)
    journal.open()
    await asyncio.gather(*(journal.append({"number": number}) for number in range(50)))
    await journal.close()
    assert len(path.read_bytes().splitlines()) <= 3
    assert reopened(path) == [{"number": number} for number in range(50)]


async def test_a_failed_write_leaves_nothing_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j"
    await written(path, 1)
    size = path.stat().st_size
    journal = Journal(path)
    journal.open()
    real = os.pwrite

    def full(fd: int, data: Any, offset: int) -> int:
        if offset > size:
            raise OSError(28, "No space left on device")
        return real(fd, bytes(data)[:5], offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        await journal.append({"number": 1})
    assert path.stat().st_size == size
    monkeypatch.setattr(os, "pwrite", real)
    await journal.append({"number": 2})
    await journal.close()
    assert reopened(path) == [{"number": 0}, {"number": 2}]


async def test_rewriting_keeps_the_file_appendable(tmp_path: Path) -> None:
    path = tmp_path / "j"
    await written(path, 5)
    journal = Journal(path)
    journal.open()
    journal.rewrite([{"number": 4}])
    await journal.append({"number": 5})
    await journal.close()
    assert reopened(path) == [{"number": 4}, {"number": 5}]
    assert not path.with_name("j.new").exists()


def test_when_a_rewrite_is_worth_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.records_in_file = 999
    assert not journal.has_grown(1)
    journal.records_in_file = 2000
    assert journal.has_grown(999)
    assert not journal.has_grown(1000)


async def test_a_closed_journal_refuses(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.open()
    await journal.close()
    with pytest.raises(OSError, match="closed"):
        await journal.append({})


@pytest.mark.parametrize("tail", [b"", b"\r", b"\r\n\0"])
async def test_a_line_without_its_newline_is_torn(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "j"
    await written(path, 2)
    path.write_bytes(path.read_bytes()[:-1] + tail)
    journal = Journal(path)
    assert journal.open() == [{"number": 0}]
    await journal.append({"number": 7})
    await journal.close()
    assert reopened(path) == [{"number": 0}, {"number": 7}]
