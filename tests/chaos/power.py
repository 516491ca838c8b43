"""Pulling the plug: an image of the data folder that has only what was synced by then.

While a `PowerMeter` is in place it sees every fsync of this process. It keeps, for each file, the bytes that the file
had when it was last synced, and for each folder the names that it had when *it* was last synced; nothing else survives.
That is the strictest reading of POSIX: a file that was synced is lost if the name that leads to it was not. Real file
systems lose less, in ways that nobody promises; `torn` adds some of it back, at random.

Files written by another process (the cleaner) are not seen.
"""

from __future__ import annotations

import os
import random
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Image:
    """What the disk holds at one moment, by inode: a later sync does not change it."""

    root: int
    contents: dict[int, bytes]
    listings: dict[int, dict[str, tuple[int, bool]]]
    unsynced: dict[int, bytes]

    def restore(self, target: Path, *, torn: random.Random | None = None) -> Path:
        """Makes the folder as it would be found after the power is back."""
        target.mkdir(parents=True)
        self._restore(self.root, target, torn)
        return target

    def _restore(self, folder: int, target: Path, torn: random.Random | None) -> None:
        for name, (inode, is_folder) in self.listings.get(folder, {}).items():
            path = target / name
            if is_folder:
                path.mkdir()
                self._restore(inode, path, torn)
            else:
                synced = self.contents.get(inode, b"")
                path.write_bytes(synced if torn is None else self._torn(inode, synced, torn))

    def _torn(self, inode: int, synced: bytes, dice: random.Random) -> bytes:
        """Of the bytes after the synced ones some pages were written back, some not, and the rest is cut off."""
        later = self.unsynced.get(inode, b"")[len(synced) :]
        survived = bytearray(later[: dice.randrange(len(later) + 1)])
        for position in range(0, len(survived), 512):
            if dice.random() < 0.2:
                survived[position : position + 512] = bytes(len(survived[position : position + 512]))
        return synced + bytes(survived)


class PowerMeter:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.syncs = 0
        self._contents: dict[int, bytes] = {}
        self._listings: dict[int, dict[str, tuple[int, bool]]] = {}
        self._pins: dict[int, int] = {}  # an open descriptor keeps the inode's number from being used again
        self._lock = threading.Lock()
        self._fsync = os.fsync

    def fsync(self, number: int) -> None:
        """What takes the place of os.fsync."""
        where = os.readlink(f"/proc/self/fd/{number}").removesuffix(" (deleted)")
        if where != str(self.root) and not where.startswith(f"{self.root}/"):
            self._fsync(number)
            return
        status = os.fstat(number)
        seen: Any = _listing(number) if stat.S_ISDIR(status.st_mode) else _content(number)
        self._fsync(number)
        with self._lock:
            self.syncs += 1
            if status.st_ino not in self._pins:
                self._pins[status.st_ino] = os.dup(number)
            (self._listings if stat.S_ISDIR(status.st_mode) else self._contents)[status.st_ino] = seen

    def image(self) -> Image:
        """The disk at this moment."""
        with self._lock:
            unsynced = {
                os.stat(path).st_ino: path.read_bytes() for path in self.root.rglob("*") if path.suffix == ".log"
            }
            root = os.stat(self.root).st_ino
            return Image(root, dict(self._contents), dict(self._listings), unsynced)

    def close(self) -> None:
        for descriptor in self._pins.values():
            os.close(descriptor)


def _listing(descriptor: int) -> dict[str, tuple[int, bool]]:
    with os.scandir(descriptor) as entries:
        return {entry.name: (entry.inode(), entry.is_dir()) for entry in entries}


def _content(descriptor: int) -> bytes:
    # Through /proc: the descriptor may be open for writing only, or the name gone.
    with open(f"/proc/self/fd/{descriptor}", "rb") as file:
        return file.read()


@contextmanager
def power_meter(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PowerMeter]:
    root.mkdir(parents=True, exist_ok=True)
    meter = PowerMeter(root)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", meter.fsync)
        patch.setattr(os, "fdatasync", meter.fsync)
        yield meter
    meter.close()
