"""Header values as text: written as Kafka Connect's SimpleHeaderConverter does, and their types guessed back."""

from __future__ import annotations

import base64
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import orjson


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
