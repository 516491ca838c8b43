"""Numbers: rounding, roots, powers, logarithms, the largest and the least.

What leaves the range is what it is in Java: ABS of the smallest INTEGER is itself, ROUND and TRUNC of a DOUBLE stop at
the ends of BIGINT, roots and logarithms outside of their domain are NaN, and what grows too large is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_DOWN,
    ROUND_HALF_UP,
    Context,
    Decimal,
)
from typing import Any

from caudal.ksql import types
from caudal.ksql.errors import KsqlError
from caudal.ksql.functions.order import order_key
from caudal.ksql.functions.registry import scalar
from caudal.ksql.types import SqlType

MATHEMATICAL = "MATHEMATICAL"
SMALLEST_INTEGER, SMALLEST_BIGINT, LARGEST_BIGINT = -(1 << 31), -(1 << 63), (1 << 63) - 1
# Wide enough that no digit of a decimal, or of a double written out, is lost to Python's 28.
EXACT = Context(prec=2000)

ONE_NUMBER = ("(value INTEGER) -> DOUBLE", "(value BIGINT) -> DOUBLE", "(value DOUBLE) -> DOUBLE")


def same_decimal(arguments: Sequence[SqlType | None]) -> SqlType:
    return _decimal(arguments[0])


def _decimal(argument: SqlType | None) -> types.Decimal:
    if not isinstance(argument, types.Decimal):
        raise KsqlError(f"A DECIMAL is needed here, not {argument or 'NULL'}.")
    return argument


def _whole(arguments: Sequence[SqlType | None]) -> SqlType:
    given = _decimal(arguments[0])
    return types.decimal(max(1, given.precision - given.scale), 0)


# -- signs -------------------------------------------------------------------------------------------------------------

_ABS = "The value without its sign."


@scalar("ABS", "(value INTEGER) -> INTEGER", description=_ABS, category=MATHEMATICAL)
def abs_of_integer(value: int) -> int:
    return abs(value) if value != SMALLEST_INTEGER else value


@scalar("ABS", "(value BIGINT) -> BIGINT", description=_ABS, category=MATHEMATICAL)
def abs_of_bigint(value: int) -> int:
    return abs(value) if value != SMALLEST_BIGINT else value


@scalar(
    "ABS",
    "(value DECIMAL) -> DECIMAL",
    description=_ABS,
    category=MATHEMATICAL,
    returns=same_decimal,
    spark="abs({0})",
)
def abs_of_decimal(value: Decimal) -> Decimal:
    return value.copy_abs()


@scalar("ABS", "(value DOUBLE) -> DOUBLE", description=_ABS, category=MATHEMATICAL, spark="abs({0})")
def abs_of_double(value: float) -> float:
    return abs(value)


_SIGN = "-1, 0 or 1, as the value is negative, zero or positive."


@scalar(
    "SIGN",
    "(value INTEGER) -> INTEGER",
    "(value BIGINT) -> INTEGER",
    description=_SIGN,
    category=MATHEMATICAL,
    spark="CAST(signum({0}) AS INT)",
)
@scalar("SIGN", "(value DOUBLE) -> INTEGER", description=_SIGN, category=MATHEMATICAL)
def sign(value: float) -> int:
    return (value > 0) - (value < 0)


# -- whole numbers -----------------------------------------------------------------------------------------------------

_CEIL = "The smallest whole number that is not less than the value."
_FLOOR = "The largest whole number that is not greater than the value."


@scalar(
    "CEIL",
    "(value INTEGER) -> INTEGER",
    "(value BIGINT) -> BIGINT",
    description=_CEIL,
    category=MATHEMATICAL,
    spark="{0}",
)
@scalar(
    "FLOOR",
    "(value INTEGER) -> INTEGER",
    "(value BIGINT) -> BIGINT",
    description=_FLOOR,
    category=MATHEMATICAL,
    spark="{0}",
)
def unchanged(value: int) -> int:
    return value


def _rounded(value: Decimal, places: int, rounding: str) -> Decimal:
    """To a number of digits after the point (before it, where negative), with as many digits as it came with."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError(f"{value} cannot be rounded.")
    if places >= -exponent:
        return value
    if -places > value.adjusted() + 1:  # less than half of the last digit that is kept
        up = (rounding == ROUND_CEILING and value > 0) or (rounding == ROUND_FLOOR and value < 0)
        if not up:
            return Decimal(0).scaleb(exponent)
    return value.quantize(Decimal((0, (1,), -places)), rounding, EXACT).quantize(
        Decimal((0, (1,), exponent)), None, EXACT
    )


