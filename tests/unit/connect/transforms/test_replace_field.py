"""ReplaceField: dropping and renaming."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, by_default, check, check_bad_config, optional

from caudal.connect.data import INT32, STRING, map_of, struct
from caudal.connect.transforms.replace_field import ReplaceFieldKey, ReplaceFieldValue

ROW = struct("row", a=INT32, b=STRING, c=optional(STRING))
VALUE = {"a": 1, "b": "x", "c": None}
WITH_DEFAULT = struct("row", a=by_default(optional(INT32), 7), b=STRING)

CASES = [
    Case("exclude", {"exclude": "b"}, VALUE, ROW, {"a": 1, "c": None}, struct("row", a=INT32, c=optional(STRING))),
    Case("include", {"include": "a,b"}, VALUE, ROW, {"a": 1, "b": "x"}, struct("row", a=INT32, b=STRING)),
    Case("exclude weighs more", {"include": "a,b", "exclude": "b"}, VALUE, ROW, {"a": 1}, struct("row", a=INT32)),
    Case(
        "rename",
        {"renames": "a:x,b:y"},
        VALUE,
        ROW,
        {"x": 1, "y": "x", "c": None},
        struct("row", x=INT32, y=STRING, c=optional(STRING)),
    ),
    Case("include means old names", {"include": "a", "renames": "a:x"}, VALUE, ROW, {"x": 1}, struct("row", x=INT32)),
    Case(
        "two change places",
        {"renames": "a:b,b:a", "exclude": "c"},
        VALUE,
        ROW,
        {"b": 1, "a": "x"},
        struct("row", b=INT32, a=STRING),
    ),
    Case("all of it as it is", {}, VALUE, ROW, VALUE, ROW),
    Case("nothing is left", {"include": "z"}, VALUE, ROW, {}, struct("row")),
    Case("unknown names do no harm", {"exclude": "z", "renames": "y:w"}, VALUE, ROW, VALUE, ROW),
    Case(
        "name, version, words and parameters stay; optional does not",
        {"exclude": "b,c"},
        VALUE,
        replace(ROW, version=2, doc="a row", parameters={"p": "q"}, optional=True),
        {"a": 1},
        replace(struct("row", a=INT32), version=2, doc="a row", parameters={"p": "q"}),
    ),
    Case(
        "the default for null",
        {"exclude": "b"},
        {"a": None, "b": "x"},
        WITH_DEFAULT,
        {"a": 7},
        struct("row", a=by_default(optional(INT32), 7)),
    ),
    Case(
        "the default for null, renamed",
        {"renames": "a:z"},
        {"a": None, "b": "x"},
        WITH_DEFAULT,
        {"z": 7, "b": "x"},
        struct("row", z=by_default(optional(INT32), 7), b=STRING),
    ),
    Case(
        "null in spite of the default",
        {"exclude": "b", "replace.null.with.default": "false"},
        {"a": None, "b": "x"},
        WITH_DEFAULT,
        {"a": None},
        struct("row", a=by_default(optional(INT32), 7)),
    ),
    Case("exclude, without a schema", {"exclude": "b"}, VALUE, None, {"a": 1, "c": None}),
    Case("include and rename, without a schema", {"include": "a", "renames": "a:x"}, VALUE, None, {"x": 1}),
    Case("nothing is left, without a schema", {"include": "z"}, VALUE, None, {}),
    Case("null passes", {"exclude": "a"}, None, optional(ROW)),
    Case("null without a schema passes", {"exclude": "a"}),
    Case("two fields of one name", {"renames": "a:b"}, VALUE, ROW, error="would have the field 'b' twice"),
    Case("a text", {"exclude": "a"}, "t", STRING, error="needs a struct or a map .* found string"),
    Case("a map with a schema", {"exclude": "a"}, {"a": "b"}, map_of(STRING, STRING), error="found map"),
    Case("a text without a schema", {"exclude": "a"}, "t", error="found str, without a schema"),
    Case("a list without a schema", {"exclude": "a"}, [1], error="found list, without a schema"),
]
BAD_CONFIGS = [
    BadConfig("no new name", {"renames": "a"}, "'a' is no renaming: write old:new"),
    BadConfig("an empty new name", {"renames": "a:"}, "'a:' is no renaming"),
    BadConfig("two colons", {"renames": "a:b:c"}, "'a:b:c' is no renaming"),
    BadConfig("no boolean", {"replace.null.with.default": "1"}, "replace.null.with.default"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_replace_field(case: Case) -> None:
    check(ReplaceFieldKey, case, "key")
    check(ReplaceFieldValue, case, "value")


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(ReplaceFieldValue, case)
