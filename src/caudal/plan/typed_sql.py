"""Typed Spark SQL: the text of an expression with what must be known of it to go on safely.

The Python form is the reference. A Spark form exists only where it gives the same result for every value of the
operands' types, nulls included, and fails only where the Python form fails. `NoSparkForm` says why there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

LARGEST = (1 << 63) - 1
EXACT = 1 << 53  # up to here every integer is a double
_MISSING: Any = object()


class SqlType(Enum):
    STRING = "STRING"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    BINARY = "BINARY"
    STRUCT = "STRUCT"
    NULL = "NULL"
    OPAQUE = "of a Column"  # only Spark knows it


class NoSparkForm(Exception):
    """Why an expression cannot run in Spark with the same result: the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression. Its text stands alone: it needs no brackets around it."""

    sql: str
    type: SqlType
    finite: bool = True  # DOUBLE: neither NaN nor infinite. Spark orders NaN, Python does not.
    fields: tuple[tuple[str, Typed], ...] = ()  # STRUCT
    literal: Any = _MISSING
    may_fail: bool = False
    is_null: str = ""  # STRUCT: how to ask whether it is null, "" where it never is
    raw: str = ""  # the column with the bytes it was read from, unchanged

    @property
    def is_literal(self) -> bool:
        return self.literal is not _MISSING

    def field(self, name: str) -> Typed:
        """A field that is not there is null, as in Python."""
        return dict(self.fields).get(name, NULL)


NULL = Typed("NULL", SqlType.NULL, literal=None)
SparkForm = Callable[[Sequence[Typed]], Typed]


def text_literal(text: str) -> str:
    """A text as Spark reads it: a backslash escapes there."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def quoted_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def number_literal(number: int | float) -> Typed:
    if isinstance(number, int):
        if number > LARGEST:
            raise NoSparkForm(f"{number} does not fit into 64 bits")
        return Typed(f"{number}L", SqlType.BIGINT, literal=number)
    if number in (float("inf"), float("-inf")):
        raise NoSparkForm(f"{number} is not a finite number")
    return Typed(f"{number!r}D", SqlType.DOUBLE, literal=number)


def any_fails(parts: Sequence[Typed]) -> bool:
    return any(part.may_fail for part in parts)


def form(
    text: str, takes: Sequence[SqlType], gives: SqlType, *, fails: bool = False, constant: Sequence[int] = ()
) -> SparkForm:
    """A form that is one call: `text` with {0}, {1} for the arguments, whose types must be these. Arguments at
    `constant` must be literals.
    """

    def apply(given: Sequence[Typed]) -> Typed:
        if any(one.type is SqlType.NULL for one in given):
            return NULL
        kinds = [one.type for one in given]
        if kinds != list(takes):
            raise NoSparkForm(f"it is only the same for ({', '.join(kind.value for kind in takes)})")
        for index in constant:
            if not given[index].is_literal:
                raise NoSparkForm(f"it is only the same where argument {index + 1} is a constant")
        if any(not one.finite for one in given):
            raise NoSparkForm("an argument may be NaN or infinite")
        return Typed(text.format(*(one.sql for one in given)), gives, may_fail=fails or any_fails(given))

    return apply


def either(*forms: SparkForm) -> SparkForm:
    """The first form that takes the arguments."""

    def apply(given: Sequence[Typed]) -> Typed:
        reasons: list[str] = []
        for one in forms:
            try:
                return one(given)
            except NoSparkForm as error:
                reasons.append(str(error))
        raise NoSparkForm(" or ".join(dict.fromkeys(reasons)))

    return apply


def where(check: Callable[[Sequence[Typed]], bool], why: str, then: SparkForm) -> SparkForm:
    """A form that is the same only under a condition."""

    def apply(given: Sequence[Typed]) -> Typed:
        if not any(one.type is SqlType.NULL for one in given) and not check(given):
            raise NoSparkForm(why)
        return then(given)

    return apply


def as_text(one: Typed) -> Typed:
    """What Python's str() gives, where Spark's CAST gives the same."""
    if one.type in (SqlType.STRING, SqlType.NULL):
        return one
    if one.type is SqlType.BIGINT:
        return Typed(f"CAST({one.sql} AS STRING)", SqlType.STRING, may_fail=one.may_fail)
    raise NoSparkForm(f"{one.type.value} is written as text in another way")


def joined(given: Sequence[Typed]) -> Typed:
    """`concat` and ||."""
    parts = [as_text(one) for one in given]
    if any(part.type is SqlType.NULL for part in parts):
        return NULL
    return Typed(f"concat({', '.join(part.sql for part in parts)})", SqlType.STRING, may_fail=any_fails(parts))


def alike(parts: Sequence[Typed]) -> SqlType:
    """The one type that they have; NULL fits all."""
    kinds = {part.type for part in parts} - {SqlType.NULL}
    if len(kinds) > 1:
        raise NoSparkForm(f"its results are of unlike types ({', '.join(sorted(kind.value for kind in kinds))})")
    kind = kinds.pop() if kinds else SqlType.NULL
    if kind in (SqlType.STRUCT, SqlType.OPAQUE):
        raise NoSparkForm(f"it chooses between values of the type {kind.value}")
    return kind


def extreme(name: str) -> SparkForm:
    """greatest and least."""

    def apply(given: Sequence[Typed]) -> Typed:
        kind = alike(given)
        if kind is SqlType.NULL:
            return NULL
        if any(not one.finite for one in given):
            raise NoSparkForm("an argument may be NaN")
        known = [one for one in given if one.type is not SqlType.NULL]
        if len(known) == 1:
            return known[0]
        return Typed(f"{name}({', '.join(one.sql for one in known)})", kind, may_fail=any_fails(given))

    return apply


def null_test(one: Typed) -> str:
    """Whether it is null, as SQL."""
    if one.type is SqlType.STRUCT:
        return one.is_null or "FALSE"
    return f"({one.sql} IS NULL)"
