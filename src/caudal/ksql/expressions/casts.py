"""CAST: which types can become which, and the functions that do it.

`caster(a, b)` is a function of a value that is not NULL, and None where nothing is to be done. What it cannot do it
says with a ValueError or ArithmeticError: the value is NULL then, and the processing log has a line. A pair that is not
in the table is an error of the statement. The forms are those of ksqlDB, that is of Java: `1.0E10`, `[1, 2]`, `{a=1}`.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Context
from decimal import Decimal as Number
from typing import Any

from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.expressions.operators import EXACT, wrap32, wrap64
from caudal.ksql.expressions.timetext import (
    format_date,
    format_time,
    format_timestamp,
    parse_date,
    parse_time,
    parse_timestamp,
)
from caudal.ksql.types import Array, Base, Decimal, Map, SqlType, Struct

Caster = Callable[[Any], Any]
_INTEGER_TEXT = re.compile(r"[+-]?\d+")
_DOUBLE_TEXT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?")
_DECIMAL_TEXT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def caster(source: SqlType, target: SqlType, at: Position | None = None) -> Caster | None:
    """
    >>> from caudal.ksql.types import INTEGER, STRING, array
    >>> caster(array(STRING), array(INTEGER))([" 1", None])
    [1, None]
    """
    if source == target:
        return None
    try:
        return _caster(source, target)
    except _NoSuchCast:
        raise KsqlError(f"Cast of {source} to {target} is not supported.", at) from None


def can_cast(source: SqlType, target: SqlType) -> bool:
    try:
        caster(source, target)
    except KsqlError:
        return False
    return True


class _NoSuchCast(Exception):
    pass


def _caster(source: SqlType, target: SqlType) -> Caster | None:
    if source == target:
        return None
    if isinstance(target, Decimal):
        if not target.scale and target.precision >= _DIGITS.get(source.base, target.precision + 1):
            return Number  # of an integer that fits: beside a decimal in arithmetic
        to_decimal = _TO_DECIMAL.get(source.base)
        if to_decimal is None:
            raise _NoSuchCast
        return to_decimal(target.precision, target.scale)
    if isinstance(source, Array) and isinstance(target, Array):
        return _array(_caster(source.element, target.element))
    if isinstance(source, Map) and isinstance(target, Map):
        return _map(_caster(source.key, target.key), _caster(source.value, target.value))
    if isinstance(source, Struct) and isinstance(target, Struct):
        return _struct(source, target)
    simple = _SIMPLE.get((source.base, target.base))
    if simple is None:
        raise _NoSuchCast
    if simple is _text_of and isinstance(source, Array | Map | Struct):
        return _text_of_type(source)
    return simple


# -- numbers -----------------------------------------------------------------------------------------------------------


def _same(value: Any) -> Any:
    return value


def _integer_of_double(value: float) -> int:
    """Cut towards zero, and kept within the type's range, as Java does."""
    if value != value:
        return 0
    return max(-(2**31), min(2**31 - 1, int(value))) if math.isfinite(value) else (2**31 - 1 if value > 0 else -(2**31))


def _bigint_of_double(value: float) -> int:
    if value != value:
        return 0
    return max(-(2**63), min(2**63 - 1, int(value))) if math.isfinite(value) else (2**63 - 1 if value > 0 else -(2**63))


def _integer_of_decimal(value: Number) -> int:
    return wrap32(int(value))


def _bigint_of_decimal(value: Number) -> int:
    return wrap64(int(value))


class ToDecimal:
    """From any number of Python to DECIMAL(precision, scale): rounded half up; too large is an error."""

    __slots__ = ("_limit", "_step", "precision", "scale")

    def __init__(self, precision: int, scale: int) -> None:
        self.precision = precision
        self.scale = scale
        self._limit = Number(10) ** (precision - scale)
        self._step = Number(1).scaleb(-scale)

    def __call__(self, value: Number | int) -> Number:
        number = Number(value)
        if not number.is_finite():
            raise ArithmeticError(f"{number} is no DECIMAL({self.precision}, {self.scale}).")
        if abs(number) < self._limit:
            # Rounding may be what makes it too large: 99.99 as DECIMAL(2, 0).
            rounded = number.quantize(self._step, context=EXACT)
            if abs(rounded) < self._limit:
                return rounded
        raise ArithmeticError(
            f"Numeric field overflow: A field with precision {self.precision} and scale {self.scale} must round to an "
            f"absolute value less than 10^{self.precision - self.scale}. Got {plain(number)}"
        )


