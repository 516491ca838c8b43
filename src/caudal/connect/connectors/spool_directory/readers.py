"""What is in a file, record by record: lines, JSON lines, JSON and CSV, compressed or not.

A reader yields values, or the DataError of a record that cannot be read; both count, so that a record's number says
where to go on. An error that is raised means that the rest of the file cannot be read either.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from caudal.connect.connectors.spool_directory.typing_text import RowSchema, infer, shaped
from caudal.connect.data import STRING, Field, Kind, Schema
from caudal.connect.errors import DataError

FORMATS = ("auto", "json-lines", "json", "csv", "lines")
_BY_SUFFIX = {".jsonl": "json-lines", ".ndjson": "json-lines", ".json": "json-lines", ".csv": "csv", ".tsv": "csv"}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_SAMPLE = 1000  # rows that types are inferred from


class Item(NamedTuple):
    schema: Schema | None
    value: Any  # or a DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files are read."""

    format: str = "auto"
    encoding: str = "utf-8"
    delimiter: str | None = None  # None: by the suffix
    header: bool = True
    schema: RowSchema | None = None
    infers: bool = True  # types of CSV's columns, where there is no schema


def read(path: Path, how: Reading) -> Iterator[Item]:
    suffixes = [each.lower() for each in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in _COMPRESSED else ""
    suffix = suffixes[-1] if suffixes else ""
    format = how.format if how.format != "auto" else _BY_SUFFIX.get(suffix, "lines")
    with _opened(path, compression) as raw:
        try:
            yield from _READERS[format](raw, how, suffix)
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise DataError(f"The file is not whole: {error}") from None
        except UnicodeDecodeError as error:
            raise DataError(f"The file is not {how.encoding} text: {error}") from None


def _opened(path: Path, compression: str) -> Any:
    match compression:
        case ".gz":
            return gzip.open(path, "rb")
        case ".bz2":
            return bz2.open(path, "rb")
        case ".xz":
            return lzma.open(path, "rb")
        case ".zst":
            import cramjam

            return io.BytesIO(bytes(cramjam.zstd.decompress(path.read_bytes())))
    return path.open("rb")


def _text(raw: BinaryIO, encoding: str, newline: str | None = None) -> io.TextIOWrapper:
    name = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding  # the mark of some editors
    return io.TextIOWrapper(raw, name, newline=newline)


def _lines(raw: BinaryIO, how: Reading, suffix: str) -> Iterator[Item]:
    for line in _text(raw, how.encoding):
        yield Item(STRING, line.rstrip("\n"))


def _json_lines(raw: BinaryIO, how: Reading, suffix: str) -> Iterator[Item]:
    for line in _text(raw, how.encoding):
        if line.isspace():
            continue
        yield _parsed(line, how)


def _parsed(line: str, how: Reading) -> Item:
    try:
        value = orjson.loads(line)
    except ValueError as error:
        return Item(None, DataError(f"The line is not JSON: {error}."))
    return _typed(value, how)


def _typed(value: Any, how: Reading) -> Item:
    if how.schema is None:
        return Item(None, value)
    try:
        return Item(how.schema.schema, how.schema.value(value))
    except DataError as error:
        return Item(None, error)


def _json(raw: BinaryIO, how: Reading, suffix: str) -> Iterator[Item]:
    """One value; a list is its items."""
    try:
        value = orjson.loads(_text(raw, how.encoding).read())
    except ValueError as error:
        raise DataError(f"The file is not JSON: {error}.") from None
    for one in value if isinstance(value, list) else [value]:
        yield _typed(one, how)


def _csv(raw: BinaryIO, how: Reading, suffix: str) -> Iterator[Item]:
    delimiter = how.delimiter or ("\t" if suffix == ".tsv" else ",")
    rows = csv.reader(_text(raw, how.encoding, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from _rows(rows, how)
    except csv.Error as error:
        raise DataError(f"Line {rows.line_num} is not CSV: {error}.") from None


def _rows(rows: Iterator[list[str]], how: Reading) -> Iterator[Item]:
    names = next(rows, None) if how.header else None
    if names is not None and (len(set(names)) != len(names) or "" in names):
        raise DataError(f"The first line has an empty or repeated name: {', '.join(names)}.")
    sample = [row for _, row in zip(range(_SAMPLE), rows, strict=False)]
    if names is None:
        if how.schema is not None:
            names = [one.name for one in how.schema.schema.fields]
        else:
            names = [f"column{at}" for at in range(1, max(map(len, sample), default=0) + 1)]
    schema = how.schema or (infer if how.infers else _all_texts)(names, [row for row in sample if row])
    width = len(names)

    def item(row: list[str]) -> Item:
        if len(row) != width:
            return Item(None, DataError(f"A line has {len(row)} columns instead of {width}: {shaped(row)}."))
        try:
            return Item(schema.schema, schema.row(dict(zip(names, row, strict=True))))
        except DataError as error:
            return Item(None, error)

    yield from (item(row) for row in sample if row)
    yield from (item(row) for row in rows if row)


def _all_texts(names: list[str], sample: list[list[str]]) -> RowSchema:
    return RowSchema(Schema(Kind.STRUCT, fields=tuple(Field(name, STRING.as_optional()) for name in names)))


_READERS: dict[str, Callable[[BinaryIO, Reading, str], Iterator[Item]]] = {
    "lines": _lines,
    "json-lines": _json_lines,
    "json": _json,
    "csv": _csv,
}
