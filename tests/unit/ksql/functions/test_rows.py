"""Table functions: the rows that they make of one value."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.ksql.errors import KsqlError
from caudal.ksql.functions.resolution import table_function
from caudal.ksql.functions.rows import MOST_CUBE_COLUMNS
from caudal.ksql.syntax.parser import parse_type


def typed(text: str) -> Any:
    return parse_type(text)


CASES: list[tuple[str, str, Any, str, list[Any]]] = [
    ("EXPLODE", "ARRAY<INTEGER>", [1, None, 1], "INTEGER", [1, None, 1]),
    ("EXPLODE", "ARRAY<INTEGER>", [], "INTEGER", []),
    ("EXPLODE", "ARRAY<STRING>", None, "STRING", []),
    ("EXPLODE", "ARRAY<DECIMAL(4, 2)>", None, "DECIMAL(4, 2)", []),
    ("EXPLODE", "ARRAY<ARRAY<STRING>>", [["a"], None, []], "ARRAY<STRING>", [["a"], None, []]),
    ("EXPLODE", "ARRAY<STRUCT<A INTEGER>>", [{"A": 1}], "STRUCT<A INTEGER>", [{"A": 1}]),
    ("CUBE_EXPLODE", "ARRAY<INTEGER>", [1, 2], "ARRAY<INTEGER>", [[None, None], [None, 2], [1, None], [1, 2]]),
    ("CUBE_EXPLODE", "ARRAY<INTEGER>", [None, 2], "ARRAY<INTEGER>", [[None, None], [None, 2]]),
    ("CUBE_EXPLODE", "ARRAY<INTEGER>", [None, None], "ARRAY<INTEGER>", [[None, None]]),
    ("CUBE_EXPLODE", "ARRAY<STRING>", ["a"], "ARRAY<STRING>", [[None], ["a"]]),
    ("CUBE_EXPLODE", "ARRAY<STRING>", [], "ARRAY<STRING>", [[]]),
    ("CUBE_EXPLODE", "ARRAY<STRING>", None, "ARRAY<STRING>", []),
]


@pytest.mark.parametrize(("name", "kind", "value", "row_type", "rows"), CASES)
def test_rows(name: str, kind: str, value: Any, row_type: str, rows: list[Any]) -> None:
    function, of, _ = table_function(name, [typed(kind)])
    assert str(of) == row_type
    assert list(function.call(value)) == rows


@pytest.mark.parametrize("name", ["EXPLODE", "CUBE_EXPLODE"])
@pytest.mark.parametrize("kind", ["INTEGER", "STRING", "MAP<STRING, INTEGER>"])
def test_only_arrays_are_taken(name: str, kind: str) -> None:
    with pytest.raises(KsqlError, match=rf"Function '{name}' does not accept parameters \({kind}\)"):
        table_function(name, [typed(kind)])


def test_a_cube_has_an_end() -> None:
    function, _, _ = table_function("CUBE_EXPLODE", [typed("ARRAY<INTEGER>")])
    assert len(function.call([1] * 10)) == 1 << 10
    with pytest.raises(ValueError, match="at most 20 columns, not 21"):
        function.call([1] * (MOST_CUBE_COLUMNS + 1))
