"""An expression's text evaluated on the spot: for tests, and for the REST endpoint that tries an expression."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.compiled import compile_value
from caudal.ksql.expressions.scope import Binding, Scope, Where
from caudal.ksql.syntax.parser import parse_expression, parse_type
from caudal.ksql.types import SqlType


def evaluate(text: str, row: Mapping[str, tuple[str, Any]] | None = None) -> tuple[SqlType | None, Any]:
    """The type and the value of an expression over a row of columns, each with the text of its type. As in a SELECT, a
    value that cannot be computed is NULL, and the processing log has a line.

    >>> evaluate("a * 2 > 5", {"A": ("INTEGER", 3)})
    (SqlType(base=<Base.BOOLEAN: 'BOOLEAN'>), True)
    """
    bindings: list[Binding] = []
    values: list[Any] = []
    for index, (name, (kind, value)) in enumerate((row or {}).items()):
        bindings.append(Binding(name, _type(kind), Where.VALUE, index))
        values.append(value)
    try:
        compiled = compile_value(parse_expression(text), Scope(bindings))
    except KsqlError as error:
        raise error.within(text) from None
    return compiled.type, compiled((), tuple(values))


@lru_cache(maxsize=256)
def _type(text: str) -> SqlType:
    found = parse_type(text)
    if not isinstance(found, SqlType):
        raise KsqlError(f"Cannot resolve unknown type: {text}.")
    return found
