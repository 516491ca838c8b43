"""Whether what lies in a state folder can be trusted: a small file beside the data, read before the data is opened.

Engines do not sync: after a killed process everything it committed is in the page cache and comes back; after a crash
of the machine anything may be missing or torn, and opening it could even crash the process. So the file says under
which boot the data was written and whether it was closed cleanly (synced). Another boot and not closed cleanly: void.

`owner` is who opened the folder last. Only that one may mark it clean; a zombie that closes late changes nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import orjson
import psutil

_FORMAT = 1
_FILE = "identity.json"
_LOCK = "identity.lock"


@dataclass(frozen=True, slots=True)
class Identity:
    engine: str
    boot: str
    owner: str
    clean: bool = False
    format: int = _FORMAT


@cache
def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"booted at {int(psutil.boot_time())}"


@contextmanager
def locked(folder: Path, wait: bool = True) -> Iterator[bool]:
    """Taking a folder over, and marking it clean, exclude each other. False: somebody else is at it (without `wait`).

    A killed holder frees it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / _LOCK, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def read(folder: Path) -> Identity | None:
    """None where there is none, or none that this version understands."""
    try:
        found = orjson.loads((folder / _FILE).read_bytes())
        return Identity(**found) if found.get("format") == _FORMAT else None
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def write(folder: Path, identity: Identity) -> None:
    """Synced, by renaming: after a crash there is the old one or the new one."""
    draft = folder / f"{_FILE}.{os.getpid()}"
    with open(draft, "wb") as file:
        file.write(orjson.dumps(asdict(identity)))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / _FILE)
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def why_void(folder: Path, engine: str) -> str | None:
    """Why the data in the folder must not be used; None where it may (or where there is none)."""
    data = [entry for entry in folder.iterdir() if not entry.name.startswith("identity.")] if folder.exists() else []
    if not data:
        return None
    found = read(folder)
    if found is None:
        return f"the state in {folder} says neither who wrote it nor how"
    if found.engine != engine:
        return f"the state in {folder} was written by {found.engine}, and {engine} is to be used now"
    if found.boot != boot_id() and not found.clean:
        return f"the state in {folder} was not synced before the machine went down"
    return None


def empty(folder: Path) -> None:
    """Removes the data; the lock stays, it is held."""
    for entry in folder.iterdir():
        if entry.name == _LOCK:
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
