"""A record's key, value and headers as a person reads them: text, JSON, numbers, values with a schema, internal topics.

Pure: schemas come from what is passed in (`schema_reading.py` asks the registry). What cannot be read is shown as
hexadecimal with the reason, never hidden. Which records are shown is decided by `filters.py`.
"""

from __future__ import annotations

import datetime
import struct
import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import orjson

from caudal.broker.decode import DECODED_TOPICS, decode_record
from caudal.cli.schemas import json_bytes

PREVIEW_CHARACTERS = 300
_BINARY_PREVIEW = 4096
_SPACES = {9: " ", 10: " ", 13: " "}


class Record(NamedTuple):
    """A record as it lies in the topic."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Note(NamedTuple):
    """Why a key or a value is not shown better, or what else it could be: a code that the page has words for, and what
    goes into them."""

    code: str
    detail: str = ""


class Part(NamedTuple):
    """A key or a value, readable. `kind` is null, text, json, bytes, internal, a number's name, or AVRO, JSON, PROTOBUF
    for one with a schema."""

    kind: str
    value: Any
    text: str
    schema_id: int | None = None
    note: Note | None = None

    def pretty(self) -> str:
        """Indented where it has a structure."""
        if isinstance(self.value, (dict, list)):
            return pretty_json(self.value)
        return self.text


class SchemaValue(NamedTuple):
    """What became of bytes that begin like the registry's wire format; `type` is empty where `note` says why not."""

    id: int
    type: str
    value: Any
    note: Note | None = None


class Schemas(Protocol):
    """Who reads values with a schema; None: they are in no schema's format."""

    def read(self, data: bytes) -> SchemaValue | None: ...


class NoSchemas:
    """Without a registry nothing has a schema."""

    def read(self, data: bytes) -> SchemaValue | None:
        return None


def record_of(message: Any) -> Record:
    """A confluent-kafka message as a Record."""
    timestamp_type, timestamp = message.timestamp()
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        timestamp if timestamp_type else -1,
        timestamp_type,
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )


# ---------------------------------------------------------------------- one key or value

AUTO = "auto"


def _number(layout: str) -> Callable[[bytes], Any]:
    shape = struct.Struct(layout)
    return lambda data: shape.unpack(data)[0]


# What a person may ask for instead of what we would guess. Numbers are big-endian, as Kafka's serialisers write them.
_NUMBERS: Mapping[str, Callable[[bytes], Any]] = {
    "int32": _number(">i"),
    "int64": _number(">q"),
    "float": _number(">f"),
    "double": _number(">d"),
}
READINGS: Sequence[str] = (AUTO, "text", "hex", *_NUMBERS)


def read_part(data: bytes | None, schemas: Schemas, reading: str = AUTO, *, is_key: bool = False) -> Part:
    """
    >>> read_part(b'{"a": 1}', NoSchemas()).value
    {'a': 1}
    >>> read_part(bytes(7) + b"*", NoSchemas(), "int64").text
    '42'
    """
    if data is None:
        return Part("null", None, "null")
    if reading == "text":
        text = data.decode("utf-8", "replace")
        return Part("text", text, text)
    if reading == "hex":
        return Part("bytes", data, data.hex(" "))
    if reading in _NUMBERS:
        return _as_number(data, reading)
    found = schemas.read(data)
    if found is not None and found.type:
        value = readable(found.value)
        text = value if isinstance(value, str) else compact_json(value)
        return Part(found.type, value, text, found.id)
    part = _guessed(data, is_key)
    return part if found is None else part._replace(schema_id=found.id, note=found.note)


def _as_number(data: bytes, reading: str) -> Part:
    try:
        number = _NUMBERS[reading](data)
    except struct.error:
        return Part("bytes", data, data.hex(" "), note=Note("not-a-number", reading))
    return Part(reading, number, str(number))


def _guessed(data: bytes, is_key: bool) -> Part:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _binary(data)
    if not _is_printable(text):
        return _binary(data)
    # A key of digits is a name far more often than a number; a value of digits is JSON.
    begins = text.lstrip()[:1]
    if begins in ("{", "[") or (not is_key and begins and begins in '-0123456789"tfn'):
        try:
            return Part("json", orjson.loads(data), text)
        except orjson.JSONDecodeError:
            pass
    return Part("text", text, text)


