"""Values from one of Connect's types to another, as Java's numbers and texts behave.

Integers wrap around (300 is 44 as an int8), numbers with a point are cut and stop at the ends of the type, texts must
be numbers of the type. A text of a time is `yyyy-MM-dd`, `HH:mm:ss.SSS'Z'`, or both with a T between: a Timestamp at
midnight is written without its time, as Kafka Connect does; one before 1970 keeps its date, which is lost there.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from caudal.connect.data import Kind
from caudal.ksql.formats.values import java_double

Cast = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOATING = re.compile(r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?")
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_SINGLE = struct.Struct("f")


class Misfit(ValueError):
    """The value cannot be cast; the words say why, and go on after the name of the field."""


def _integer(bits: int) -> Cast:
    half = 1 << (bits - 1)
    whole = 2 * half
    # Java's doubles become an int first, and a byte or short of that; a long for itself.
    limit = 1 << (63 if bits == 64 else 31)

    def cast(value: Any) -> int:
        if value.__class__ is int:
            return value if -half <= value < half else (value + half) % whole - half
        if value.__class__ is str:
            if value.isdigit() and value.isascii() and (number := int(value)) < half:
                return number
            if _INTEGER.fullmatch(value) is None or not -half <= int(value) < half:
                raise Misfit(f"{value!r} is no integer of {bits} bits")
            return int(value)
        if value.__class__ is float:
            if value != value:
                return 0
            cut = -limit if value < -limit else limit - 1 if value > limit - 1 else int(value)
            return (cut + half) % whole - half
        return (int(_number(value)) + half) % whole - half

    return cast


def _double(value: Any) -> float:
    if value.__class__ is float:
        return value
    if value.__class__ is str:
        text = value.strip()
        if (found := _FLOATING.fullmatch(text)) is not None:
            return float(found[1])
        if (found := _HEXADECIMAL.fullmatch(text)) is not None:
            return float.fromhex(found[1])
        raise Misfit(f"{value!r} is no number")
    try:
        return float(_number(value))
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _single(value: Any) -> float:
    return nearest_single(_double(value))


def nearest_single(value: float) -> float:
    """The number of 32 bits that is next to it, infinity where there is none."""
    try:
        return _SINGLE.unpack(_SINGLE.pack(value))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return math.copysign(math.inf, value)


def _boolean(value: Any) -> bool:
    if value.__class__ is str:
        return bool(value.lower() == "true")
    if value.__class__ is float:
        return value == value and int(max(-1.0, min(1.0, value))) != 0
    return int(_number(value)) != 0


def _number(value: Any) -> int | Decimal:
    """bool, int and Decimal as they are; times as Connect's converters write them."""
    if isinstance(value, (int, Decimal)):
        return value
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MILLISECOND
    if isinstance(value, date):
        return (value - _EPOCH_DAY).days
    if isinstance(value, time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    if isinstance(value, float):
        return Decimal(value)
    raise Misfit(f"{value.__class__.__name__} can only become a string")


def text_of(value: Any, is_single: bool = False) -> str:
    """
    >>> text_of(True), text_of(1e10), text_of(b"abc"), text_of(datetime(2024, 5, 1, 12, tzinfo=UTC))
    ('true', '1.0E10', 'YWJj', '2024-05-01T12:00:00.000Z')
    """
    if value.__class__ is str:
        return value
    if value.__class__ is int:
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_float(value) if is_single else java_double(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        day = f"{value.year:04d}-{value.month:02d}-{value.day:02d}"
        at_midnight = not (value.hour or value.minute or value.second or value.microsecond)
        return day if at_midnight and value >= _EPOCH + timedelta(days=1) else f"{day}T{_time_text(value)}"
    if isinstance(value, time):
        return _time_text(value)
    return str(value)


def _time_text(value: datetime | time) -> str:
    return f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}.{value.microsecond // 1000:03d}Z"


def java_float(value: float) -> str:
    """As Java's Float.toString: no more digits than a number of 32 bits needs.

    >>> [java_float(nearest_single(each)) for each in (0.1, 1.5, 16777216.0, 3.4e38)]
    ['0.1', '1.5', '1.6777216E7', '3.4E38']
    """
    if not math.isfinite(value):
        return java_double(value)
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if nearest_single(float(text)) == value:
            return java_double(float(text))
    return java_double(value)


CASTS: dict[Kind, Cast] = {
    Kind.INT8: _integer(8),
    Kind.INT16: _integer(16),
    Kind.INT32: _integer(32),
    Kind.INT64: _integer(64),
    Kind.FLOAT32: _single,
    Kind.FLOAT64: _double,
    Kind.BOOLEAN: _boolean,
    Kind.STRING: text_of,
}


def single_text(value: Any) -> str:
    """The text of a FLOAT32."""
    return text_of(value, is_single=True)
