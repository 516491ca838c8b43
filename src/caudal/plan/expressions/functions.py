"""The functions that an expression can call. One decorated Python function each, with its Spark form where that gives
the same for every value: adding one is an edit here and nowhere else.

Arguments that are null give null before the function is called, unless it takes nulls. Strings count from 1, as in SQL.
Integers have 64 bits: a result beyond them is an error, in Python as in Spark.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from caudal.plan.errors import PlanError
from caudal.plan.typed_sql import SparkForm, SqlType, Typed, either, extreme, form, joined, where

_Call = TypeVar("_Call", bound=Callable[..., Any])
STRING, BIGINT, DOUBLE, BOOLEAN = SqlType.STRING, SqlType.BIGINT, SqlType.DOUBLE, SqlType.BOOLEAN
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SqlFunction:
    name: str
    call: Callable[..., Any]
    fewest: int
    most: int
    takes_nulls: bool
    spark: SparkForm | None = None  # None: there is none that is the same


FUNCTIONS: dict[str, SqlFunction] = {}


def sql_function(*names: str, takes_nulls: bool = False, spark: SparkForm | None = None) -> Callable[[_Call], _Call]:
    """Makes a Python function known to SQL under these names."""

    def register(call: _Call) -> _Call:
        parameters = inspect.signature(call).parameters.values()
        most = 1000 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(parameters)
        fewest = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters)
        for name in names:
            FUNCTIONS[name] = SqlFunction(names[0], call, fewest, most, takes_nulls, spark)
        return call

    return register


def in_64_bits(number: Any) -> Any:
    """SQL's integers are BIGINT: what is beyond is an error, and not a number that no other part can hold."""
    if number.__class__ is int and not _SMALLEST <= number <= _LARGEST:
        raise OverflowError(f"SQL: {number} does not fit into a BIGINT of 64 bits")
    return number


# -- text --------------------------------------------------------------------------------------------------------------


@sql_function("upper", "ucase", spark=form("upper({0})", [STRING], STRING))
def upper(text: str) -> str:
    return text.upper()


@sql_function("lower", "lcase", spark=form("lower({0})", [STRING], STRING))
def lower(text: str) -> str:
    return text.lower()


@sql_function("initcap")
def initcap(text: str) -> str:
    return re.sub(r"\S+", lambda word: word[0][0].upper() + word[0][1:].lower(), text)


@sql_function("length", "len", "char_length", spark=form("CAST(length({0}) AS BIGINT)", [STRING], BIGINT))
def length(text: Any) -> int:
    return len(text)


@sql_function("trim", spark=form("trim({0})", [STRING], STRING))
def trim(text: str, what: str = " ") -> str:
    return text.strip(what)


@sql_function("ltrim", spark=form("ltrim({0})", [STRING], STRING))
def ltrim(text: str, what: str = " ") -> str:
    return text.lstrip(what)


@sql_function("rtrim", spark=form("rtrim({0})", [STRING], STRING))
def rtrim(text: str, what: str = " ") -> str:
    return text.rstrip(what)


@sql_function(
    "substring",
    "substr",
    spark=either(
        form("substring({0}, {1})", [STRING, BIGINT], STRING, constant=[1]),
        # Spark counts the length from before the beginning where a negative start goes beyond it.
        where(
            lambda given: given[1].is_literal and given[1].literal >= 0,
            "its start must be a constant, and not negative where there is a length",
            form("substring({0}, {1}, {2})", [STRING, BIGINT, BIGINT], STRING, constant=[1, 2]),
        ),
    ),
)
def substring(text: str, start: int, length: int | None = None) -> str:
    begin = start - 1 if start > 0 else max(len(text) + start, 0) if start < 0 else 0
    return text[begin:] if length is None else text[begin : begin + max(length, 0)]


@sql_function("left", spark=form("left({0}, {1})", [STRING, BIGINT], STRING, constant=[1]))
def left(text: str, length: int) -> str:
    return text[: max(length, 0)]


@sql_function("right", spark=form("right({0}, {1})", [STRING, BIGINT], STRING, constant=[1]))
def right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


@sql_function("concat", spark=joined)
def concat(*parts: Any) -> str:
    return "".join(str(part) for part in parts)


@sql_function(
    "replace",
    spark=where(
        lambda given: bool(given[1].is_literal and given[1].literal),
        "what it replaces must be a constant text that is not empty",
        either(
            form("replace({0}, {1}, {2})", [STRING, STRING, STRING], STRING),
            form("replace({0}, {1}, '')", [STRING, STRING], STRING),
        ),
    ),
)
def replace(text: str, old: str, new: str = "") -> str:
    return text.replace(old, new)


@sql_function("split")
def split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


@sql_function("starts_with", "startswith", spark=form("startswith({0}, {1})", [STRING, STRING], BOOLEAN))
def starts_with(text: str, prefix: str) -> bool:
    return text.startswith(prefix)


@sql_function("ends_with", "endswith", spark=form("endswith({0}, {1})", [STRING, STRING], BOOLEAN))
def ends_with(text: str, suffix: str) -> bool:
    return text.endswith(suffix)


@sql_function("contains", "array_contains", spark=form("contains({0}, {1})", [STRING, STRING], BOOLEAN))
def contains(whole: Any, part: Any) -> bool:
    return part in whole


