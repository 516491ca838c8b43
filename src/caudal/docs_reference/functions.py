"""Every SQL function with its signatures: what SHOW FUNCTIONS and DESCRIBE FUNCTION tell, on one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from caudal.docs_reference.markdown import code, sentence, table
from caudal.ksql.functions import resolution
from caudal.ksql.functions.registry import AGGREGATES, SCALARS, TABLE_FUNCTIONS

INTRODUCTION = """# SQL functions

Functions of [KSQL](../ksql.md). A name with several lines takes several kinds of arguments;
`DESCRIBE FUNCTION name` shows all of them. `TYPE...` stands for any
number of arguments, a capital letter for any type; a parameter that begins with `_` must be a literal.
[A function of your own](../howto/ksql-functions.md) joins them with one decorator.
"""

SHOWN: Final = 4  # DESCRIBE FUNCTION lists the rest: the same for further types


def page() -> str:
    resolution.load()
    kinds = sorted({found[0].category for found in SCALARS.values()})
    groups: list[tuple[str, Mapping[str, Iterable[Any]]]] = [
        (kind.capitalize(), {name: found for name, found in SCALARS.items() if found[0].category == kind})
        for kind in kinds
    ]
    groups += [("Aggregates", AGGREGATES), ("Table functions", TABLE_FUNCTIONS)]
    return "\n".join([INTRODUCTION, *(f"## {title}\n\n{_table(found)}" for title, found in groups)])


def _table(functions: Mapping[str, Iterable[Any]]) -> str:
    rows = []
    for name in sorted(functions):
        definitions = list(functions[name])
        signatures = [signature for each in definitions for signature in each.signatures]
        calls = "<br>".join(code(name + signature) for signature in signatures[:SHOWN])
        if len(signatures) > SHOWN:
            calls += f"<br>and {len(signatures) - SHOWN} more"
        rows.append((calls, sentence(definitions[0].description)))
    return table(("function", "what it gives"), rows)
