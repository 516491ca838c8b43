"""CSV with a line of names. Columns are the fields of the schema, or the keys of the file's first record.

A record without schema that has other keys begins a new file, so that no column is lost. Null is an empty column;
structs, lists and maps are JSON texts.
"""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from operator import itemgetter
from typing import Any, BinaryIO

from caudal.connect.connectors.object_sink.formats.compression import EXTENSIONS, compressed
from caudal.connect.connectors.object_sink.formats.json_lines import json_line
from caudal.connect.data import Kind, Schema
from caudal.connect.errors import DataError

_PLAIN = (str, int, float)
_VALUE = "value"  # the one column of values that are no structs
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


class Delimited:
    takes_any = False
    takes_columns = False

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._codec = config["compression.type"]
        self._level = config["compression.level"]
        self._header = config["csv.header"]
        self._delimiter = DELIMITERS.get(config["csv.delimiter"], config["csv.delimiter"])
        self.extension = ".csv" + EXTENSIONS[self._codec]

    def writer(self, stream: BinaryIO, schema: Schema | None, first: Any) -> _Writer:
        if schema is not None:
            names = [one.name for one in schema.fields] if schema.kind is Kind.STRUCT else None
        else:
            names = list(first) if isinstance(first, dict) else None
        made = _Writer(compressed(stream, self._codec, self._level), names, self._delimiter)
        if self._header:
            made.append(made.lines([names if names is not None else [_VALUE]]))
        return made

    def is_same_file(self, first: Any, value: Any) -> bool:
        return isinstance(first, dict) == isinstance(value, dict) and (
            not isinstance(first, dict) or value.keys() == first.keys()
        )


class _Writer:
    def __init__(self, stream: Any, names: list[str] | None, delimiter: str) -> None:
        self._stream = stream
        self._names = names
        self._delimiter = delimiter

    def encode(self, values: Sequence[Any]) -> bytes:
        if self._names is None:
            return self.lines([[_column(value)] for value in values])
        columns = []
        for name in self._names:
            try:
                column = list(map(itemgetter(name), values))
            except (KeyError, TypeError):
                column = [_get(value, name) for value in values]
            columns.append([one if one is None or type(one) in _PLAIN else _column(one) for one in column])
        return self.lines(zip(*columns, strict=True))

    def lines(self, rows: Any) -> bytes:
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self._delimiter, lineterminator="\n").writerows(rows)
        return text.getvalue().encode()

    def append(self, encoded: bytes) -> None:
        self._stream.write(encoded)

    def finish(self) -> None:
        self._stream.close()


def _get(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        raise DataError(f"A struct was expected for a line of CSV, not a {type(value).__name__}.")
    return value.get(name)


def _column(value: Any) -> Any:
    match value:
        case bool():
            return "true" if value else "false"
        case bytes():
            return b64encode(value).decode()
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case dict() | list():
            return json_line(value)[:-1].decode()
    return value


FORMAT = Delimited
