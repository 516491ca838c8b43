"""What generated code calls where an operator of SQL is more than one of Python: Java's arithmetic, decimals, LIKE.

ksqlDB computes with Java's types, so INTEGER and BIGINT wrap around silently, `/` of integers cuts towards zero, `%`
has the sign of the dividend, and division by zero is an error for integers and decimals and an infinity for DOUBLE.
Nothing here sees NULL: generated code asks before it calls.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from functools import lru_cache
from typing import Any

# Digits enough for every sum, product and remainder of decimals; quotients have a context of their own. Traps as in
# Java: a result that does not exist is an error, one that was rounded is not.
EXACT = Context(prec=400, rounding=ROUND_HALF_UP, traps=[InvalidOperation, DivisionByZero, Overflow])


def wrap32(number: int) -> int:
    """
    >>> wrap32(2**31), wrap32(-(2**31) - 1)
    (-2147483648, 2147483647)
    """
    return ((number + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def wrap64(number: int) -> int:
    return ((number + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def divide_integers(left: int, right: int) -> int:
    """
    >>> divide_integers(-7, 2)
    -3
    """
    if right == 0:
        raise ZeroDivisionError("Division by zero.")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder_of_integers(left: int, right: int) -> int:
    """
    >>> remainder_of_integers(-7, 2), remainder_of_integers(7, -2)
    (-1, 1)
    """
    if right == 0:
        raise ZeroDivisionError("Division by zero.")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def divide_doubles(left: float, right: float) -> float:
    if right == 0:
        if left == 0 or left != left:
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    return left / right


def remainder_of_doubles(left: float, right: float) -> float:
    if right == 0 or math.isinf(left):
        return math.nan
    return math.fmod(left, right)


def multiply_decimals(left: Decimal, right: Decimal) -> Decimal:
    return EXACT.multiply(left, right)


def add_decimals(left: Decimal, right: Decimal) -> Decimal:
    return EXACT.add(left, right)


def subtract_decimals(left: Decimal, right: Decimal) -> Decimal:
    return EXACT.subtract(left, right)


class DivideDecimals:
    """The quotient with a fixed number of digits after the point, the last one rounded half up."""

    __slots__ = ("_context", "_step")

    def __init__(self, precision: int, scale: int) -> None:
        # So many digits more than are kept that rounding twice cannot differ from rounding once.
        self._context = Context(prec=precision + 40, rounding=ROUND_HALF_UP, traps=EXACT.traps)
        self._step = Decimal(1).scaleb(-scale)

    def __call__(self, left: Decimal, right: Decimal) -> Decimal:
        if not right:
            raise ZeroDivisionError("Division by zero.")
        return self._context.divide(left, right).quantize(self._step, context=self._context)


class RemainderOfDecimals:
    __slots__ = ("_step",)

    def __init__(self, scale: int) -> None:
        self._step = Decimal(1).scaleb(-scale)

    def __call__(self, left: Decimal, right: Decimal) -> Decimal:
        if not right:
            raise ZeroDivisionError("Division by zero.")
        return EXACT.remainder(left, right).quantize(self._step, context=EXACT)


def negate_decimal(number: Decimal) -> Decimal:
    return EXACT.minus(number)


def decimal_of_double(number: float) -> Decimal:
    """As shown, not as stored: 0.1 is 0.1. For comparisons of DOUBLE with DECIMAL.

    >>> decimal_of_double(0.1)
    Decimal('0.1')
    """
    if number != number or math.isinf(number):
        raise ArithmeticError(f"{number} cannot be compared with a DECIMAL.")
    return Decimal(repr(number))


def element(items: list[Any], index: int) -> Any:
    """Counted from 1, or from the end with a negative index; NULL where there is none.

    >>> element(["a", "b"], 1), element(["a", "b"], -1), element(["a", "b"], 3), element(["a", "b"], 0)
    ('a', 'b', None, None)
    """
    if index > 0:
        return items[index - 1] if index <= len(items) else None
    if index < 0:
        return items[index] if -index <= len(items) else None
    return None


@lru_cache(maxsize=512)
def like_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    """`%` is any text, `_` any character; the sign after the escape is itself."""
    parts: list[str] = []
    escaped = False
    for sign in pattern:
        if escaped:
            parts.append(re.escape(sign))
            escaped = False
        elif sign == escape:
            escaped = True
        elif sign == "%":
            parts.append(".*")
        elif sign == "_":
            parts.append(".")
        else:
            parts.append(re.escape(sign))
    if escaped:
        raise ValueError("The pattern of LIKE must not end with the escape character.")
    return re.compile("".join(parts), re.DOTALL)


def like(text: str, pattern: str, escape: str | None) -> bool:
    """
    >>> like("abc", "a%", None), like("a%c", "a!%c", "!"), like("abc", "a!%c", "!")
    (True, True, False)
    """
    return like_pattern(pattern, escape).fullmatch(text) is not None
