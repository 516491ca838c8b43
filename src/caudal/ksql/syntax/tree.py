"""Expressions as the parser finds them. Plain data: names are not resolved, types not known, nothing is folded.

Every node has `at`, where it begins; it takes no part in comparisons. Identifiers are as SQL means them: upper case
unless they were quoted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from caudal.ksql.errors import Position
from caudal.ksql.types import SqlType

NOWHERE = Position(0, 0)


@dataclass(frozen=True, slots=True)
class Expression:
    at: Position = field(default=NOWHERE, compare=False, kw_only=True)


# -- leaves ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Null(Expression):
    pass


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A bool, int, str, Decimal (`1.5`: DECIMAL) or float (`1.5E0`: DOUBLE). An int is INTEGER where it fits, else
    BIGINT."""

    value: bool | int | float | str | Decimal


@dataclass(frozen=True, slots=True)
class TypedLiteral(Expression):
    """`DATE '2026-01-31'`, `TIME '10:00:00'`, `TIMESTAMP '2026-01-31T10:00:00'`."""

    type: SqlType
    text: str


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """A column, a lambda's argument, or `source.column`."""

    name: str
    source: str | None = None


# -- operators ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arithmetic(Expression):
    operator: str  # + - * / %
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negative(Expression):
    operand: Expression


@dataclass(frozen=True, slots=True)
class Concatenation(Expression):
    """`a || b`; `+` of strings is an Arithmetic."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Comparison(Expression):
    """`operator` is =, <>, <, <=, >, >=, IS DISTINCT FROM or IS NOT DISTINCT FROM."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And(Expression):
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Or(Expression):
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not(Expression):
    operand: Expression


@dataclass(frozen=True, slots=True)
class IsNull(Expression):
    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Expression):
    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class In(Expression):
    operand: Expression
    options: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Expression):
    operand: Expression
    pattern: Expression
    escape: str | None = None
    negated: bool = False


# -- forms -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class When(Expression):
    condition: Expression
    result: Expression


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """With `operand`, each condition is compared with it."""

    operand: Expression | None
    whens: tuple[When, ...]
    default: Expression | None = None


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    operand: Expression
    type: SqlType | TypeName


@dataclass(frozen=True, slots=True)
class TypeName(Expression):
    """A type that is not built in: one of CREATE TYPE. It may stand wherever a type may, also inside of one: then the
    parser's answer is a TypeName for the whole, with its text."""

    text: str


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """`COUNT(*)` is a call with one Star."""

    name: str  # upper case
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Star(Expression):
    """`*`, or `source.*`: in COUNT(*), and as an item of SELECT."""

    source: str | None = None


@dataclass(frozen=True, slots=True)
class StructStar(Expression):
    """`struct->*`, as an item of SELECT."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Subscript(Expression):
    """`array[1]`, `map['k']`."""

    operand: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Dereference(Expression):
    """`struct->field`."""

    operand: Expression
    field: str


@dataclass(frozen=True, slots=True)
class ArrayOf(Expression):
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Expression):
    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class StructOf(Expression):
    fields: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Lambda(Expression):
    """`x => e`, `(x, y) => e`."""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class AtTimeZone(Expression):
    operand: Expression
    zone: Expression
