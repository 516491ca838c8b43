"""SQL expressions: the text of a function (`"amount > 0"`), parsed by sqlglot and evaluated in Python.

Only expressions: no SELECT, no subqueries, no aggregates. Nulls are SQL's (unknown is not true), a missing field is
null, and what cannot be compared is an error and not false. Read in this order: dialect (text → tree), compiler (tree →
closures), functions (what can be called).
"""

from __future__ import annotations

from caudal.plan.expressions.expression import Expression, expression

__all__ = ["Expression", "expression"]