@sql_function(
    "str_position",
    "instr",
    "position",
    "strpos",
    spark=form("CAST(instr({0}, {1}) AS BIGINT)", [STRING, STRING], BIGINT),
)
def position(text: str, part: str) -> int:
    return text.find(part) + 1


@sql_function("reverse", spark=form("reverse({0})", [STRING], STRING))
def reverse(it: Any) -> Any:
    return it[::-1]


def _padding(name: str) -> SparkForm:
    def are_constants(given: Sequence[Typed]) -> bool:
        width, fill = given[1], given[2] if len(given) > 2 else None
        return width.is_literal and width.literal >= 0 and (fill is None or (fill.is_literal and fill.literal != ""))

    return where(
        are_constants,
        "its width and what it fills with must be constants that are not empty",
        either(
            form(name + "({0}, {1}, {2})", [STRING, BIGINT, STRING], STRING),
            form(name + "({0}, {1}, ' ')", [STRING, BIGINT], STRING),
        ),
    )


@sql_function("lpad", "pad", spark=_padding("lpad"))
def lpad(text: str, width: int, fill: str = " ") -> str:
    missing = width - len(text)
    return text[:width] if missing <= 0 else (fill * missing)[:missing] + text


@sql_function("rpad", spark=_padding("rpad"))
def rpad(text: str, width: int, fill: str = " ") -> str:
    missing = width - len(text)
    return text[:width] if missing <= 0 else text + (fill * missing)[:missing]


# -- numbers -----------------------------------------------------------------------------------------------------------


@sql_function("abs", spark=either(form("abs({0})", [BIGINT], BIGINT, fails=True), form("abs({0})", [DOUBLE], DOUBLE)))
def absolute(number: Any) -> Any:
    return in_64_bits(abs(number))


@sql_function("round")
def round_half_up(number: Any, digits: int = 0) -> Any:
    """Halves go away from zero, as in SQL; Python's own go to the even neighbour."""
    if isinstance(number, int) and digits >= 0:
        return number
    factor = 10.0**digits
    rounded = math.copysign(math.floor(abs(number) * factor + 0.5) / factor, number)
    return int(rounded) if digits <= 0 else rounded


@sql_function("ceil", "ceiling")
def ceil(number: float) -> int:
    return math.ceil(number)


@sql_function("floor")
def floor(number: float) -> int:
    return math.floor(number)


@sql_function("sign", spark=form("CAST(sign({0}) AS BIGINT)", [BIGINT], BIGINT))
def sign(number: float) -> int:
    return (number > 0) - (number < 0)


@sql_function("sqrt")
def sqrt(number: Any) -> float:
    return math.sqrt(number)


@sql_function("power", "pow")
def power(base: Any, exponent: Any) -> Any:
    return base**exponent


@sql_function("exp")
def exponential(number: Any) -> float:
    return math.exp(number)


@sql_function("ln")
def natural_logarithm(number: Any) -> float:
    return math.log(number)


@sql_function("greatest", takes_nulls=True, spark=extreme("greatest"))
def greatest(*values: Any) -> Any:
    return max((value for value in values if value is not None), default=None)


@sql_function("least", takes_nulls=True, spark=extreme("least"))
def least(*values: Any) -> Any:
    return min((value for value in values if value is not None), default=None)


# -- collections -------------------------------------------------------------------------------------------------------


@sql_function("array_size", "size", "cardinality", "array_length")
def size(collection: Any) -> int:
    return len(collection)


# -- types -------------------------------------------------------------------------------------------------------------


def _to_boolean(it: Any) -> bool:
    if isinstance(it, str):
        if it.strip().lower() in ("true", "t", "yes", "1"):
            return True
        if it.strip().lower() in ("false", "f", "no", "0"):
            return False
        raise ValueError(f"SQL cannot read '{it}' as a boolean")
    return bool(it)


def _to_text(it: Any) -> str:
    return ("true" if it else "false") if isinstance(it, bool) else str(it)


def _to_integer(it: Any) -> int:
    # Text goes through float only if it has to: long integers must stay exact.
    whole = int(it) if not isinstance(it, str) or it.strip().lstrip("+-").isdigit() else math.trunc(float(it))
    return int(in_64_bits(whole))


_CASTS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "LONG"), _to_integer),
    **dict.fromkeys(("DOUBLE", "FLOAT", "REAL", "DOUBLE PRECISION"), float),
    **dict.fromkeys(("TEXT", "VARCHAR", "STRING", "CHAR"), _to_text),
    "BOOLEAN": _to_boolean,
}


def cast_to(kind: str) -> Callable[[Any], Any]:
    """What CAST does for this type."""
    convert = _CASTS.get(kind.upper())
    if convert is None:
        raise PlanError(f"SQL cannot cast to {kind}; the types are {', '.join(_CASTS)}.")
    return convert


def like_pattern(pattern: str) -> str:
    """LIKE's pattern as a regular expression; a backslash takes the meaning from % and _."""
    parts = []
    escaped = False
    for character in pattern:
        if escaped or character not in "%_\\":
            parts.append(re.escape(character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            parts.append(".*" if character == "%" else ".")
    return "".join(parts)
