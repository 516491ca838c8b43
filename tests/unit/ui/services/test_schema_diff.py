"""Lines side by side and field by field, for the three languages."""

from __future__ import annotations

import json

import pytest

from caudal.registry.schemas.parse import parse
from caudal.ui.services.schema_diff import Row, field_changes, side_by_side


def kinds(rows: list[Row]) -> list[str]:
    return [row.kind for row in rows]


def test_a_changed_line_stands_beside_its_new_form_with_the_word_marked() -> None:
    (_, row, _) = side_by_side('{\n  "type": "double"\n}', '{\n  "type": "string"\n}')
    assert row.kind == "changed" and row.old is not None and row.new is not None
    assert [piece for piece, differs in row.old.pieces if differs] == ["double"]
    assert [piece for piece, differs in row.new.pieces if differs] == ["string"]
    assert (row.old.text, row.new.number) == ('  "type": "double"', 2)


def test_lines_that_have_no_partner_are_added_or_removed() -> None:
    rows = side_by_side("a\nb\nc", "a\nc\nd")
    assert kinds(rows) == ["same", "removed", "same", "added"]
    assert rows[1].new is None and rows[3].old is None


def test_every_line_of_both_texts_is_shown_once_and_in_order() -> None:
    old = [f"line {number}" for number in range(40)]
    new = [line for number, line in enumerate(old) if number % 7] + ["another end"]
    rows = side_by_side("\n".join(old), "\n".join(new), None)
    assert [row.old.text for row in rows if row.old] == old
    assert [row.new.text for row in rows if row.new] == new


def test_far_equal_lines_are_counted_instead() -> None:
    old = "\n".join(["same"] * 30 + ["old end"])
    rows = side_by_side(old, old.replace("old end", "new end"), context=3)
    assert kinds(rows) == ["skipped", "same", "same", "same", "changed"]
    assert rows[0].skipped == 27


def test_equal_texts_have_no_change() -> None:
    assert kinds(side_by_side("a\nb", "a\nb")) == ["skipped"]


def avro(*fields: object) -> str:
    return json.dumps({"type": "record", "name": "A", "fields": fields})


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        (
            "AVRO",
            avro({"name": "kept", "type": "int"}, {"name": "x", "type": "int"}, {"name": "gone", "type": "string"}),
            avro({"name": "kept", "type": "int"}, {"name": "x", "type": "long"}, {"name": "come", "type": "string"}),
        ),
        (
            "JSON",
            '{"type":"object","properties":{"kept":{"type":"integer"},"x":{"type":"integer"},"gone":{"type":"string"}}}',
            '{"type":"object","properties":{"kept":{"type":"integer"},"x":{"type":"number"},"come":{"type":"string"}}}',
        ),
        (
            "PROTOBUF",
            'syntax="proto3"; message A { int32 kept = 1; int32 x = 2; string gone = 3; }',
            'syntax="proto3"; message A { int32 kept = 1; int64 x = 2; string come = 4; }',
        ),
    ],
)
def test_fields_are_compared_in_every_language(language: str, old: str, new: str) -> None:
    found = {change.path.split(".")[-1]: change for change in field_changes(parse(language, old), parse(language, new))}
    assert {path: change.kind for path, change in found.items()} == {"x": "changed", "come": "added", "gone": "removed"}
    assert found["x"].notes == ("type",) and found["x"].before != found["x"].after
    assert (found["come"].before, found["gone"].after) == (None, None)


def test_a_new_description_is_a_change_of_its_own() -> None:
    old = parse("AVRO", avro({"name": "x", "type": "int"}))
    new = parse("AVRO", avro({"name": "x", "type": "int", "doc": "how many"}))
    assert [change.notes for change in field_changes(old, new)] == [("doc",)]
