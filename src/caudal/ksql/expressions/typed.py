"""Expressions with everything resolved: the trees that code is made of. Every node knows its type, whether it can be
NULL, and has operands that are already of the types that its operation needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from caudal.ksql.expressions.scope import Binding
from caudal.ksql.functions.registry import Scalar
from caudal.ksql.types import SqlType


@dataclass(frozen=True, slots=True, eq=False)
class Typed:
    type: SqlType | None  # None: NULL

    @property
    def nullable(self) -> bool:
        return True

    @property
    def parts(self) -> tuple[Typed, ...]:
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Typed):
    value: Any

    @property
    def nullable(self) -> bool:
        return self.value is None


@dataclass(frozen=True, slots=True, eq=False)
class Column(Typed):
    binding: Binding


@dataclass(frozen=True, slots=True, eq=False)
class LambdaParameter(Typed):
    """`slot` is unique within an expression: nested lambdas may use a name twice."""

    slot: int


@dataclass(frozen=True, slots=True, eq=False)
class Arithmetic(Typed):
    """Operands have the result's base; of decimals, each its own precision."""

    operator: str
    left: Typed
    right: Typed

    @property
    def nullable(self) -> bool:
        return self.left.nullable or self.right.nullable

    @property
    def parts(self) -> tuple[Typed, ...]:
        return self.left, self.right


@dataclass(frozen=True, slots=True, eq=False)
class Negative(Typed):
    operand: Typed

    @property
    def nullable(self) -> bool:
        return self.operand.nullable

    @property
    def parts(self) -> tuple[Typed, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class Joined(Typed):
    """`a || b`: NULL counts as empty, as in CONCAT."""

    items: tuple[Typed, ...]

    @property
    def nullable(self) -> bool:
        return False

    @property
    def parts(self) -> tuple[Typed, ...]:
        return self.items


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Typed):
    """Never NULL: with a NULL on either side it is false, as in ksqlDB; IS DISTINCT FROM looks at NULLs itself."""

    operator: str
    left: Typed
    right: Typed
    doubles: bool = False  # NaN differs from nothing

    @property
    def nullable(self) -> bool:
        return False

    @property
    def parts(self) -> tuple[Typed, ...]:
        return self.left, self.right


@dataclass(frozen=True, slots=True, eq=False)
class Logical(Typed):
    """AND, OR; three-valued where an operand can be NULL."""

    operator: str
    left: Typed
    right: Typed

    @property
    def nullable(self) -> bool:
        return self.left.nullable or self.right.nullable

    @property
    def parts(self) -> tuple[Typed, ...]:
        return self.left, self.right


@dataclass(frozen=True, slots=True, eq=False)
class Not(Typed):
    operand: Typed

    @property
    def nullable(self) -> bool:
        return self.operand.nullable

    @property
    def parts(self) -> tuple[Typed, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class IsNull(Typed):
    operand: Typed
    negated: bool

    @property
    def nullable(self) -> bool:
        return False

    @property
    def parts(self) -> tuple[Typed, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class OneOf(Typed):
    """IN; never NULL."""

    operand: Typed
    options: tuple[Typed, ...]

    @property
    def nullable(self) -> bool:
        return False

    @property
    def parts(self) -> tuple[Typed, ...]:
        return self.operand, *self.options


@dataclass(frozen=True, slots=True, eq=False)
class Like(Typed):
    operand: Typed
    pattern: Typed
    escape: str | None

    @property
    def nullable(self) -> bool:
        return self.operand.nullable or self.pattern.nullable

    @property
    def parts(self) -> tuple[Typed, ...]:
        return self.operand, self.pattern


@dataclass(frozen=True, slots=True, eq=False)
class Case(Typed):
    whens: tuple[tuple[Typed, Typed], ...]
    default: Typed | None

    @property
    def nullable(self) -> bool:
        return self.default is None or self.default.nullable or any(result.nullable for _, result in self.whens)

    @property
    def parts(self) -> tuple[Typed, ...]:
        found = [part for pair in self.whens for part in pair]
        return tuple(found) if self.default is None else (*found, self.default)


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Typed):
    operand: Typed
    is_explicit: bool = True  # an explicit one that fails is NULL by itself, not the whole expression

    @property
    def nullable(self) -> bool:
        return self.operand.nullable or self.is_explicit

    @property
    def parts(self) -> tuple[Typed, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class Invocation(Typed):
    function: Scalar
    arguments: tuple[Typed, ...]

    @property
    def parts(self) -> tuple[Typed, ...]:
        return self.arguments


@dataclass(frozen=True, slots=True, eq=False)
class Lambda(Typed):
    """An argument of an invocation; its type is that of the body."""

    slots: tuple[int, ...]
    body: Typed

    @property
    def nullable(self) -> bool:
        return False  # the callable itself is always there

    @property
    def parts(self) -> tuple[Typed, ...]:
        return (self.body,)


@dataclass(frozen=True, slots=True, eq=False)
class Element(Typed):
    """`array[i]`"""

    operand: Typed
    index: Typed

    @property
    def parts(self) -> tuple[Typed, ...]:
        return self.operand, self.index


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Typed):
    """`map[k]`"""

    operand: Typed
    key: Typed

    @property
    def parts(self) -> tuple[Typed, ...]:
        return self.operand, self.key


@dataclass(frozen=True, slots=True, eq=False)
class FieldOf(Typed):
    operand: Typed
    name: str

    @property
    def parts(self) -> tuple[Typed, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class ArrayOf(Typed):
    items: tuple[Typed, ...]

    @property
    def nullable(self) -> bool:
        return False

    @property
    def parts(self) -> tuple[Typed, ...]:
        return self.items


@dataclass(frozen=True, slots=True, eq=False)
class MapOf(Typed):
    entries: tuple[tuple[Typed, Typed], ...]

    @property
    def nullable(self) -> bool:
        return False

    @property
    def parts(self) -> tuple[Typed, ...]:
        return tuple(part for pair in self.entries for part in pair)


@dataclass(frozen=True, slots=True, eq=False)
class StructOf(Typed):
    fields: tuple[tuple[str, Typed], ...]

    @property
    def nullable(self) -> bool:
        return False

    @property
    def parts(self) -> tuple[Typed, ...]:
        return tuple(part for _, part in self.fields)


@dataclass(frozen=True, slots=True, eq=False)
class Applied(Typed):
    """A conversion of ours that is not a CAST of SQL: a text to the time that it is compared with."""

    operand: Typed
    function: Callable[[Any], Any]

    @property
    def nullable(self) -> bool:
        return self.operand.nullable

    @property
    def parts(self) -> tuple[Typed, ...]:
        return (self.operand,)
