"""Header values as text: written as a person would type them, and their types guessed back, by the rules of Kafka
Connect's SimpleHeaderConverter: the smallest integer that holds it, then a float, a date, a time, JSON, or text."""

from __future__ import annotations

import base64
import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import orjson

from caudal.connect.converter import Converter, Decoded
from caudal.connect.converters.shaping import RANGES
from caudal.connect.data import (
    BOOLEAN,
    BYTES,
    DATE_SCHEMA,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Schema,
    array,
    decimal,
    map_of,
)

_INTEGERS = (INT8, INT16, INT32, INT64)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_LARGEST_FLOAT32 = 3.4028235677973366e38
_LONGEST_NUMBER = 400  # characters


class SimpleHeaderConverter(Converter):
    aliases = ("org.apache.kafka.connect.storage.SimpleHeaderConverter",)
    for_records = False
    for_headers = True

    def encode(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else text_of(value).encode()

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        if data is None:
            return Decoded(None, None)
        try:
            return value_of(data.decode())
        except UnicodeError:
            return Decoded(BYTES, data)


def value_of(text: str) -> Decoded:
    """The value that a text stands for, with its schema.

    >>> value_of("300").value, value_of("300").schema.kind.value
    (300, 'int16')
    >>> value_of("2026-11-16").value, value_of("hello").value
    (datetime.date(2026, 11, 16), 'hello')
    """
    token = text.strip()
    if token in ("true", "false"):
        return Decoded(BOOLEAN, token == "true")
    if token == "null":
        return Decoded(None, None)
    first = token[:1]
    if first in "[{":
        return _of_json(token, text) if first else Decoded(STRING, text)
    if first == '"':
        return _of_json(token, text)
    if len(token) <= _LONGEST_NUMBER and _NUMBER.fullmatch(token):
        return _number(Decimal(token))
    return _temporal(token) or Decoded(STRING, text)


def _number(number: Decimal) -> Decoded:
    if number == number.to_integral_value():
        whole = int(number)
        return next(
            (Decoded(schema, whole) for schema in _INTEGERS if _fits(whole, schema)), Decoded(decimal(0), number)
        )
    exponent = number.as_tuple().exponent
    value = float(number)
    if abs(value) <= _LARGEST_FLOAT32:
        return Decoded(FLOAT32, value)  # the digits of the text, so that it can be written again
    if value - value == 0.0:
        return Decoded(FLOAT64, value)
    return Decoded(decimal(-int(exponent)), number)


def _fits(number: int, schema: Schema) -> bool:
    low, high = RANGES[schema.kind]
    return low <= number <= high


def _temporal(token: str) -> Decoded | None:
    """Dates, times and timestamps, in Kafka Connect's three forms only."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", token, re.ASCII):
            return Decoded(DATE_SCHEMA, date.fromisoformat(token))
        if re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}Z", token, re.ASCII):
            return Decoded(TIME_SCHEMA, time.fromisoformat(token[:-1]))
        if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", token, re.ASCII):
            return Decoded(TIMESTAMP_SCHEMA, datetime.fromisoformat(token[:-1]).replace(tzinfo=UTC))
    except ValueError:
        return None
    return None


def _of_json(token: str, text: str) -> Decoded:
    """Arrays and maps, and text in quotes. What is not JSON is the text itself."""
    try:
        value = orjson.loads(token)
    except ValueError:
        return Decoded(STRING, text)
    return Decoded(_inferred(value), value)


def _inferred(value: Any) -> Schema | None:
    """The schema of a JSON value; None where its parts have none in common."""
    match value:
        case bool():
            return BOOLEAN
        case int():
            return next((schema for schema in _INTEGERS if _fits(value, schema)), None)
        case float():
            return FLOAT64
        case str():
            return STRING
        case list():
            items = _widest(value)
            return None if items is None else array(items)
        case dict():
            items = _widest(list(value.values()))
            return None if items is None else map_of(STRING, items)
    return None


def _widest(values: list[Any]) -> Schema | None:
    schemas = {_inferred(value) for value in values if value is not None}
    if len(schemas) > 1 and all(schema is not None and schema.kind in RANGES for schema in schemas):
        schemas = {next(schema for schema in reversed(_INTEGERS) if schema in schemas)}
    if len(schemas) != 1:
        return None
    schema = schemas.pop()
    return schema if schema is None or None not in values else schema.as_optional()


def text_of(value: Any) -> str:
    """A value as a person would type it; structs, maps and arrays as JSON.

    >>> text_of(True), text_of(1.5), text_of({"a": [1, None]}), text_of(Decimal("1E+3"))
    ('true', '1.5', '{"a":[1,null]}', '1000')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list, tuple)):
        return orjson.dumps(value, default=_scalar, option=orjson.OPT_NON_STR_KEYS).decode()
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03d}Z"
    if isinstance(value, time):
        return f"{value:%H:%M:%S}.{value.microsecond // 1000:03d}Z"
    if isinstance(value, date):
        return value.isoformat()
    return str(value)
