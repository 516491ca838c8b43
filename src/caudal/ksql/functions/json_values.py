"""JSON as the JSON functions read and write it: numbers keep their digits, and what follows a value is not looked at.

That is how ksqlDB's parser (Jackson) is set: `1.10` stays `1.10`, `1e400` is a number, `[1] x` is an array, but `NaN`
and `01` are errors. An empty text is no error but MISSING.
"""

from __future__ import annotations

import json
import math
import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from caudal.ksql.functions.byte_strings import from_bytes

MISSING: Final = object()

_BLANK = re.compile(r"[ \t\n\r]*")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_READER = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant)


def read(text: str) -> Any:
    """None, bool, int, Decimal, str, list or dict; MISSING for nothing but white space.

    >>> read('{"a": [1.10, null]} and so on')
    {'a': [Decimal('1.10'), None]}
    """
    start = _skipped(text)
    if start == len(text):
        return MISSING
    try:
        value, end = _READER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"Invalid JSON format: {text}") from error
    # A number or a word must end where it ends: 12abc and nullx are not values with something after them.
    if not isinstance(value, str | list | dict) and end < len(text) and text[end] not in " \t\n\r":
        raise ValueError(f"Invalid JSON format: {text}")
    return _with_whole_characters(value) if _HALF.search(text) is not None else value


def _with_whole_characters(value: Any) -> Any:
    """Half a surrogate pair, which an escape can stand for, cannot be written as UTF-8: it becomes U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_with_whole_characters(one) for one in value]
    if isinstance(value, dict):
        return {_with_whole_characters(key): _with_whole_characters(one) for key, one in value.items()}
    return value


def _skipped(text: str) -> int:
    found = _BLANK.match(text)
    return 0 if found is None else found.end()


def write(value: Any, *, plain: bool = False) -> str:
    """A value as JSON without spaces. `plain`: numbers never with an exponent.

    >>> write({"a": [1, Decimal("1.10"), "x"]})
    '{"a":[1,1.10,"x"]}'
    """
    if isinstance(value, str):
        return _text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Decimal):
        number = abs(value) if value.is_zero() else value  # Java has no negative zero here
        return f"{number:f}" if plain else str(number)
    if isinstance(value, list):
        return "[" + ",".join([write(one, plain=plain) for one in value]) + "]"
    return "{" + ",".join([f"{_text(key)}:{write(one, plain=plain)}" for key, one in value.items()]) + "}"


def of_sql(value: Any) -> Any:
    """A SQL value as what `write` takes: dates as text, bytes as Base64; maps and structs by key."""
    if isinstance(value, dict):
        return {_key(key): of_sql(value[key]) for key in sorted(value, key=_key)}
    if isinstance(value, list):
        return [of_sql(one) for one in value]
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}".rjust(23, "0")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return value.strftime("%H:%M:%S" if value.second else "%H:%M")  # ksqlDB cuts it to seconds
    if isinstance(value, bytes):
        return from_bytes(value, "base64")
    return value


def _key(key: Any) -> str:
    return key if isinstance(key, str) else write(of_sql(key)).strip('"')


def _text(value: str) -> str:
    return '"' + _ESCAPED.sub(_escape, value) + '"'


def _escape(found: re.Match[str]) -> str:
    sign = found[0]
    return _ESCAPES.get(sign) or f"\\u{ord(sign):04X}"


def _double(value: float) -> str:
    """As Java writes it: an exponent from 10 million on and below a thousandth."""
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else ('"Infinity"' if value > 0 else '"-Infinity"')
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        shown = repr(value)
        return shown if "e" not in shown else f"{Decimal(shown):f}"
    digits, _, exponent = f"{Decimal(repr(value)):E}".partition("E")
    whole, _, rest = digits.partition(".")
    return f"{whole}.{rest.rstrip('0') or '0'}E{int(exponent)}"
