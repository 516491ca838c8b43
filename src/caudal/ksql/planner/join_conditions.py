"""What a join is on: `a.x = b.y [AND …]`, taken apart into the left side's expressions and the right side's.

ksqlDB has one comparison; here there may be several, together they are the key. Each side of a comparison names columns
of one side of the join.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.expressions.scope import Scope
from caudal.ksql.expressions.trees import canonical, names, position
from caudal.ksql.expressions.typing import type_of
from caudal.ksql.planner import validation
from caudal.ksql.planner.flow import Flow
from caudal.ksql.syntax.format import format_expression
from caudal.ksql.syntax.statements import Join
from caudal.ksql.syntax.tree import And, Comparison, Expression, Name
from caudal.ksql.types import SqlType


@dataclass(frozen=True, slots=True)
class Condition:
    """Pairs of expressions that must be equal, in the order of the key that they make."""

    left: tuple[Expression, ...]
    right: tuple[Expression, ...]
    types: tuple[SqlType, ...]
    shown: str
    at: Position | None

    def reordered(self, order: list[int]) -> Condition:
        def pick(parts: tuple[Expression, ...]) -> tuple[Expression, ...]:
            return tuple(parts[index] for index in order)

        types = tuple(self.types[index] for index in order)
        return Condition(pick(self.left), pick(self.right), types, self.shown, self.at)


def condition_of(join: Join, left: Flow, right: Flow, alias: str) -> Condition:
    both = Scope((*left.columns, *left.pseudo, *right.columns, *right.pseudo))
    lefts, rights, types = [], [], []
    for comparison in _comparisons(join.on):
        one, two = _side(comparison.left, both, alias, comparison), _side(comparison.right, both, alias, comparison)
        if one[0] == two[0]:
            if one[0]:
                raise KsqlError(
                    "Each side of the join must reference exactly one source and not the same source. Both sides "
                    f"reference {alias}.",
                    position(comparison),
                )
            raise KsqlError(
                f"A join criteria is expected to reference the source ({alias}) in the FROM clause; "
                f"{format_expression(comparison)} does not.",
                position(comparison),
            )
        (_, on_left), (_, on_right) = (two, one) if one[0] else (one, two)
        lefts.append(on_left)
        rights.append(on_right)
        types.append(_type(on_left, on_right, left, right, comparison))
    return Condition(tuple(lefts), tuple(rights), tuple(types), format_expression(join.on), position(join.on))


def _comparisons(expression: Expression) -> Iterator[Comparison]:
    if isinstance(expression, And):
        yield from _comparisons(expression.left)
        yield from _comparisons(expression.right)
    elif not isinstance(expression, Comparison):
        raise KsqlError(f"Unsupported join expression: {format_expression(expression)}.", position(expression))
    elif expression.operator != "=":
        raise KsqlError("Only equality join criteria is supported.", position(expression))
    else:
        yield expression


def _side(side: Expression, scope: Scope, alias: str, comparison: Comparison) -> tuple[bool, Expression]:
    """Whether this is the right source's expression, and the expression with its names in full."""
    full = canonical(side, scope)
    on_right = {name.source == alias for name in names(full)}
    if len(on_right) != 1:
        raise KsqlError(
            f"Invalid comparison expression '{format_expression(side)}' in join '{format_expression(comparison)}'. "
            "Each side of the join comparison must contain references from exactly one source.",
            position(side),
        )
    return on_right.pop(), full


def _type(one: Expression, two: Expression, left: Flow, right: Flow, comparison: Comparison) -> SqlType:
    first, second = type_of(one, left.scope), type_of(two, right.scope)
    if first is None or first != second:
        raise KsqlError(
            f"Invalid join condition: types don't match. Got {format_expression(one)}{{{first}}} = "
            f"{format_expression(two)}{{{second}}}.",
            position(comparison),
        )
    validation.no_map_in_key(first, "JOIN", position(comparison))
    return first


def key_order(flow: Flow, expressions: tuple[Expression, ...]) -> list[int] | None:
    """In which order the expressions are the flow's whole key; None where they are not."""
    if len(expressions) != len(flow.key):
        return None
    order = []
    for index, column in enumerate(flow.key):
        known = (*column.means, *column.equals)
        at = next(
            (
                number
                for number, one in enumerate(expressions)
                if number not in order and (one in known or (isinstance(one, Name) and flow.key_index(one) == index))
            ),
            None,
        )
        if at is None:
            return None
        order.append(at)
    return order
