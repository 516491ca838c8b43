"""The table's state from a URL, and pages of rows that are all at hand."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.ui.components.table import Query, page_of, parse_query

ROWS: list[dict[str, Any]] = [
    {"name": "b", "size": 10, "shown": {"text": "10 B", "sort": 10}},
    {"name": "A", "size": 2, "shown": {"text": "2 B", "sort": 2}},
    {"name": "c", "size": None, "shown": {"text": "–", "sort": None}},
]


@pytest.mark.parametrize("page", ["", "0", "-1", "x", "²", "1.5"])
def test_a_page_that_is_none_is_the_first(page: str) -> None:
    assert parse_query(page, "-size", "o") == Query(1, 50, "size", True, "o")


def test_rows_are_sorted_by_value_and_what_is_missing_comes_first() -> None:
    names = [row["name"] for row in page_of(ROWS, Query(sort="size")).rows]
    assert names == ["c", "A", "b"]
    assert [row["name"] for row in page_of(ROWS, Query(sort="name")).rows] == ["A", "b", "c"]
    assert [row["name"] for row in page_of(ROWS, Query(sort="shown", descending=True)).rows] == ["b", "A", "c"]


def test_only_one_page_is_given_and_the_total_counts_what_matches() -> None:
    many = [{"name": f"topic-{number}"} for number in range(2000)]
    page = page_of(many, Query(page=2, size=50, q="topic-1"), lambda row: str(row["name"]))
    assert page.total == 1111
    assert len(page.rows) == 50
    assert page_of(many, Query(page=41)).rows == []
