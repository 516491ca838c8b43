"""Source offsets of a standalone worker: one JSON file, replaced as a whole.

The new text is written beside it, synchronised and renamed over it: after a crash there is the old file or the new one.
Not Java's file (`offset.storage.file.filename` there is a serialised Java map): the two cannot read each other's.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from caudal.connect.errors import ConnectError
from caudal.connect.runtime.offset_store import Entries, Wanted, identity

_LOCK = threading.Lock()  # of all files: several tasks of one process have a store each


class OffsetFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read_all(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        with _LOCK:
            return [(one["partition"], one["offset"]) for one in self._read().get(connector, {}).values()]

    def write(self, connector: str, entries: Entries, is_wanted: Wanted | None = None) -> None:
        with _LOCK:
            if is_wanted is not None and not is_wanted():
                raise ConnectError(f"These offsets of connector {connector} are not written: its task was abandoned.")
            content = self._read()
            offsets = content.setdefault(connector, {})
            for partition, offset in entries:
                if offset is None:
                    offsets.pop(identity(partition), None)
                else:
                    offsets[identity(partition)] = {"partition": dict(partition), "offset": dict(offset)}
            if not offsets:
                del content[connector]
            self._replace(content)

    def close(self) -> None: ...

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            content = json.loads(self._path.read_text())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ConnectError(f"The offsets in {self._path} cannot be read: {error}.") from error
        if not isinstance(content, dict):
            raise ConnectError(f"{self._path} holds no offsets: it is not a JSON object.")
        return content

    def _replace(self, content: dict[str, Any]) -> None:
        beside = self._path.with_name(self._path.name + ".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("w") as file:
                json.dump(content, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)  # the rename too
            finally:
                os.close(folder)
        except OSError as error:
            raise ConnectError(f"The offsets cannot be written to {self._path}: {error}.") from error