class _TextToDecimal(ToDecimal):
    __slots__ = ()

    def __call__(self, value: Any) -> Number:
        text = value.strip()
        if not _DECIMAL_TEXT.fullmatch(text):
            raise ValueError(f"'{value}' is not a number.")
        return super().__call__(EXACT.create_decimal(text))


class _DoubleToDecimal(ToDecimal):
    """The exact binary value, rounded to the precision first: as BigDecimal does it."""

    __slots__ = ("_context",)

    def __init__(self, precision: int, scale: int) -> None:
        super().__init__(precision, scale)
        self._context = Context(prec=precision, rounding=ROUND_HALF_UP)

    def __call__(self, value: Any) -> Number:
        if not math.isfinite(value):
            raise ArithmeticError(f"{double_text(value)} is no DECIMAL({self.precision}, {self.scale}).")
        return super().__call__(self._context.create_decimal_from_float(value))


_TO_DECIMAL: dict[Base, type[ToDecimal]] = {
    Base.INTEGER: ToDecimal,
    Base.BIGINT: ToDecimal,
    Base.DECIMAL: ToDecimal,
    Base.DOUBLE: _DoubleToDecimal,
    Base.STRING: _TextToDecimal,
}

_DIGITS = {Base.INTEGER: 10, Base.BIGINT: 19}

# -- from text ---------------------------------------------------------------------------------------------------------


def _integer_of_text(text: str) -> int:
    number = _integer(text)
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"'{text}' is out of the range of INTEGER.")
    return number


def _bigint_of_text(text: str) -> int:
    number = _integer(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"'{text}' is out of the range of BIGINT.")
    return number


def _integer(text: str) -> int:
    stripped = text.strip()
    if not _INTEGER_TEXT.fullmatch(stripped):
        raise ValueError(f"'{text}' is not a whole number.")
    return int(stripped)


def _double_of_text(text: str) -> float:
    stripped = text.strip()
    if not _DOUBLE_TEXT.fullmatch(stripped):
        raise ValueError(f"'{text}' is not a number.")
    number = float(stripped.rstrip("dDfF"))
    if math.isinf(number):
        raise ValueError(f"'{text}' is out of the range of DOUBLE.")
    return number


def boolean_of_text(text: str) -> bool | None:
    """`true`, `yes` or the beginning of one, in any case; likewise `false` and `no`; None for all else."""
    word = text.strip().lower()
    if word and ("true".startswith(word) or "yes".startswith(word)):
        return True
    if word and ("false".startswith(word) or "no".startswith(word)):
        return False
    return None


def _boolean_of_text(text: str) -> bool:
    """Whatever is not true is false: ksqlDB's CAST makes no error of it."""
    return boolean_of_text(text) is True


def _bytes_of_text(text: str) -> bytes:
    try:
        return base64.b64decode(text.strip(), validate=True)
    except binascii.Error:
        raise ValueError(f"'{text}' is not Base64.") from None


# -- to text -----------------------------------------------------------------------------------------------------------


def plain(value: Number) -> str:
    """Without an exponent.

    >>> plain(Number("1E+2")), plain(Number("0.0000001"))
    ('100', '0.0000001')
    """
    return format(value, "f")


