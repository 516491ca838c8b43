"""The functions that an expression can call. One decorated Python function each: adding one is an edit here and nowhere
else.

Arguments that are null give null before the function is called, unless it takes nulls. Strings count from 1, as in SQL.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from caudal.plan.errors import PlanError

_Call = TypeVar("_Call", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class SqlFunction:
    name: str
    call: Callable[..., Any]
    fewest: int
    most: int
    takes_nulls: bool


FUNCTIONS: dict[str, SqlFunction] = {}


def sql_function(*names: str, takes_nulls: bool = False) -> Callable[[_Call], _Call]:
    """Makes a Python function known to SQL under these names."""

    def register(call: _Call) -> _Call:
        parameters = inspect.signature(call).parameters.values()
        most = 1000 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(parameters)
        fewest = sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters)
        for name in names:
            FUNCTIONS[name] = SqlFunction(names[0], call, fewest, most, takes_nulls)
        return call

    return register


# -- text --------------------------------------------------------------------------------------------------------------


@sql_function("upper", "ucase")
def upper(text: str) -> str:
    return text.upper()


@sql_function("lower", "lcase")
def lower(text: str) -> str:
    return text.lower()


@sql_function("initcap")
def initcap(text: str) -> str:
    return re.sub(r"\S+", lambda word: word[0][0].upper() + word[0][1:].lower(), text)


@sql_function("length", "len", "char_length")
def length(text: Any) -> int:
    return len(text)


@sql_function("trim")
def trim(text: str, what: str = " ") -> str:
    return text.strip(what)


@sql_function("ltrim")
def ltrim(text: str) -> str:
    return text.lstrip(" ")


@sql_function("rtrim")
def rtrim(text: str) -> str:
    return text.rstrip(" ")


@sql_function("substring", "substr")
def substring(text: str, start: int, length: int | None = None) -> str:
    begin = start - 1 if start > 0 else max(len(text) + start, 0) if start < 0 else 0
    return text[begin:] if length is None else text[begin : begin + max(length, 0)]


@sql_function("left")
def left(text: str, length: int) -> str:
    return text[: max(length, 0)]


@sql_function("right")
def right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


@sql_function("concat")
def concat(*parts: Any) -> str:
    return "".join(str(part) for part in parts)


@sql_function("replace")
def replace(text: str, old: str, new: str = "") -> str:
    return text.replace(old, new)


@sql_function("split")
def split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


@sql_function("starts_with", "startswith")
def starts_with(text: str, prefix: str) -> bool:
    return text.startswith(prefix)


@sql_function("ends_with", "endswith")
def ends_with(text: str, suffix: str) -> bool:
    return text.endswith(suffix)


@sql_function("contains", "array_contains")
def contains(whole: Any, part: Any) -> bool:
    return part in whole


@sql_function("str_position", "instr", "position", "strpos")
def position(text: str, part: str) -> int:
    return text.find(part) + 1


@sql_function("reverse")
def reverse(it: Any) -> Any:
    return it[::-1]


@sql_function("lpad", "pad")
def lpad(text: str, width: int, fill: str = " ") -> str:
    missing = width - len(text)
    return text[:width] if missing <= 0 else (fill * missing)[:missing] + text


# -- numbers -----------------------------------------------------------------------------------------------------------


@sql_function("abs")
def absolute(number: Any) -> Any:
    return abs(number)


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


@sql_function("sign")
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


@sql_function("greatest", takes_nulls=True)
def greatest(*values: Any) -> Any:
    return max((value for value in values if value is not None), default=None)


@sql_function("least", takes_nulls=True)
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
    return int(it) if not isinstance(it, str) or it.strip().lstrip("+-").isdigit() else math.trunc(float(it))


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
