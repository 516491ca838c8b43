"""Messages as the lines of a file: JSON lines or CSV. Pure: messages in, bytes out."""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

from caudal.cli.schemas import json_bytes
from caudal.cli.times import time_text
from caudal.ui.services.decoding import Message, Part

JSON_LINES, CSV = "jsonl", "csv"
MEDIA_TYPES = {JSON_LINES: "application/x-ndjson", CSV: "text/csv; charset=utf-8"}
COLUMNS = ("topic", "partition", "offset", "timestamp", "time", "key", "value", "headers", "key_schema", "value_schema")
_BLOCK = 1 << 16
# A cell that begins with one of these is a formula to a spreadsheet; a record must not be able to run one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def lines(messages: Iterable[Message], format: str) -> Iterator[bytes]:
    """Blocks of some size, since every block is a step of the server."""
    block = bytearray()
    for line in _csv_lines(messages) if format == CSV else map(json_line, messages):
        block += line
        if len(block) >= _BLOCK:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)


def json_line(message: Message) -> bytes:
    """Bytes that are no text go as base64 under a name that says so."""
    record = message.record
    entry: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
    }
    for name, part, data in (("key", message.key, record.key), ("value", message.value, record.value)):
        if part.kind == "bytes" and data is not None:
            entry[f"{name}_base64"] = b64encode(data).decode()
        else:
            entry[name] = part.value
        if part.schema_id is not None:
            entry[f"{name}_schema"] = part.schema_id
    if record.headers:
        entry["headers"] = message.headers
    return json_bytes(entry) + b"\n"


def _csv_lines(messages: Iterable[Message]) -> Iterator[bytes]:
    out = io.StringIO()
    writer = csv.writer(out)

    def taken() -> bytes:
        text = out.getvalue()
        out.seek(0)
        out.truncate()
        return text.encode()

    writer.writerow(COLUMNS)
    yield taken()
    for message in messages:
        record = message.record
        writer.writerow(
            [
                _cell(record.topic),
                record.partition,
                record.offset,
                record.timestamp,
                time_text(record.timestamp),
                _part(message.key, record.key),
                _part(message.value, record.value),
                _cell(json_bytes(message.headers).decode()) if record.headers else "",
                message.key.schema_id or "",
                message.value.schema_id or "",
            ]
        )
        yield taken()


def _part(part: Part, data: bytes | None) -> str:
    if data is None:
        return ""
    return b64encode(data).decode() if part.kind == "bytes" else _cell(part.text)


def _cell(text: str) -> str:
    """Numbers stay as they are; other text that a spreadsheet would compute gets an apostrophe.

    >>> _cell("=1+1"), _cell("-5"), _cell("ana")
    ("'=1+1", '-5', 'ana')
    """
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text
