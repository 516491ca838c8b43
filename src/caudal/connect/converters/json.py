"""JSON, with its schema in every record (`schemas.enable`, the default) or without any.

With schemas a record is `{"schema": …, "payload": …}`. The bytes of a schema are made once and put in front of each
payload; a record that begins with the bytes of a schema seen before is not parsed up to its payload.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import orjson

from caudal.connect.columns import DecodedColumns, NotThisWay
from caudal.connect.configuration import ConfigDef, Importance, Key, Type
from caudal.connect.converter import Converter, Decoded
from caudal.connect.converters.json_schemas import (
    InexactDecimal,
    JsonStyle,
    reading,
    schema_of_json,
    schema_to_json,
    writing,
)
from caudal.connect.converters.shaping import Shape
from caudal.connect.converters.simple import text_of
from caudal.connect.data import Schema
from caudal.connect.errors import DataError

_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME
_HEAD = b'{"schema":'
_MIDDLE = b',"payload":'
_MOST_HEADS = 8
_NO_ENVELOPE = (
    'With schemas.enable a record is a JSON object with "schema" and "payload" and nothing else; '
    "for plain JSON set schemas.enable=false in the converter's configuration."
)


class _Head(NamedTuple):
    """How records of one schema begin, as far as the payload, what follows from it, and how payloads are parsed."""

    text: bytes
    schema: Schema | None
    shape: Shape | None
    parse: Callable[[Any], Any]


class JsonConverter(Converter):
    aliases = ("org.apache.kafka.connect.json.JsonConverter",)
    for_headers = True

    @classmethod
    def config(cls) -> ConfigDef:
        return ConfigDef(
            (
                Key(
                    name="schemas.enable",
                    type=Type.BOOLEAN,
                    default=True,
                    importance=Importance.HIGH,
                    doc="Whether each record has its schema with it, in an envelope.",
                ),
                Key(
                    name="schemas.cache.size",
                    type=Type.INT,
                    default=1000,
                    minimum=0,
                    importance=Importance.HIGH,
                    doc="How many schemas are kept.",
                ),
                Key(
                    name="decimal.format",
                    default="BASE64",
                    choices=("BASE64", "NUMERIC"),
                    importance=Importance.LOW,
                    doc="How decimals are written: as base64 text, or as numbers. Both are read.",
                ),
                Key(
                    name="replace.null.with.default",
                    type=Type.BOOLEAN,
                    default=True,
                    importance=Importance.LOW,
                    doc="Whether null in a field that has a default becomes the default.",
                ),
                Key(
                    name="schema.content",
                    default=None,
                    importance=Importance.HIGH,
                    doc="A schema for all records, which then are read as plain JSON without an envelope.",
                ),
            )
        )

    def __init__(self) -> None:
        self._enabled = True
        self._size = 1000
        self._style = JsonStyle()
        self._content: tuple[Schema, Shape] | None = None
        self._writers: dict[Schema, tuple[bytes, Shape]] = {}
        self._readers: dict[bytes, tuple[Schema | None, Shape | None]] = {}
        self._last: _Head | None = None
        self._heads: list[_Head] = []  # others that came lately
        self._columns: tuple[Schema, Any] | None = None  # the last schema's, and its ColumnReader

    def configure(self, config: Mapping[str, Any], is_key: bool) -> None:
        self._enabled = config["schemas.enable"]
        self._size = config["schemas.cache.size"]
        self._style = JsonStyle(config["decimal.format"] == "NUMERIC", config["replace.null.with.default"])
        if content := config["schema.content"]:
            try:
                schema = schema_of_json(orjson.loads(content))
            except (ValueError, DataError) as error:
                raise DataError(f"schema.content is not a schema: {error}") from None
            if schema is not None:
                self._content = schema, reading(schema, self._style).shape

    # ------------------------------------------------------------------ writing

    def encode(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None:
            if value is None:
                return None
            payload = _schemaless(value)
            return b'{"schema":null,"payload":' + payload + b"}" if self._enabled else payload
        writer = self._writers.get(schema)
        if writer is None:
            writer = self._writer(schema)
        head, shape = writer
        try:
            payload = orjson.dumps(shape(value), option=_OPTIONS)
        except TypeError as error:
            raise DataError(f"The value cannot be written as JSON: {error}.") from None
        return head + payload + b"}" if self._enabled else payload

    def _writer(self, schema: Schema) -> tuple[bytes, Shape]:
        head = _HEAD + orjson.dumps(schema_to_json(schema, self._style)) + _MIDDLE
        shape = writing(schema, self._style).shape
        _keep(self._writers, schema, (head, shape), self._size)
        return head, shape

    # ------------------------------------------------------------------ reading

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        if data is None:
            return Decoded(None, None)
        if self._content is not None:
            schema, shape = self._content
            return Decoded(schema, self._shaped(shape, data))
        if not self._enabled:
            return Decoded(None, _parsed(data))
        last = self._last
        if last is not None and not data.startswith(last.text):
            last = self._last = next((each for each in self._heads if data.startswith(each.text)), last)
        if last is not None and data.startswith(last.text):
            head, known, reader, parse = last
            try:
                payload = parse(data[len(head) : -1])
                return Decoded(known, payload if reader is None else reader(payload))
            except (json.JSONDecodeError, InexactDecimal):
                pass  # not as it looked at first
        return self._decode_envelope(data)

    def decode_columns(self, topic: str, values: Sequence[bytes]) -> DecodedColumns:
        from caudal.connect.converters.json_columns import ColumnReader

        schema = self.decode(topic, values[0]).schema  # also says how records begin
        if schema is None:
            raise NotThisWay
        payloads = values
        if self._content is None:
            last = self._last
            if last is None or not all(value.startswith(last.text) and value.endswith(b"}") for value in values):
                raise NotThisWay
            begin = len(last.text)
            payloads = [value[begin:-1] for value in values]
        if self._columns is None or self._columns[0] is not schema:
            self._columns = schema, ColumnReader(schema)
        return DecodedColumns(schema, self._columns[1].read(payloads))

    def _decode_envelope(self, data: bytes) -> Decoded:
        envelope = _parsed(data)
        if not isinstance(envelope, dict) or envelope.keys() != {"schema", "payload"}:
            raise DataError(_NO_ENVELOPE)
        text = orjson.dumps(envelope["schema"])
        found = self._readers.get(text)
        if found is None:
            schema = schema_of_json(envelope["schema"])
            found = schema, None if schema is None else reading(schema, self._style).shape
            _keep(self._readers, text, found, self._size)
        schema, shape = found
        parse: Callable[[Any], Any] = orjson.loads
        value = envelope["payload"]
        if shape is not None:
            try:
                value = shape(value)
            except InexactDecimal:
                parse = _exactly
                value = shape(_exactly(data)["payload"])
        head = _HEAD + text + _MIDDLE
        if data.startswith(head) and data.endswith(b"}"):
            self._last = _Head(head, schema, shape, parse)
            self._heads = [self._last, *(each for each in self._heads if each.text != head)][:_MOST_HEADS]
        return Decoded(schema, value)

    def _shaped(self, shape: Shape, data: bytes) -> Any:
        try:
            return shape(_parsed(data))
        except InexactDecimal:
            return shape(_exactly(data))


def _keep(cache: dict[Any, Any], key: Any, value: Any, size: int) -> None:
    if size:
        while len(cache) >= size:
            del cache[next(iter(cache))]
        cache[key] = value


def _parsed(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except ValueError as error:
        raise DataError(f"The bytes are not JSON: {error}.") from None


def _exactly(data: bytes) -> Any:
    """Slower, with the digits of every number kept."""
    return json.loads(data, parse_float=Decimal)


def _schemaless(value: Any) -> bytes:
    try:
        data = orjson.dumps(value, default=_foreign, option=_OPTIONS)
        if b"null" not in data:
            return data
    except TypeError:
        pass  # a map whose keys are not text
    try:  # orjson writes NaN as null
        return orjson.dumps(_plain(value), default=_foreign, option=_OPTIONS)
    except TypeError as error:
        raise DataError(f"The value has no schema and cannot be written as JSON: {error}.") from None


def _foreign(value: Any) -> Any:
    """Logical types without a schema: numbers stay numbers, times are text that people and databases read."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            return str(value)
        return orjson.Fragment(format(value, "f").encode())
    if hasattr(value, "isoformat") or isinstance(value, (bytes, bytearray, memoryview)):
        return text_of(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value - value != 0.0:
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(item) for key, item in value.items()}
        return [[_plain(key), _plain(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
