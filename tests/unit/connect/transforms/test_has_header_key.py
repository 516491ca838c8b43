"""HasHeaderKey."""

from __future__ import annotations

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, check_bad_config, check_predicate

from caudal.connect.data import STRING
from caudal.connect.records import Header
from caudal.connect.transforms.predicates.has_header_key import HasHeaderKey

A, B = Header("a", 1), Header("b", "x", STRING)
CASES = [
    Case("there", {"name": "a"}, "v", STRING, True, record={"headers": (B, A)}),
    Case("twice", {"name": "a"}, "v", STRING, True, record={"headers": (A, A)}),
    Case("not there", {"name": "c"}, "v", STRING, False, record={"headers": (A, B)}),
    Case("no headers", {"name": "a"}, "v", STRING, False),
    Case("other letters", {"name": "A"}, "v", STRING, False, record={"headers": (A, B)}),
    Case("a tombstone", {"name": "a"}, None, None, True, record={"headers": (A,)}),
    Case("a source's record", {"name": "a"}, "v", STRING, True, record={"headers": (A,)}, is_source=True),
]
BAD_CONFIGS = [
    BadConfig("no name", {}, "name"),
    BadConfig("an empty name", {"name": ""}, "An empty text is not a value"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_has_header_key(case: Case) -> None:
    check_predicate(HasHeaderKey, case)


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(HasHeaderKey, case)
