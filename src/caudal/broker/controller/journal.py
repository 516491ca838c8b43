"""An append-only file of JSON lines, each with a checksum: what the embedded controller remembers.

One line is one write and one fsync: changes that arrive while an fsync is under way wait and share the next line, so
a line is durable as a whole or was never answered. Hence the rules of reading: a bad last line is a write that was
cut off and is dropped; a bad line with good ones after it is damage, and the broker does not start on it.

A line: `{"crc32c":"0a1b2c3d","records":[…]}`; the checksum covers the bytes of the list. What records mean is the
reader's business. Blocking work (write, fsync, rewrite) runs in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from crc32c import crc32c

log = logging.getLogger("caudal.broker.controller")

Record = dict[str, Any]

_HEAD = b'{"crc32c":"'
_MIDDLE = b'","records":'
_TAIL = b"}\n"
_START = len(_HEAD) + 8 + len(_MIDDLE)

# Rewritten at the start once it holds this many records, and at least twice as many as are needed.
_REWRITE_RECORDS = 1000


class JournalDamaged(Exception):
    """The file has a bad line before its end; the message says where and what to do."""


def encode_line(records: Sequence[Record]) -> bytes:
    body = json.dumps(records, separators=(",", ":"), ensure_ascii=False).encode()
    return b"".join((_HEAD, b"%08x" % crc32c(body), _MIDDLE, body, _TAIL))


def decode_line(line: bytes) -> list[Record] | None:
    """The records of a line that ends in a newline; None when it is not what was written."""
    body = line[_START : -len(_TAIL)]
    if line != b"".join((_HEAD, b"%08x" % crc32c(body), _MIDDLE, body, _TAIL)):
        return None
    try:
        records = json.loads(body)
    except ValueError:
        return None
    return records if isinstance(records, list) else None


class Journal:
    """Owned by one event loop; `append` may be called by many tasks at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records_in_file = 0
        self._fd = -1
        self._length = 0
        self._waiting: list[tuple[Record, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    # Reading and rewriting: blocking, before anything is appended.

    def open(self) -> list[Record]:
        """Reads the whole file, drops a torn last line from disk, and gets ready to append."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        created = not self.path.exists()
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        data = self.path.read_bytes()
        records: list[Record] = []
        good = 0
        # What follows the last newline is no line, however complete it looks.
        lines = [part + b"\n" for part in data.split(b"\n")[:-1]]
        for number, line in enumerate(lines, 1):
            decoded = decode_line(line)
            if decoded is None:
                if any(decode_line(later) is not None for later in lines[number:]):
                    raise JournalDamaged(
                        f"{self.path} is damaged in line {number}; restore it from a copy, or remove the damaged line "
                        "to go on without what it says."
                    )
                break
            records += decoded
            good += len(line)
        if good < len(data):
            log.warning("dropped an unfinished write of %d bytes at the end of %s", len(data) - good, self.path)
            os.ftruncate(self._fd, good)
            os.fsync(self._fd)
        self._length = good
        self.records_in_file = len(records)
        if created:
            _sync_folder(self.path.parent)
        return records

    def has_grown(self, needed: int) -> bool:
        return self.records_in_file >= _REWRITE_RECORDS and self.records_in_file > 2 * needed

    def rewrite(self, records: Iterable[Record]) -> None:
        """Replaces the file by one with just these records; a crash leaves the old file or the new one."""
        fresh = self.path.with_name(self.path.name + ".new")
        count = 0
        with fresh.open("wb") as file:
            for record in records:
                file.write(encode_line([record]))
                count += 1
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)
        _sync_folder(self.path.parent)
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = os.open(self.path, os.O_RDWR)
        self._length = os.fstat(self._fd).st_size
        self.records_in_file = count

    # Appending.

    async def append(self, record: Record) -> None:
        """Returns when the record is on the device; OSError when it could not be written (and then it is not there)."""
        if self._fd < 0:
            raise OSError("the journal is closed")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((record, done))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_waiting())
        await done

    async def _write_waiting(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                line = encode_line([record for record, _ in batch])
                try:
                    await asyncio.to_thread(self._write, line)
                except OSError as error:
                    for _, done in batch:
                        if not done.done():
                            done.set_exception(error)
                else:
                    self.records_in_file += len(batch)
                    for _, done in batch:
                        if not done.done():
                            done.set_result(None)
        finally:
            self._writer = None

    def _write(self, line: bytes) -> None:
        """All of the line and an fsync, or a file that is as long as before."""
        view = memoryview(line)
        written = 0
        try:
            while written < len(line):
                written += os.pwrite(self._fd, view[written:], self._length + written)
            os.fsync(self._fd)
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._length)
            raise
        self._length += len(line)

    async def close(self) -> None:
        writer = self._writer
        if writer is not None:
            await writer
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