def half_up(value: Decimal, places: int) -> Decimal:
    """Halves go to the greater number: 1.5 to 2, and -1.5 to -1."""
    return _rounded(value, places, ROUND_HALF_UP if value > 0 else ROUND_HALF_DOWN)


@scalar("CEIL", "(value DECIMAL) -> DECIMAL", description=_CEIL, category=MATHEMATICAL, returns=same_decimal)
def ceil_of_decimal(value: Decimal) -> Decimal:
    return _rounded(value, 0, ROUND_CEILING)


@scalar("FLOOR", "(value DECIMAL) -> DECIMAL", description=_FLOOR, category=MATHEMATICAL, returns=same_decimal)
def floor_of_decimal(value: Decimal) -> Decimal:
    return _rounded(value, 0, ROUND_FLOOR)


@scalar("CEIL", "(value DOUBLE) -> DOUBLE", description=_CEIL, category=MATHEMATICAL)
def ceil_of_double(value: float) -> float:
    return math.copysign(float(math.ceil(value)), value) if math.isfinite(value) else value


@scalar("FLOOR", "(value DOUBLE) -> DOUBLE", description=_FLOOR, category=MATHEMATICAL)
def floor_of_double(value: float) -> float:
    return math.copysign(float(math.floor(value)), value) if math.isfinite(value) else value


_ROUND = "The nearest number with so many decimal places (none, where not given); of two, the greater one."
_TRUNC = "The value cut off after so many decimal places (none, where not given)."


@scalar(
    "ROUND",
    "(value INTEGER) -> BIGINT",
    "(value BIGINT) -> BIGINT",
    description=_ROUND,
    category=MATHEMATICAL,
    spark="CAST({0} AS BIGINT)",
)
@scalar(
    "TRUNC",
    "(value INTEGER) -> BIGINT",
    "(value BIGINT) -> BIGINT",
    description=_TRUNC,
    category=MATHEMATICAL,
    spark="CAST({0} AS BIGINT)",
)
def whole_already(value: int) -> int:
    return value


def _no_places(value: Decimal) -> Decimal:
    return value.quantize(Decimal(1), None, EXACT)


@scalar("ROUND", "(value DECIMAL) -> DECIMAL", description=_ROUND, category=MATHEMATICAL, returns=_whole)
def round_decimal(value: Decimal) -> Decimal:
    return _no_places(half_up(value, 0))


@scalar("TRUNC", "(value DECIMAL) -> DECIMAL", description=_TRUNC, category=MATHEMATICAL, returns=_whole)
def trunc_decimal(value: Decimal) -> Decimal:
    return _no_places(_rounded(value, 0, ROUND_DOWN))


@scalar(
    "ROUND",
    "(value DECIMAL, places INTEGER) -> DECIMAL",
    description=_ROUND,
    category=MATHEMATICAL,
    returns=same_decimal,
)
def round_decimal_to(value: Decimal, places: int) -> Decimal:
    return half_up(value, places)


@scalar(
    "TRUNC",
    "(value DECIMAL, places INTEGER) -> DECIMAL",
    description=_TRUNC,
    category=MATHEMATICAL,
    returns=same_decimal,
)
def trunc_decimal_to(value: Decimal, places: int) -> Decimal:
    return _rounded(value, places, ROUND_DOWN)


def _bigint(value: float, whole: Callable[[float], int]) -> int:
    if value != value:
        return 0
    if math.isinf(value):
        return LARGEST_BIGINT if value > 0 else SMALLEST_BIGINT
    return min(max(whole(value), SMALLEST_BIGINT), LARGEST_BIGINT)


def _nearest(value: float) -> int:
    below = math.floor(value)
    return below + (value - below >= 0.5)


@scalar("ROUND", "(value DOUBLE) -> BIGINT", description=_ROUND, category=MATHEMATICAL)
def round_double(value: float) -> int:
    return _bigint(value, _nearest)


@scalar("TRUNC", "(value DOUBLE) -> BIGINT", description=_TRUNC, category=MATHEMATICAL)
def trunc_double(value: float) -> int:
    return _bigint(value, math.trunc)


def _written_out(value: float) -> Decimal:
    if not math.isfinite(value):
        raise ValueError(f"{value} has no decimal places.")
    return Decimal(repr(value))


@scalar("ROUND", "(value DOUBLE, places INTEGER) -> DOUBLE", description=_ROUND, category=MATHEMATICAL)
def round_double_to(value: float, places: int) -> float:
    return float(half_up(_written_out(value), places))


@scalar("TRUNC", "(value DOUBLE, places INTEGER) -> DOUBLE", description=_TRUNC, category=MATHEMATICAL)
def trunc_double_to(value: float, places: int) -> float:
    return float(_rounded(_written_out(value), places, ROUND_DOWN))


