"""Opens the engine of a state folder: checks its identity, empties what is void, takes it over; and lets it go."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from uuid import uuid4
from weakref import WeakValueDictionary

from caudal.runtime.stores.engines import identity
from caudal.runtime.stores.engines.engine import Engine, OwnedEngine, StateError
from caudal.runtime.stores.engines.identity import Identity, boot_id

ENGINES = ("lmdb", "rocksdb")
_open_here: WeakValueDictionary[str, _InFolder] = WeakValueDictionary()
_open_lock = threading.Lock()


def open_engine(name: str, folder: Path) -> tuple[Engine, str | None]:
    """The engine, and why what was in the folder is void (it is gone then); None where it was usable or empty."""
    if name not in ENGINES:
        raise StateError(f"There is no store engine {name!r}; choose one of {', '.join(ENGINES)}.")
    owner = f"{os.getpid()}-{uuid4().hex}"
    with _open_lock:
        former = _open_here.get(str(folder))
        if former is not None:
            former.abandon()  # both engines allow one open per process; whoever opens is the owner
    try:
        with identity.locked(folder):
            why = identity.why_void(folder, name)
            if why is not None:
                identity.empty(folder)
            # Before the first write: from here on only a clean close makes the data survive a crash of the machine.
            identity.write(folder, Identity(name, boot_id(), owner))
            try:
                engine = _open(name, folder / "data", owner)
            except StateError:
                raise
            except Exception as error:  # what the two libraries raise on damaged files has no common type
                why = f"the state in {folder} cannot be read ({error})"
                engine = _anew(name, folder, owner)
    except OSError as error:
        raise StateError(f"The state folder {folder} cannot be used: {error}.") from error
    opened = _InFolder(engine, name, folder, owner)
    _open_here[str(folder)] = opened
    return opened, why


def _anew(name: str, folder: Path, owner: str) -> OwnedEngine:
    identity.empty(folder)
    identity.write(folder, Identity(name, boot_id(), owner))
    try:
        return _open(name, folder / "data", owner)
    except OSError:
        raise
    except Exception as error:
        raise StateError(f"The state folder {folder} cannot be used: {error}.") from error


def _open(name: str, data: Path, owner: str) -> OwnedEngine:
    try:
        if name == "lmdb":
            from caudal.runtime.stores.engines.lmdb import LmdbEngine

            return LmdbEngine(data, owner)
        from caudal.runtime.stores.engines.rocksdb import RocksDbEngine

        return RocksDbEngine(data)
    except ImportError as error:
        raise StateError(
            f"The store engine {name!r} is not installed: pip install 'caudal[spark]', or keep the stores in memory."
        ) from error


class _InFolder:
    """An engine with its folder: the same operations, and a close that says the data is whole."""

    def __init__(self, engine: OwnedEngine, name: str, folder: Path, owner: str) -> None:
        self._engine = engine
        self._name = name
        self._folder = folder
        self._owner = owner
        self.get = engine.get
        self.scan = engine.scan
        self.write = engine.write
        self.meta = engine.meta
        self.wipe = engine.wipe
        self.sync = engine.sync
        self.size_bytes = engine.size_bytes
        self.approximate_count = engine.approximate_count

    def close(self) -> None:
        if self._engine.is_owner():
            with identity.locked(self._folder, wait=False) as mine:
                found = identity.read(self._folder) if mine else None
                if found is not None and found.owner == self._owner:
                    self._engine.sync()
                    identity.write(self._folder, Identity(self._name, boot_id(), self._owner, clean=True))
        self._engine.close()

    def abandon(self) -> None:
        """Closes for a new owner, with no word about the data."""
        self._engine.close()
