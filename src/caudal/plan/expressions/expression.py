"""An expression as a function: its text and the names of its arguments are all there is to keep; the rest is made of
them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from caudal.plan.errors import PlanError
from caudal.plan.expressions.compiler import Evaluate, compile_tree
from caudal.plan.expressions.dialect import parse


class Expression:
    """Called with the values of its arguments, in order.

    >>> expression("amount * 2 > 5", ("key", "value"))("ana", {"amount": 3})
    True
    """

    __slots__ = ("_evaluate", "arguments", "text")

    def __init__(self, text: str, arguments: tuple[str, ...], evaluate: Evaluate) -> None:
        self.text = text
        self.arguments = arguments
        self._evaluate = evaluate

    def __call__(self, *values: Any) -> Any:
        return self._evaluate(values)

    def __reduce__(self) -> tuple[Any, ...]:
        return expression, (self.text, self.arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and (other.text, other.arguments) == (self.text, self.arguments)

    def __hash__(self) -> int:
        return hash((self.text, self.arguments))

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


@lru_cache(maxsize=1024)
def expression(text: str, arguments: tuple[str, ...]) -> Expression:
    """The expression of a text. Names are fields of `value`, unless they are arguments themselves.

    >>> expression("CASE WHEN value IS NULL THEN key ELSE upper(value) END", ("key", "value"))("a", "b")
    'B'
    """
    try:
        return Expression(text, arguments, compile_tree(parse(text), arguments))
    except RecursionError:
        raise PlanError(f"The SQL expression '{text[:60]}…' is nested too deeply.") from None