def double_text(value: float) -> str:
    """As Java writes a double.

    >>> double_text(1.0), double_text(1e10), double_text(0.0001), double_text(123456.789)
    ('1.0', '1.0E10', '1.0E-4', '123456.789')
    """
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        shown = repr(value)
        return shown if "e" not in shown else format(Number(shown), "f")
    sign, digits, exponent = Number(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    first, rest = str(digits[0]), "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{first}.{rest}E{exponent + len(digits) - 1}"


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


def _text_of(value: Any) -> str:
    """Of a value alone: what Java's toString gives for its class."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return _boolean_text(value)
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, Number):
        return plain(value)
    if isinstance(value, datetime):
        return format_timestamp(value)
    if isinstance(value, date):
        return format_date(value)
    if isinstance(value, time):
        return format_time(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


def _text_of_type(source: SqlType) -> Caster:
    """Nested values: `[1, null]`, `{k=1}`, `Struct{A=1,B=x}` with the fields that are not NULL."""
    if isinstance(source, Array):
        inner = _text_or_null(source.element)
        return lambda value: f"[{', '.join(inner(one) for one in value)}]"
    if isinstance(source, Map):
        key, item = _text_or_null(source.key), _text_or_null(source.value)
        return lambda value: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in value.items()) + "}"
    if isinstance(source, Struct):
        fields = [(field.name, _text_or_null(field.type)) for field in source.fields]
        return lambda value: (
            "Struct{" + ",".join(f"{name}={of(value[name])}" for name, of in fields if value[name] is not None) + "}"
        )
    return _text_of


def _text_or_null(source: SqlType) -> Caster:
    text = _text_of_type(source)
    return lambda value: "null" if value is None else text(value)


# -- times -------------------------------------------------------------------------------------------------------------


def _date_of_timestamp(value: datetime) -> date:
    return value.date()


def _time_of_timestamp(value: datetime) -> time:
    return value.time()


def timestamp_of_date(value: date) -> datetime:
    return datetime(value.year, value.month, value.day, tzinfo=UTC)


# -- nested ------------------------------------------------------------------------------------------------------------


def _array(inner: Caster | None) -> Caster | None:
    if inner is None:
        return None
    return lambda items: [None if item is None else inner(item) for item in items]


def _map(key: Caster | None, value: Caster | None) -> Caster | None:
    if key is None and value is None:
        return None
    of_key, of_value = key or _same, value or _same
    return lambda entries: {
        (None if k is None else of_key(k)): (None if v is None else of_value(v)) for k, v in entries.items()
    }


def _struct(source: Struct, target: Struct) -> Caster:
    """By name: fields that the source does not have are NULL, those that only it has are left out."""
    plan: list[tuple[str, bool, Caster]] = []
    for field in target.fields:
        given = source.field(field.name)
        plan.append((field.name, given is not None, (_caster(given.type, field.type) if given else None) or _same))

    def cast(value: dict[str, Any]) -> dict[str, Any]:
        return {name: of(value[name]) if known and value[name] is not None else None for name, known, of in plan}

    return cast


_SIMPLE: dict[tuple[Base, Base], Caster] = {
    (Base.BOOLEAN, Base.STRING): _boolean_text,
    (Base.INTEGER, Base.BIGINT): _same,
    (Base.INTEGER, Base.DOUBLE): float,
    (Base.INTEGER, Base.STRING): str,
    (Base.BIGINT, Base.INTEGER): wrap32,
    (Base.BIGINT, Base.DOUBLE): float,
    (Base.BIGINT, Base.STRING): str,
    (Base.DECIMAL, Base.INTEGER): _integer_of_decimal,
    (Base.DECIMAL, Base.BIGINT): _bigint_of_decimal,
    (Base.DECIMAL, Base.DOUBLE): float,
    (Base.DECIMAL, Base.STRING): plain,
    (Base.DOUBLE, Base.INTEGER): _integer_of_double,
    (Base.DOUBLE, Base.BIGINT): _bigint_of_double,
    (Base.DOUBLE, Base.STRING): double_text,
    (Base.STRING, Base.BOOLEAN): _boolean_of_text,
    (Base.STRING, Base.INTEGER): _integer_of_text,
    (Base.STRING, Base.BIGINT): _bigint_of_text,
    (Base.STRING, Base.DOUBLE): _double_of_text,
    (Base.STRING, Base.BYTES): _bytes_of_text,
    (Base.STRING, Base.DATE): parse_date,
    (Base.STRING, Base.TIME): parse_time,
    (Base.STRING, Base.TIMESTAMP): parse_timestamp,
    (Base.DATE, Base.STRING): format_date,
    (Base.DATE, Base.TIMESTAMP): timestamp_of_date,
    (Base.TIME, Base.STRING): format_time,
    (Base.TIMESTAMP, Base.STRING): format_timestamp,
    (Base.TIMESTAMP, Base.DATE): _date_of_timestamp,
    (Base.TIMESTAMP, Base.TIME): _time_of_timestamp,
    (Base.ARRAY, Base.STRING): _text_of,
    (Base.MAP, Base.STRING): _text_of,
    (Base.STRUCT, Base.STRING): _text_of,
}
