"""Walking and rewriting expressions. Names that a lambda binds are its own: neither seen nor replaced here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from caudal.ksql.errors import KsqlError, Position, suggestion
from caudal.ksql.expressions.scope import Scope
from caudal.ksql.functions import resolution
from caudal.ksql.syntax.parser import resolve_type
from caudal.ksql.syntax.tree import Call, Cast, Expression, Lambda, Name, TypeName
from caudal.ksql.types import SqlType

Replace = Callable[[Expression], Expression | None]  # None: look inside


_known_fields: dict[type, tuple[str, ...]] = {}


def _fields(kind: type[Expression]) -> tuple[str, ...]:
    found = _known_fields.get(kind)
    if found is None:
        found = _known_fields[kind] = tuple(one.name for one in dataclasses.fields(kind) if one.name != "at")
    return found


def children(expression: Expression) -> Iterator[Expression]:
    for name in _fields(type(expression)):
        yield from _expressions(getattr(expression, name))


def _expressions(value: Any) -> Iterator[Expression]:
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _expressions(one)


def walk(expression: Expression, bound: frozenset[str] = frozenset()) -> Iterator[Expression]:
    """The expression and all in it, from the outside in; without the names that lambdas bind."""
    if isinstance(expression, Name) and expression.source is None and expression.name in bound:
        return
    yield expression
    inner = bound | frozenset(expression.parameters) if isinstance(expression, Lambda) else bound
    for child in children(expression):
        yield from walk(child, inner)


def rewritten(expression: Expression, replace: Replace, bound: frozenset[str] = frozenset()) -> Expression:
    """The expression with everything replaced that `replace` gives something for; what it gives is left as it is."""
    if isinstance(expression, Name) and expression.source is None and expression.name in bound:
        return expression
    made = replace(expression)
    if made is not None:
        return made
    inner = bound | frozenset(expression.parameters) if isinstance(expression, Lambda) else bound
    changed = {}
    for name in _fields(type(expression)):
        value = getattr(expression, name)
        new = _rewritten(value, replace, inner)
        if new is not value:
            changed[name] = new
    return dataclasses.replace(expression, **changed) if changed else expression


def _rewritten(value: Any, replace: Replace, bound: frozenset[str]) -> Any:
    if isinstance(value, Expression):
        return rewritten(value, replace, bound)
    if isinstance(value, tuple):
        new = tuple(_rewritten(one, replace, bound) for one in value)
        return new if any(one is not two for one, two in zip(new, value, strict=True)) else value
    return value


def canonical(expression: Expression, scope: Scope) -> Expression:
    """The same expression with every column named in full and every custom type by what it is, so that equal ones are
    equal as data. Raises where a name is unknown or ambiguous."""

    def qualify(one: Expression) -> Expression | None:
        if not isinstance(one, Name):
            return None
        found = scope.resolve(one)
        return Name(found.name, found.source, at=one.at)

    return rewritten(with_types(expression, scope), qualify)


def with_types(expression: Expression, scope: Scope) -> Expression:
    """Custom types by what they are: what comes after has no catalog."""

    def known(name: str, at: Position) -> SqlType:
        found = scope.type_named(name)
        if found is None:
            raise KsqlError(f"Cannot resolve unknown type: {name}.{suggestion(name, scope.types)}", at)
        return found

    def settle(one: Expression) -> Expression | None:
        if isinstance(one, Cast) and isinstance(one.type, TypeName):
            return Cast(rewritten(one.operand, settle), resolve_type(one.type, known), at=one.at)
        return None

    return rewritten(expression, settle)


def names(expression: Expression) -> Iterator[Name]:
    return (one for one in walk(expression) if isinstance(one, Name))


def calls(expression: Expression) -> Iterator[Call]:
    return (one for one in walk(expression) if isinstance(one, Call))


def aggregate_calls(expression: Expression) -> list[Call]:
    return [one for one in calls(expression) if resolution.is_aggregate(one.name)]


def table_function_calls(expression: Expression) -> list[Call]:
    return [one for one in calls(expression) if resolution.is_table_function(one.name)]


def position(expression: Expression) -> Position | None:
    """Where it stands; None for what no one wrote."""
    return expression.at if expression.at.line > 0 else None
