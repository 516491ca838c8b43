"""How `caudal consume` writes a record: plain, by a format string, as a JSON line; internal topics decoded.

The tokens and the JSON fields are kcat's. Output is bytes: values are written as they are, never re-encoded.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from caudal.broker.decode import DECODED_TOPICS, decode_record
from caudal.cli.errors import UsageError
from caudal.cli.schemas import Decoder, json_bytes

NULL_TEXT = b"NULL"
# confluent-kafka's numbers for the type of a timestamp.
_TIMESTAMP_TYPES = {1: "create", 2: "logappend"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "0": b"\0", "\\": b"\\"}


class Row(NamedTuple):
    """A record as the formats see it."""

    topic: str
    partition: int
    offset: int
    timestamp_type: int
    timestamp: int
    headers: list[tuple[str, bytes | None]]
    key: bytes | None
    value: bytes | None
    sizes: tuple[int, int] | None = None  # of key and value as they lie in the topic, where others are shown


Writer = Callable[[Row], bytes]


def row_of(message: Any) -> Row:
    """A confluent-kafka message as a Row."""
    timestamp_type, timestamp = message.timestamp()
    headers = message.headers() or []
    return Row(
        message.topic(),
        message.partition(),
        message.offset(),
        timestamp_type,
        timestamp,
        headers,
        message.key(),
        message.value(),
    )


def unescape(text: str) -> bytes:
    r"""A delimiter as typed in a shell: \n, \t, \r, \0, \xNN and \\ mean what they mean in C.

    >>> unescape(r"a\tb\x41")
    b'a\tbA'
    """
    out, position = b"", 0
    for match in _ESCAPE.finditer(text):
        out += text[position : match.start()].encode()
        code = match[1]
        if code[0] == "x" and len(code) > 1:
            out += bytes([int(code[1:], 16)])
        else:
            out += _ESCAPES.get(code, b"\\" + code.encode())
        position = match.end()
    return out + text[position:].encode()


def plain_writer(key_delimiter: bytes | None, delimiter: bytes, show_offset: bool, null_text: bytes) -> Writer:
    """Key (with -K) and value, each record ended by the delimiter; with -O the offset in front."""

    def write(row: Row) -> bytes:
        parts = []
        separator = b"\t" if key_delimiter is None else key_delimiter
        if show_offset:
            parts += [str(row.offset).encode(), separator]
        if key_delimiter is not None:
            parts += [null_text if row.key is None else row.key, key_delimiter]
        parts += [null_text if row.value is None else row.value, delimiter]
        return b"".join(parts)

    return write


def json_writer(decode: bool, schemas: Decoder | None = None) -> Writer:
    """One JSON object per line with kcat's field names. Bytes that are not UTF-8 come in a second field, in base64;
    a value with a schema is JSON itself, with the schema's id beside it."""

    def write(row: Row) -> bytes:
        entry: dict[str, Any] = {"topic": row.topic, "partition": row.partition, "offset": row.offset}
        if row.timestamp_type in _TIMESTAMP_TYPES:
            entry |= {"tstype": _TIMESTAMP_TYPES[row.timestamp_type], "ts": row.timestamp}
        if row.headers:
            entry["headers"] = [part for name, value in row.headers for part in (name, _text(value))]
        if decode and row.topic in DECODED_TOPICS:
            decoded = decode_record(row.topic, row.key, row.value)
            entry |= {"type": decoded["type"], "key": decoded["key"], "payload": decoded["value"]}
            if "reason" in decoded:
                entry["reason"] = decoded["reason"]
        else:
            for name, part, data in (("key", "key", row.key), ("payload", "value", row.value)):
                found = schemas.decoded(part, data, place_of(row)) if schemas is not None else None
                if found is not None:
                    entry[f"{part}_schema_id"], entry[name] = found
                    continue
                entry[name] = _text(data)
                if data is not None and not _is_utf8(data):
                    entry[f"{name}_base64"] = base64.b64encode(data).decode()
        return json_bytes(entry) + b"\n"

    return write


def with_schemas(write_row: Writer, schemas: Decoder) -> Writer:
    """`write_row` with keys and values that have schemas as JSON."""

    def write(row: Row) -> bytes:
        if row.topic in DECODED_TOPICS:
            return write_row(row)
        sizes = _length(row.key), _length(row.value)
        key = schemas.decoded("key", row.key, place_of(row))
        value = schemas.decoded("value", row.value, place_of(row))
        if key is not None:
            row = row._replace(key=json_bytes(key[1]))
        if value is not None:
            row = row._replace(value=json_bytes(value[1]))
        return write_row(row._replace(sizes=sizes))

    return write


def place_of(row: Row) -> str:
    return f"offset {row.offset} of {row.topic} [{row.partition}]"


def decoded_line(plain: Writer) -> Writer:
    """`plain`, but a record of an internal topic is one line of JSON: its value says little without its key."""

    def write(row: Row) -> bytes:
        if row.topic not in DECODED_TOPICS:
            return plain(row)
        return _json(decode_record(row.topic, row.key, row.value)) + b"\n"

    return write


def decoded_fields(write_row: Writer) -> Writer:
    """`write_row` with key and value of internal topics as JSON, for the formats that place them themselves."""

    def write(row: Row) -> bytes:
        if row.topic not in DECODED_TOPICS:
            return write_row(row)
        decoded = decode_record(row.topic, row.key, row.value)
        value = None if decoded["value"] is None else _json(decoded["value"])
        return write_row(row._replace(key=_json(decoded["key"]), value=value))

    return write


def format_writer(template: str, null_text: bytes) -> Writer:
    r"""kcat's -f: %s value, %k key, %S %R %K their sizes, %t topic, %p partition, %o offset, %T timestamp, %h headers.

    >>> format_writer(r"%t/%p@%o %k=%s\n", b"")(Row("t", 0, 7, 1, 5, [], b"a", b"b"))
    b't/0@7 a=b\n'
    """
    steps: list[Writer | bytes] = []
    position = 0
    while position < len(template):
        if template[position] != "%":
            end = template.find("%", position)
            end = len(template) if end < 0 else end
            steps.append(unescape(template[position:end]))
            position = end
            continue
        token = template[position + 1 : position + 2]
        if token == "%":
            steps.append(b"%")
        elif token == "s":
            steps.append(lambda row: null_text if row.value is None else row.value)
        elif token == "k":
            steps.append(lambda row: null_text if row.key is None else row.key)
        elif token in _FIELDS:
            steps.append(_FIELDS[token])
        else:
            known = "".join(f" %{name}" for name in ("s", "k", *_FIELDS))
            raise UsageError(f"-f has no token '%{token}'; it knows{known} and %%")
        position += 2
    return lambda row: b"".join(step if isinstance(step, bytes) else step(row) for step in steps)


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _sizes(row: Row) -> tuple[int, int]:
    return row.sizes or (_length(row.key), _length(row.value))


_FIELDS: dict[str, Writer] = {
    "S": lambda row: str(_sizes(row)[1]).encode(),
    "R": lambda row: _sizes(row)[1].to_bytes(4, "big", signed=True),
    "K": lambda row: str(_sizes(row)[0]).encode(),
    "t": lambda row: row.topic.encode(),
    "p": lambda row: str(row.partition).encode(),
    "o": lambda row: str(row.offset).encode(),
    "T": lambda row: str(row.timestamp).encode(),
    "h": lambda row: b",".join(
        name.encode() + b"=" + (NULL_TEXT if value is None else value) for name, value in row.headers
    ),
}


def _json(value: Any) -> bytes:
    return orjson.dumps(value, default=str)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")
