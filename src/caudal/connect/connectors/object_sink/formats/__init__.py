"""How records become bytes of a file: the interface of the formats, and which there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, BinaryIO, Protocol

from caudal.connect.data import Schema

# By the name in `format`, and the module beside this one whose `FORMAT` it is. Imported when asked for: pyarrow is big.
FORMATS = {"json": "json_lines", "csv": "delimited", "parquet": "parquet", "avro": "avro", "bytes": "raw"}


class FileWriter(Protocol):
    """One file. `encode` has no effect, so that a chunk with a bad record can be tried again record by record."""

    def encode(self, values: Sequence[Any]) -> Any:
        """Raises DataError."""

    def append(self, encoded: Any) -> None: ...

    def finish(self) -> None:
        """Everything is in the stream when this returns; the stream stays open."""


class Format(Protocol):
    extension: str
    takes_any: bool  # values without schema may all share a file, whatever their keys

    takes_columns: bool  # `append` takes Arrow's columns as they come

    def __init__(self, config: Mapping[str, Any]) -> None: ...

    def writer(self, stream: BinaryIO, schema: Schema | None, first: Any) -> FileWriter:
        """For values of this schema; `first` is the first of them. Raises DataError when there can be no such file."""

    def is_same_file(self, first: Any, value: Any) -> bool:
        """Whether a value without schema may go into the file that began with `first`."""


def format_named(name: str, config: Mapping[str, Any]) -> Format:
    module = import_module(f"{__name__}.{FORMATS[name]}")
    made: Format = module.FORMAT(config)
    return made
