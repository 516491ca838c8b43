"""The table of a query's rows: it fits the terminal, whatever comes."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from caudal.ksql.shell.rows import RowTable


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("columns", [0, 1, 3, 12])
@pytest.mark.parametrize("of", ["INTEGER", "STRING", "STRUCT<A INTEGER, B STRING>", "DECIMAL(4, 2)"])
def test_all_lines_are_as_wide(width: int, columns: int, of: str) -> None:
    table = RowTable([f"COLUMN_{at}" for at in range(columns)], [of] * columns, width)
    row = [1, None, "long " * 30, {"A": [1]}, "日本語" * 20, True, "\n\x1b", "", -1, "a", "b", "c"][:columns]
    lines = [*table.head(), *table.row(row)]
    assert len({cell_len(line) for line in lines}) == 1
    assert cell_len(lines[0]) <= max(width, 7 * columns + 1)


def test_nothing_of_a_cell_is_lost() -> None:
    table = RowTable(["A", "B"], ["STRING", "STRING"], 30)
    text = "".join(chr(97 + at % 26) for at in range(100))
    cells = [line.split("|")[2].strip() for line in table.row([1, text])]
    assert "".join(cells) == text


def test_a_row_with_fewer_or_more_values_than_columns_is_drawn() -> None:
    table = RowTable(["A", "B"], ["STRING", "STRING"], 30)
    assert table.row([1])
    assert table.row([1, 2, 3])