def _binary(data: bytes) -> Part:
    note = None
    if len(data) in (4, 8):
        name = "int32" if len(data) == 4 else "int64"
        note = Note("could-be", f"{name} {_NUMBERS[name](data)}")
    return Part("bytes", data, data[:_BINARY_PREVIEW].hex(" "), note=note)


def _is_printable(text: str) -> bool:
    """Text as people write it: control characters, but for line ends and tabs, mean that it is not text."""
    return text.isprintable() or all(one.isprintable() or one in "\n\r\t" or ord(one) > 0x9F for one in text)


# ---------------------------------------------------------------------- a whole record


class Readings(NamedTuple):
    """How keys and values are to be read."""

    key: str = AUTO
    value: str = AUTO


AS_GUESSED = Readings()


class Message:
    """A record whose parts are made readable when they are asked for: most records of a search are left out for their
    partition or key, and their values need not be read."""

    __slots__ = ("_key", "_readings", "_schemas", "_value", "record")

    def __init__(self, record: Record, schemas: Schemas, readings: Readings = AS_GUESSED) -> None:
        self.record = record
        self._schemas = schemas
        self._readings = readings
        self._key: Part | None = None
        self._value: Part | None = None

    @property
    def key(self) -> Part:
        if self._key is None:
            self._read_key()
        assert self._key is not None
        return self._key

    @property
    def value(self) -> Part:
        if self._value is None:
            self._read_value()
        assert self._value is not None
        return self._value

    @property
    def headers(self) -> dict[str, str | None]:
        """By name; of several with one name the last counts, as in Kafka's clients."""
        return {name: header_text(value) for name, value in self.record.headers}

    @property
    def size(self) -> int:
        return len(self.record.key or b"") + len(self.record.value or b"")

    def _read_key(self) -> None:
        if self._is_internal(self._readings.key):
            self._read_internal()
        else:
            self._key = read_part(self.record.key, self._schemas, self._readings.key, is_key=True)

    def _read_value(self) -> None:
        if self._is_internal(self._readings.value):
            self._read_internal()
        else:
            self._value = read_part(self.record.value, self._schemas, self._readings.value)

    def _is_internal(self, reading: str) -> bool:
        return self.record.topic in DECODED_TOPICS and reading == AUTO

    def _read_internal(self) -> None:
        """Key and value together: the key says what the value is."""
        shown = decode_record(self.record.topic, self.record.key, self.record.value)
        note = Note("unreadable", shown["reason"]) if "reason" in shown else None
        key = {"type": shown["type"], **shown["key"]} if isinstance(shown["key"], dict) else shown["key"]
        self._key = Part("internal", readable(key), compact_json(key), note=note)
        value = shown["value"]
        self._value = (
            Part("null", None, "null")
            if value is None
            else Part("internal", readable(value), compact_json(value), note=note)
        )


def header_text(value: bytes | None) -> str | None:
    """A header is text by custom; other bytes are shown as hexadecimal."""
    if value is None:
        return None
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return value.hex(" ")
    return text if _is_printable(text) else value.hex(" ")


def preview(text: str, most: int = PREVIEW_CHARACTERS) -> str:
    """One line of a table.

    >>> preview("a\\nb" * 200, 5)
    'a ba …'
    """
    line = text[: most + 1].translate(_SPACES)
    return line if len(line) <= most else line[: most - 1].rstrip() + " …"


# ---------------------------------------------------------------------- JSON


def readable(value: Any) -> Any:
    """Values of Avro and Protobuf as JSON has them, so that one filters by what one sees. Decimals stay numbers."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(name): readable(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [readable(each) for each in value]
    if isinstance(value, (bytes, bytearray)):
        return b64encode(value).decode()
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, uuid.UUID):
        return str(value)
    return value


def compact_json(value: Any) -> str:
    return json_bytes(value).decode()


def pretty_json(value: Any) -> str:
    return orjson.dumps(
        value, default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME
    ).decode()
