"""A text as the value it looks like: what `InsertHeader` makes of `value.literal`, as Connect's `Values.parseString`.

`null`, `true`, numbers in the smallest type that holds them, times in ISO 8601, `[…]` and `{…}` with one type for all
elements; all else is a text. Texts within arrays and maps are in double quotes.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from caudal.connect.converter import Decoded
from caudal.connect.data import (
    BOOLEAN,
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
    Kind,
    Schema,
    array,
    decimal,
    map_of,
)
from caudal.connect.transforms.casts import CASTS, nearest_single
from caudal.connect.transforms.simple_date_format import SimpleDateFormat

_NULL = Decoded(None, None)
_DATE = SimpleDateFormat("yyyy-MM-dd")
_TIME = SimpleDateFormat("HH:mm:ss.SSS'Z'")
_TIMESTAMP = SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
_NUMBERS = [Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64, Kind.FLOAT32, Kind.FLOAT64]
_TOKEN = re.compile(
    r"\s*(?:(?P<sign>[\[\]{},])|(?P<colon>:)|\"(?P<text>(?:[^\"\\]|\\.)*)\"|(?P<bare>[^\[\]{},\"\s][^\[\]{},\"]*))",
    re.DOTALL,
)
# A number begins with a digit or a sign: `.5` is a text.
_NUMBER = re.compile(r"(?!\.)[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class _NoLiteral(Exception):
    pass


def parse(text: str) -> Decoded:
    """
    >>> parse("300").schema.kind, parse("[1, 2.5]").value, parse("hello")[1]
    (<Kind.INT16: 'int16'>, [1.0, 2.5], 'hello')
    """
    stripped = text.strip()
    if not stripped:
        return Decoded(STRING, text)
    if stripped[0] in "[{":
        try:
            found, end = _value(text, 0)
            if not text[end:].strip():
                return found
        except _NoLiteral:
            pass
        return Decoded(STRING, text)
    return _scalar(stripped) or Decoded(STRING, text)


def _scalar(text: str) -> Decoded | None:
    if text == "null":
        return _NULL
    if text in ("true", "false"):
        return Decoded(BOOLEAN, text == "true")
    return _temporal(text) or _number(text)


def _temporal(text: str) -> Decoded | None:
    if not text[0].isdigit():
        return None
    text = text.replace("\\:", ":")
    try:
        match len(text):
            case 10:
                return Decoded(DATE_SCHEMA, _DATE.read(text).date())
            case 13:
                return Decoded(TIME_SCHEMA, _TIME.read(text).time())
            case 24:
                return Decoded(TIMESTAMP_SCHEMA, _TIMESTAMP.read(text))
    except ValueError:
        pass
    return None


def _number(text: str) -> Decoded | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if number == number.to_integral_value():
        whole = int(number)
        for bits, schema in ((8, INT8), (16, INT16), (32, INT32), (64, INT64)):
            if -(1 << bits - 1) <= whole < 1 << bits - 1:
                return Decoded(schema, whole)
    scale = -int(number.as_tuple().exponent)
    if scale != 0:
        single = nearest_single(float(number))
        if abs(single) != float("inf"):
            return Decoded(FLOAT32, single)
        if abs(float(number)) != float("inf"):
            return Decoded(FLOAT64, float(number))
    return Decoded(decimal(scale), number)


def _value(text: str, at: int) -> tuple[Decoded, int]:
    """An element of an array or map, or one of these itself, and where it ends."""
    token = _TOKEN.match(text, at)
    if token is None:
        raise _NoLiteral
    if token["text"] is not None:
        content = token["text"]  # a backslash only keeps a quote from ending it
        return (_temporal(content) if content else None) or Decoded(STRING, content), token.end()
    if token["sign"] == "[":
        return _array(text, token.end())
    if token["sign"] == "{":
        return _map(text, token.end())
    if token["bare"] is None:
        raise _NoLiteral
    start = token.start("bare")
    bare = token["bare"]
    # A colon ends a key, and is part of a time.
    moment = re.compile(r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T)?[0-9]{2}\\?:[0-9]{2}\\?:[0-9]{2}\.[0-9]{3}Z").match(
        text, start
    )
    if moment is not None:
        bare = moment[0]
    else:
        bare = bare.split(":", 1)[0]
    found = _scalar(bare.strip())
    if found is None:
        raise _NoLiteral
    return found, start + len(bare)


def _array(text: str, at: int) -> tuple[Decoded, int]:
    elements: list[Decoded] = []
    while True:
        if not elements and (end := _sign(text, at, "]")) is not None:
            break
        element, at = _value(text, at)
        elements.append(element)
        if (end := _sign(text, at, "]")) is not None:
            break
        comma = _sign(text, at, ",")
        if comma is None:
            raise _NoLiteral
        at = comma
        if (end := _sign(text, at, "]")) is not None:
            break
    schema = _shared(elements)
    return Decoded(array(schema), [_aligned(schema, each) for each in elements]), end


def _map(text: str, at: int) -> tuple[Decoded, int]:
    keys: list[Decoded] = []
    values: list[Decoded] = []
    while (end := _sign(text, at, "}")) is None:
        key, at = _value(text, at)
        colon = _sign(text, at, ":")
        if key.value is None or colon is None:
            raise _NoLiteral
        value, at = _value(text, colon)
        keys.append(key)
        values.append(value)
        comma = _sign(text, at, ",")
        at = at if comma is None else comma
    key_schema, value_schema = _shared(keys), _shared(values)
    pairs = zip(keys, values, strict=True)
    made = {_aligned(key_schema, key): _aligned(value_schema, value) for key, value in pairs}
    return Decoded(map_of(key_schema, value_schema), made), end


def _sign(text: str, at: int, sign: str) -> int | None:
    while at < len(text) and text[at].isspace():
        at += 1
    return at + 1 if text.startswith(sign, at) else None


def _shared(elements: list[Decoded]) -> Schema:
    """One schema for all: the same one, or the widest of the numbers. Nulls go with nothing else."""
    schemas = [each.schema for each in elements if each.schema is not None]
    if not schemas:
        return STRING.as_optional()
    widest = schemas[0]
    for schema in schemas[1:]:
        if schema.kind in _NUMBERS and widest.kind in _NUMBERS:
            widest = max(schema, widest, key=lambda each: _NUMBERS.index(each.kind))
        elif schema.kind is not widest.kind or schema.name != widest.name:
            raise _NoLiteral
    if len(schemas) < len(elements):
        raise _NoLiteral
    return widest


def _aligned(schema: Schema, element: Decoded) -> Any:
    if element.value is None or schema.kind not in _NUMBERS or isinstance(element.value, (date, datetime, time)):
        return element.value
    return CASTS[schema.kind](element.value)
