"""SetSchemaMetadata: names and versions of schemas."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, by_default, check, check_bad_config, optional

from caudal.connect.data import INT32, STRING, array, map_of, struct
from caudal.connect.transforms.set_schema_metadata import SetSchemaMetadataKey, SetSchemaMetadataValue

ROW = struct("row", a=INT32)
ONLY_STRUCTS = "Kafka 4.3 asks each schema for its fields, and fails where there are none"
WITH_DEFAULT = struct("row", a=by_default(optional(INT32), 7), b=struct("in", c=by_default(optional(INT32), 8)))

CASES = [
    Case("the name", {"schema.name": "other"}, {"a": 1}, ROW, {"a": 1}, replace(ROW, name="other")),
    Case("the version", {"schema.version": "3"}, {"a": 1}, ROW, {"a": 1}, replace(ROW, version=3)),
    Case(
        "both",
        {"schema.name": "other", "schema.version": 3},
        {"a": 1},
        ROW,
        {"a": 1},
        replace(ROW, name="other", version=3),
    ),
    Case("of a number", {"schema.name": "id"}, 5, INT32, 5, replace(INT32, name="id"), java=ONLY_STRUCTS),
    Case(
        "of an array",
        {"schema.name": "ids"},
        [5],
        array(INT32),
        [5],
        replace(array(INT32), name="ids"),
        java=ONLY_STRUCTS,
    ),
    Case(
        "of a map",
        {"schema.name": "ids"},
        {"a": 5},
        map_of(STRING, INT32),
        {"a": 5},
        replace(map_of(STRING, INT32), name="ids"),
        java=ONLY_STRUCTS,
    ),
    Case(
        "all else stays",
        {"schema.name": "x"},
        {"a": 1},
        replace(ROW, optional=True, doc="words", parameters={"p": "q"}),
        {"a": 1},
        replace(ROW, name="x", optional=True, doc="words", parameters={"p": "q"}),
    ),
    Case("null with a schema", {"schema.name": "x"}, None, optional(ROW), None, replace(optional(ROW), name="x")),
    Case("null without a schema", {"schema.name": "x"}),
    Case(
        "the default for null, at the top only",
        {"schema.name": "x"},
        {"a": None, "b": {"c": None}},
        WITH_DEFAULT,
        {"a": 7, "b": {"c": None}},
        replace(WITH_DEFAULT, name="x"),
    ),
    Case(
        "null in spite of the default",
        {"schema.name": "x", "replace.null.with.default": "false"},
        {"a": None, "b": {"c": None}},
        WITH_DEFAULT,
        {"a": None, "b": {"c": None}},
        replace(WITH_DEFAULT, name="x"),
    ),
    Case(
        "no schema", {"schema.name": "x"}, {"a": 1}, error="needs a schema, and the (key|value) of the record has none"
    ),
    Case("no schema, a text", {"schema.name": "x"}, "t", error="use a converter with schemas"),
]
BAD_CONFIGS = [
    BadConfig("nothing", {}, "changes nothing: give it schema.name or schema.version"),
    BadConfig("no number", {"schema.version": "one"}, "schema.version"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_set_schema_metadata(case: Case) -> None:
    check(SetSchemaMetadataKey, case, "key")
    check(SetSchemaMetadataValue, case, "value")


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(SetSchemaMetadataValue, case)
