"""Header values as text: written as a person would type them, and their types guessed back (SimpleHeaderConverter).

What a text stands for is decided where `InsertHeader` has its literals read, so that both are Kafka Connect's.
"""

from __future__ import annotations

import base64
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import orjson

from caudal.connect.converter import Converter, Decoded
from caudal.connect.data import BYTES, Kind, Schema
from caudal.connect.transforms.casts import nearest_single
from caudal.connect.transforms.literals import parse


class SimpleHeaderConverter(Converter):
    aliases = ("org.apache.kafka.connect.storage.SimpleHeaderConverter",)
    for_records = False
    for_headers = True

    def encode(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if schema is not None and schema.kind is Kind.FLOAT32 and isinstance(value, float):
            return _single(value).encode()
        return text_of(value).encode()

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        if data is None:
            return Decoded(None, None)
        try:
            return parse(data.decode())
        except UnicodeError:
            return Decoded(BYTES, data)


def _single(value: float) -> str:
    """The fewest digits that are read as this number of 32 bits.

    >>> _single(nearest_single(0.1)), _single(1.5)
    ('0.1', '1.5')
    """
    for digits in range(1, 9):
        shorter = float(f"{value:.{digits}g}")
        if nearest_single(shorter) == value:
            return str(shorter)
    return str(value)


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
