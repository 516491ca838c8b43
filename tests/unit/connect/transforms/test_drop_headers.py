"""DropHeaders: by name, all of a name."""

from __future__ import annotations

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, check, check_bad_config

from caudal.connect.data import INT32, STRING
from caudal.connect.records import Header
from caudal.connect.transforms.drop_headers import DropHeaders

A, B, A2 = Header("a", 1, INT32), Header("b", "x", STRING), Header("a", "y", STRING)

CASES = [
    Case("one", {"headers": "a"}, "v", STRING, record={"headers": (A, B)}, changes={"headers": (B,)}),
    Case("all of a name", {"headers": "a"}, "v", STRING, record={"headers": (A, B, A2)}, changes={"headers": (B,)}),
    Case("several names", {"headers": "a, b"}, "v", STRING, record={"headers": (A, B, A2)}, changes={"headers": ()}),
    Case(
        "the others keep their order",
        {"headers": "b"},
        "v",
        STRING,
        record={"headers": (A, B, A2)},
        changes={"headers": (A, A2)},
    ),
    Case("none of that name", {"headers": "z"}, "v", STRING, record={"headers": (A, B)}),
    Case("no headers", {"headers": "a"}, "v", STRING),
    Case("a tombstone", {"headers": "a"}, record={"headers": (A, B)}, changes={"headers": (B,)}),
    Case(
        "a source's record",
        {"headers": "a"},
        "v",
        STRING,
        record={"headers": (A, B)},
        changes={"headers": (B,)},
        is_source=True,
    ),
    Case("names are compared by letters", {"headers": "A"}, "v", STRING, record={"headers": (A, B)}),
]
BAD_CONFIGS = [
    BadConfig("no headers", {}, "headers"),
    BadConfig("an empty list", {"headers": ""}, "At least one name is needed"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_drop_headers(case: Case) -> None:
    check(DropHeaders, case)


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(DropHeaders, case)
