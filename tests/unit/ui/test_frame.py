"""The frame's small decisions: which entry is marked, and the link to the other language."""

from __future__ import annotations

import pytest

from caudal.ui.find import best
from caudal.ui.frame import is_here, with_language


@pytest.mark.parametrize(
    ("entry", "path", "marked"),
    [("/", "/", True), ("/", "/topics", False), ("/topics", "/topics/a", True), ("/topic", "/topics", False)],
)
def test_the_entry_of_a_page_below_it_is_marked(entry: str, path: str, marked: bool) -> None:
    assert is_here(entry, path) is marked


def test_the_other_language_keeps_what_the_page_shows() -> None:
    assert with_language("q=a%26b&lang=en&page=2", "es") == "q=a%26b&page=2&lang=es"


def test_what_begins_with_the_text_comes_first_and_internal_topics_last() -> None:
    names = ["_orders_internal", "all-orders", "orders", "payments", "Orders-eu"]
    assert best(names, "orders") == ["Orders-eu", "orders", "all-orders", "_orders_internal"]
    assert best(names, "orders", limit=1) == ["Orders-eu"]
