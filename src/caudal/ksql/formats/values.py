"""Between SQL values and the plain numbers and texts that formats write for them: days, milliseconds, exact decimals.

What does not fit raises `Misfit`: one clause, and the place in the value as ksqlDB shows it (`$.A[0]`).
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import cache

from caudal.ksql import types

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1
DAY_MS = 86_400_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_MIDNIGHT = datetime(1970, 1, 1)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "+Infinity": float("inf"), "-Infinity": float("-inf")}
# Exact or an error; wide enough for any DECIMAL of SQL, whose precision has no upper bound in ksqlDB's grammar.
_EXACT = Context(prec=4000, traps=[Inexact, InvalidOperation])


class Misfit(ValueError):
    """A value does not fit its column; `path` grows on the way out."""

    def __init__(self, cause: str, path: str = "") -> None:
        super().__init__(cause, path)
        self.cause = cause
        self.path = path

    def __str__(self) -> str:
        return f"{self.cause}, path: ${self.path}"


# -- moments -----------------------------------------------------------------------------------------------------------


def days_of(day: date) -> int:
    """
    >>> days_of(date(1970, 1, 11))
    10
    """
    return day.toordinal() - _EPOCH_DAY


def date_of(days: int) -> date:
    try:
        return date.fromordinal(days + _EPOCH_DAY)
    except (ValueError, OverflowError):
        raise Misfit(f"{days} days since 1970 are not a DATE") from None


def ms_of_time(moment: time) -> int:
    """
    >>> ms_of_time(time(0, 1, 2, 3000))
    62003
    """
    return ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1000 + moment.microsecond // 1000


def time_of(ms: int) -> time:
    if not 0 <= ms < DAY_MS:
        raise Misfit(f"Time values must be from 0 to {DAY_MS - 1} milliseconds, not {ms}")
    return (_MIDNIGHT + timedelta(milliseconds=ms)).time()


def ms_of_timestamp(moment: datetime) -> int:
    """
    >>> ms_of_timestamp(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000
    """
    return (moment - _EPOCH) // _MILLISECOND


def timestamp_of(ms: int) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        raise Misfit(f"{ms} milliseconds since 1970 are not a TIMESTAMP") from None


# -- numbers -----------------------------------------------------------------------------------------------------------


def fitted(value: Decimal, type: types.Decimal) -> Decimal:
    """A finite value with the type's scale. Nothing is rounded: what has more digits is refused, as ksqlDB does.

    >>> fitted(Decimal("1.5"), types.decimal(4, 2))
    Decimal('1.50')
    """
    if value and value.adjusted() >= type.precision - type.scale:
        raise Misfit(
            f"Numeric field overflow: A field with precision {type.precision} and scale {type.scale} must round to an "
            f"absolute value less than 10^{type.precision - type.scale}. Got {_short(value)}"
        )
    try:
        made = value.quantize(_smallest(type.scale), None, _EXACT)
    except (Inexact, InvalidOperation):
        raise Misfit(f"Cannot fit decimal '{_short(value)}' into {type} without rounding") from None
    return made if made else abs(made)


@cache
def _smallest(scale: int) -> Decimal:
    return Decimal((0, (1,), -scale))


def _short(value: Decimal) -> str:
    # An exponent such as 1E999999999 would fill the memory when it is written out.
    return f"{value:f}" if -60 < value.adjusted() < 60 else str(value)


def integer_of(text: str, type: types.SqlType) -> int:
    """As Java reads it: digits with an optional sign."""
    if not ((text.isascii() and text.isdigit()) or _INTEGER.fullmatch(text)) or len(text) > 20:
        raise Misfit(f"Can't coerce string to type. targetType: {type}")
    return in_range(int(text), type)


def in_range(value: int, type: types.SqlType) -> int:
    low, high = (INT_MIN, INT_MAX) if type.base is types.Base.INTEGER else (LONG_MIN, LONG_MAX)
    if not low <= value <= high:
        raise Misfit(f"{value} is out of the range of {type}")
    return value


def double_of(text: str) -> float:
    if _NUMBER.fullmatch(text) is not None:
        return float(text)
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    raise Misfit("Can't coerce string to type. targetType: DOUBLE")


def decimal_of(text: str, type: types.Decimal) -> Decimal:
    if _NUMBER.fullmatch(text) is None:
        raise Misfit(f"Can't coerce string to type. targetType: {type}")
    try:
        return fitted(Decimal(text), type)
    except InvalidOperation:
        raise Misfit(f"Can't coerce string to type. targetType: {type}") from None


def double_text(value: float) -> str:
    """A number that is not finite, as Java writes it; others as Python does.

    >>> double_text(float("-inf"))
    '-Infinity'
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def bytes_of(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Misfit("Value is not a valid Base64 encoded string") from None


def java_double(value: float) -> str:
    """As Java's Double.toString, which is what ksqlDB's texts have.

    >>> [java_double(each) for each in (1.0, 12345678.0, 0.0005, 1e100)]
    ['1.0', '1.2345678E7', '5.0E-4', '1.0E100']
    """
    shown = double_text(value)
    if not value or value != value or 1e-3 <= abs(value) < 1e7 or shown.endswith("y"):
        return shown
    sign, digits, exponent = Decimal(shown).as_tuple()
    figures = "".join(map(str, digits)).rstrip("0")
    power = len(digits) - 1 + int(exponent)
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{power}"
