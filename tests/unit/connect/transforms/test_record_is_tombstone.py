"""RecordIsTombstone."""

from __future__ import annotations

import pytest
from tests.unit.connect.transforms.cases import Case, check_predicate

from caudal.connect.data import STRING
from caudal.connect.transforms.predicates.record_is_tombstone import RecordIsTombstone

CASES = [
    Case("null", {}, None, None, True),
    Case("null with a schema", {}, None, STRING.as_optional(), True),
    Case("a value", {}, "v", STRING, False),
    Case("an empty text", {}, "", STRING, False),
    Case("zero without a schema", {}, 0, None, False),
    Case("null key", {}, "v", STRING, False, record={"key": None, "key_schema": None}),
    Case("a source's record", {}, None, None, True, is_source=True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_record_is_tombstone(case: Case) -> None:
    check_predicate(RecordIsTombstone, case)