# -- roots, powers, logarithms -----------------------------------------------------------------------------------------


@scalar("SQRT", *ONE_NUMBER, description="The square root.", category=MATHEMATICAL, spark="sqrt({0})")
def sqrt(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


@scalar("CBRT", *ONE_NUMBER, description="The cube root.", category=MATHEMATICAL)
def cbrt(value: float) -> float:
    root = math.cbrt(value)
    cube = root * root * root
    # some C libraries are off by one in the last place, even for 27: one step of Newton's
    return root - (cube - value) / (3 * root * root) if root and math.isfinite(cube) else root


@scalar("EXP", *ONE_NUMBER, description="Euler's number raised to a power.", category=MATHEMATICAL)
def exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


@scalar("LN", *ONE_NUMBER, description="The natural logarithm.", category=MATHEMATICAL)
# ksqlDB's manual promises the decimal logarithm here; what its versions compute, and its tests ask for, is this one.
@scalar(
    "LOG",
    *ONE_NUMBER,
    description="The natural logarithm; with two arguments, the logarithm to the given base.",
    category=MATHEMATICAL,
)
def ln(value: float) -> float:
    if value > 0:
        return math.log(value)
    return -math.inf if value == 0 else math.nan


@scalar(
    "LOG",
    "(base INTEGER, value INTEGER) -> DOUBLE",
    "(base BIGINT, value BIGINT) -> DOUBLE",
    "(base DOUBLE, value DOUBLE) -> DOUBLE",
    description="The logarithm to a base.",
    category=MATHEMATICAL,
)
def log(base: float, value: float) -> float:
    if base <= 0 or base == 1:
        return math.nan
    return ln(value) / ln(base)


@scalar(
    "POWER",
    "(base INTEGER, exponent INTEGER) -> DOUBLE",
    "(base BIGINT, exponent BIGINT) -> DOUBLE",
    "(base DOUBLE, exponent DOUBLE) -> DOUBLE",
    description="The base raised to the exponent.",
    category=MATHEMATICAL,
)
def power(base: float, exponent: float) -> float:
    base, exponent = float(base), float(exponent)
    if abs(base) == 1 and (math.isinf(exponent) or exponent != exponent):
        return math.nan  # C says 1
    odd = math.isfinite(exponent) and exponent % 2 == 1
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and odd else math.inf
    except ValueError:  # a zero to a negative power, or a root of a negative number
        return math.copysign(math.inf, base if odd else 1.0) if base == 0 else math.nan


# -- of several --------------------------------------------------------------------------------------------------------


def _widest(arguments: Sequence[SqlType | None]) -> SqlType:
    given = [_decimal(one) for one in arguments if one is not None]
    scale = max(one.scale for one in given)
    return types.decimal(max(one.precision - one.scale for one in given) + scale, scale)


_SEVERAL = tuple(f"(value {kind}, others {kind}...) -> {kind}" for kind in ("INTEGER", "BIGINT", "DOUBLE", "STRING"))
_GREATEST = "The largest of the values that are not null."
_LEAST = "The smallest of the values that are not null."


def _of_several(choose: Callable[..., Any], values: Sequence[Any]) -> Any:
    return choose((value for value in values if value is not None), key=order_key, default=None)


@scalar("GREATEST", *_SEVERAL, description=_GREATEST, category=MATHEMATICAL, nulls=True)
def greatest(*values: Any) -> Any:
    return _of_several(max, values)


@scalar("LEAST", *_SEVERAL, description=_LEAST, category=MATHEMATICAL, nulls=True)
def least(*values: Any) -> Any:
    return _of_several(min, values)


def _to_widest_scale(value: Decimal | None, values: Sequence[Decimal | None]) -> Decimal | None:
    if value is None:
        return None
    exponent = min(int(one.as_tuple().exponent) for one in values if one is not None)
    return value.quantize(Decimal((0, (1,), exponent)), None, EXACT)


@scalar(
    "GREATEST",
    "(value DECIMAL, others DECIMAL...) -> DECIMAL",
    description=_GREATEST,
    category=MATHEMATICAL,
    nulls=True,
    returns=_widest,
)
def greatest_decimal(*values: Decimal | None) -> Decimal | None:
    return _to_widest_scale(_of_several(max, values), values)


@scalar(
    "LEAST",
    "(value DECIMAL, others DECIMAL...) -> DECIMAL",
    description=_LEAST,
    category=MATHEMATICAL,
    nulls=True,
    returns=_widest,
)
def least_decimal(*values: Decimal | None) -> Decimal | None:
    return _to_widest_scale(_of_several(min, values), values)
