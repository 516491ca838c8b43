"""HoistField: the key or value as the only field."""

from __future__ import annotations

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, check, check_bad_config, optional

from caudal.connect.data import INT32, STRING, array, struct
from caudal.connect.transforms.hoist_field import HoistFieldKey, HoistFieldValue

CASES = [
    Case("with a schema", {"field": "id"}, 5, INT32, {"id": 5}, struct(None, id=INT32)),
    Case(
        "a struct",
        {"field": "row"},
        {"a": 1},
        struct("r", a=INT32),
        {"row": {"a": 1}},
        struct(None, row=struct("r", a=INT32)),
    ),
    Case("an array", {"field": "row"}, [1], array(INT32), {"row": [1]}, struct(None, row=array(INT32))),
    Case("without a schema", {"field": "id"}, 5, None, {"id": 5}),
    Case(
        "null with a schema that allows it",
        {"field": "id"},
        None,
        optional(INT32),
        {"id": None},
        struct(None, id=optional(INT32)),
    ),
    Case(
        "null with one that does not",
        {"field": "id"},
        None,
        STRING,
        error="is null, and its schema does not allow that",
        java="The JSON converter cannot carry this record to Kafka",
    ),
    Case("null without a schema", {"field": "id"}, None, None, {"id": None}),
    Case("any name", {"field": "a b.c"}, "x", STRING, {"a b.c": "x"}, struct(None, **{"a b.c": STRING})),
]
BAD_CONFIGS = [BadConfig("no field", {}, "field")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hoist_field(case: Case) -> None:
    check(HoistFieldKey, case, "key")
    check(HoistFieldValue, case, "value")


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(HoistFieldValue, case)
