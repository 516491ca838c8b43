"""Filter: every record that it gets is dropped."""

from __future__ import annotations

import pytest
from tests.unit.connect.transforms.cases import DROPPED, Case, check

from caudal.connect.data import INT32, STRING, struct
from caudal.connect.transforms.filter import Filter

CASES = [
    Case("with a schema", {}, {"a": 1}, struct("row", a=INT32), DROPPED),
    Case("without a schema", {}, "x", None, DROPPED),
    Case("a tombstone", {}, None, None, DROPPED),
    Case("a source's record", {}, "x", STRING, DROPPED, is_source=True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_filter(case: Case) -> None:
    check(Filter, case)
