"""InsertField: the record's own data, and constants, as fields."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.unit.connect.transforms.cases import (
    TIMESTAMP,
    BadConfig,
    Case,
    by_default,
    check,
    check_bad_config,
    optional,
)

from caudal.connect.data import INT32, INT64, STRING, TIMESTAMP_SCHEMA, map_of, struct
from caudal.connect.transforms.insert_field import InsertFieldKey, InsertFieldValue

ROW = struct("row", a=INT32)
MOMENT = datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)
ALL = {
    "topic.field": "t!", "partition.field": "p!", "offset.field": "o!", "timestamp.field": "ts!", "static.field": "s!",
    "static.value": "v",
}  # fmt: skip
DEFAULT = by_default(optional(INT32), 7)

CASES = [
    Case(
        "the topic",
        {"topic.field": "t"},
        {"a": 1},
        ROW,
        {"a": 1, "t": "orders"},
        struct("row", a=INT32, t=optional(STRING)),
    ),
    Case(
        "the partition",
        {"partition.field": "p?"},
        {"a": 1},
        ROW,
        {"a": 1, "p": 3},
        struct("row", a=INT32, p=optional(INT32)),
    ),
    Case(
        "the offset", {"offset.field": "o"}, {"a": 1}, ROW, {"a": 1, "o": 42}, struct("row", a=INT32, o=optional(INT64))
    ),
    Case(
        "the timestamp",
        {"timestamp.field": "ts"},
        {"a": 1},
        ROW,
        {"a": 1, "ts": MOMENT},
        struct("row", a=INT32, ts=optional(TIMESTAMP_SCHEMA)),
    ),
    Case(
        "a constant",
        {"static.field": "s!", "static.value": "v"},
        {"a": 1},
        ROW,
        {"a": 1, "s": "v"},
        struct("row", a=INT32, s=STRING),
    ),
    Case(
        "all, required",
        ALL,
        {"a": 1},
        ROW,
        {"a": 1, "t": "orders", "p": 3, "o": 42, "ts": MOMENT, "s": "v"},
        struct("row", a=INT32, t=STRING, p=INT32, o=INT64, ts=TIMESTAMP_SCHEMA, s=STRING),
    ),
    Case(
        "all, without a schema",
        ALL,
        {"a": 1},
        None,
        {"a": 1, "t": "orders", "p": 3, "o": 42, "ts": TIMESTAMP, "s": "v"},
    ),
    Case(
        "no timestamp",
        {"timestamp.field": "ts"},
        {"a": 1},
        ROW,
        {"a": 1, "ts": None},
        struct("row", a=INT32, ts=optional(TIMESTAMP_SCHEMA)),
        record={"timestamp": None},
    ),
    Case(
        "no timestamp, without a schema",
        {"timestamp.field": "ts"},
        {"a": 1},
        None,
        {"a": 1},
        record={"timestamp": None},
    ),
    Case(
        "a source without a partition",
        {"partition.field": "p"},
        {"a": 1},
        ROW,
        {"a": 1, "p": None},
        struct("row", a=INT32, p=optional(INT32)),
        is_source=True,
    ),
    Case(
        "a source with a partition",
        {"partition.field": "p"},
        {"a": 1},
        ROW,
        {"a": 1, "p": 5},
        struct("row", a=INT32, p=optional(INT32)),
        is_source=True,
        record={"kafka_partition": 5},
    ),
    Case(
        "a source has no offset",
        {"offset.field": "o"},
        {"a": 1},
        ROW,
        error="has no offset yet: leave out `offset.field`",
        is_source=True,
    ),
    Case(
        "a source has no offset, without a schema",
        {"offset.field": "o"},
        {"a": 1},
        error="has no offset yet",
        is_source=True,
    ),
    Case(
        "name, version, words and parameters stay",
        {"topic.field": "t"},
        {"a": 1},
        replace(ROW, version=2, doc="a row", parameters={"p": "q"}, optional=True),
        {"a": 1, "t": "orders"},
        replace(struct("row", a=INT32, t=optional(STRING)), version=2, doc="a row", parameters={"p": "q"}),
    ),
    Case(
        "the default for null",
        {"topic.field": "t"},
        {"a": None},
        struct("row", a=DEFAULT),
        {"a": 7, "t": "orders"},
        struct("row", a=DEFAULT, t=optional(STRING)),
    ),
    Case(
        "null in spite of the default",
        {"topic.field": "t", "replace.null.with.default": "false"},
        {"a": None},
        struct("row", a=DEFAULT),
        {"a": None, "t": "orders"},
        struct("row", a=DEFAULT, t=optional(STRING)),
    ),
    Case("null passes", {"topic.field": "t"}, None, optional(ROW)),
    Case("null without a schema passes", {"topic.field": "t"}),
    Case("a field that is there already", {"topic.field": "a"}, {"a": 1}, ROW, error="would have the field 'a' twice"),
    Case("a field that is there already, without a schema", {"topic.field": "a"}, {"a": 1}, None, {"a": "orders"}),
    Case("a text", {"topic.field": "t"}, "x", STRING, error="found string"),
    Case("a map with a schema", {"topic.field": "t"}, {"a": "b"}, map_of(STRING, STRING), error="found map"),
    Case("a text without a schema", {"topic.field": "t"}, "x", error="found str, without a schema"),
]
BAD_CONFIGS = [
    BadConfig("nothing", {}, "inserts nothing: give it one of topic.field, partition.field"),
    BadConfig("only a value", {"static.value": "v"}, "inserts nothing"),
    BadConfig("no value", {"static.field": "s"}, "`static.field` has no value: give it `static.value`"),
    BadConfig(
        "no name", {"topic.field": "!"}, "`topic.field` has no name: '!'", java="Kafka makes a field without a name"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_insert_field(case: Case) -> None:
    check(InsertFieldKey, case, "key")
    check(InsertFieldValue, case, "value")


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(InsertFieldValue, case)
