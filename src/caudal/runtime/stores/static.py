"""Static tables: rows of a Parquet file or folder, looked up by one column, read once per process and never changed.

In memory as columns of Python values; a row is made when it is looked up, so it is the caller's own. A file that is
replaced is read again by the next task that opens, that is, when the application starts anew.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from caudal.plan.steps import GlobalTableJoin
from caudal.plan.topology import ProcessorNode, StaticFile, StoreSpec, SubTopology
from caudal.runtime.errors import StreamsError, describe
from caudal.runtime.stores.api import StreamContext

_lock = threading.Lock()
_loaded: dict[StaticFile, tuple[Any, StaticTable]] = {}  # with what tells versions of the file apart


class StaticTable:
    """As a timestamped store that is only read: a value is (row, 0)."""

    def __init__(self, name: str, columns: Mapping[str, list[Any]], index: Mapping[Any, int]) -> None:
        self.name = name
        self.context = StreamContext()
        self._columns = list(columns.items())
        self._index = index

    def get(self, key: Any) -> tuple[dict[str, Any], int] | None:
        place = self._index.get(key)
        return None if place is None else ({name: values[place] for name, values in self._columns}, 0)

    def all(self) -> Iterator[tuple[Any, tuple[dict[str, Any], int]]]:
        for key, place in self._index.items():
            yield key, ({name: values[place] for name, values in self._columns}, 0)

    def count(self) -> int:
        return len(self._index)


def static_tables(specs: Mapping[str, StoreSpec], sub: SubTopology) -> dict[str, StaticTable]:
    """Those that a sub-topology looks something up in."""
    found = {}
    for node in sub.nodes:
        if isinstance(node, ProcessorNode):
            joined = (node.step.store,) if isinstance(node.step, GlobalTableJoin) else ()
            for name in (*joined, *node.stores):
                file = specs[name].static if name in specs else None
                if file is not None:
                    found[name] = load(name, file)
    return found


def load(name: str, file: StaticFile) -> StaticTable:
    with _lock:
        version = _version(file.path)
        known = _loaded.get(file)
        if known is None or known[0] != version:
            known = _loaded[file] = (version, _read(name, file))
        return known[1]


def _version(path: str) -> Any:
    """Changes with the file; a folder's with what is in it. None where that cannot be seen (another file system)."""
    try:
        places = [entry.path for entry in os.scandir(path)] if os.path.isdir(path) else [path]
        return sorted((place, os.stat(place).st_mtime_ns, os.stat(place).st_size) for place in places)
    except OSError:
        return None


def _read(name: str, file: StaticFile) -> StaticTable:
    try:
        from pyarrow import parquet
    except ImportError:
        raise StreamsError("Static tables need pyarrow: pip install 'caudal[spark]'.") from None
    columns = None if file.columns is None else list(dict.fromkeys([file.key, *file.columns]))
    try:
        table = parquet.read_table(file.path, columns=columns)
    except Exception as error:
        raise StreamsError(f"Static table '{name}' cannot be read from {file.path}: {describe(error)}") from None
    if file.key not in table.column_names:
        raise StreamsError(
            f"{file.path} has no column '{file.key}' for the key of static table '{name}' "
            f"(it has: {', '.join(table.column_names)})."
        )
    rows = {column: table.column(column).to_pylist() for column in table.column_names}
    index: dict[Any, int] = {}
    for place, key in enumerate(rows[file.key]):
        if key is None:
            continue  # nothing can ask for it
        if index.setdefault(key, place) != place:
            raise StreamsError(
                f"{file.path} has two rows with {file.key} = {key!r}: a static table has one row per key."
            )
    shown = [file.key, *file.columns] if file.columns is not None else table.column_names
    return StaticTable(name, {column: rows[column] for column in dict.fromkeys(shown)}, index)
