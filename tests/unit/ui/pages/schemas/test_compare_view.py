"""The HTML of a comparison: escaped, with signs and marks."""

from __future__ import annotations

from caudal.ui.pages.schemas.compare_view import diff_html, fields_html
from caudal.ui.services.schema_diff import FieldChange, side_by_side


def test_lines_are_escaped_and_marked() -> None:
    html = diff_html(tuple(side_by_side('"<b>" old', '"<b>" new')), 1, 2)
    assert "<b>" not in html
    assert "<mark>old</mark>" in html and "<mark>new</mark>" in html
    assert "Version 1" in html and "Version 2" in html


def test_lines_that_are_skipped_are_counted() -> None:
    old = "\n".join(f"{number}" for number in range(20))
    html = diff_html(tuple(side_by_side(old, f"{old}\nend")), 1, 2)
    assert "16 equal lines" in html


def test_field_names_are_escaped() -> None:
    html = fields_html((FieldChange("<script>", "changed", "int", "long", ("type", "doc")),))
    assert "<script>" not in html
    assert "type, description" in html
