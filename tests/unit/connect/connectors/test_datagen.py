"""Datagen: every ready set, every annotation, and the same records again after a restart."""

from __future__ import annotations

import json
import re
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from tests.unit.connect.connectors.contexts import Offsets, start_source, start_sources

from caudal.connect.connectors.datagen.connector import Datagen, quickstarts
from caudal.connect.connectors.datagen.generator import generator
from caudal.connect.connectors.datagen.regex_sampler import regex_sampler
from caudal.connect.data import Kind, Schema
from caudal.connect.errors import ConfigError
from caudal.connect.records import SourceRecord

PYTHON: dict[Kind, tuple[type[Any], ...]] = {
    Kind.INT32: (int, date), Kind.INT64: (int, datetime), Kind.FLOAT32: (float,), Kind.FLOAT64: (float,),
    Kind.BOOLEAN: (bool,), Kind.STRING: (str,), Kind.BYTES: (bytes, Decimal), Kind.ARRAY: (list,), Kind.MAP: (dict,),
    Kind.STRUCT: (dict,),
}  # fmt: skip


def fits(schema: Schema, value: Any) -> bool:
    if value is None:
        return schema.optional
    if not isinstance(value, PYTHON[schema.kind]):
        return False
    if schema.kind is Kind.STRUCT:
        return list(value) == [one.name for one in schema.fields] and all(
            fits(one.schema, value[one.name]) for one in schema.fields
        )
    if schema.kind is Kind.ARRAY:
        assert schema.values is not None
        return all(fits(schema.values, one) for one in value)
    return True


def config(**more: Any) -> dict[str, str]:
    given = {name.replace("_", "."): str(value) for name, value in more.items()}
    return {"kafka.topic": "made", "max.interval": "0", **given}


@pytest.mark.parametrize("name", quickstarts())
def test_ready_sets_fit_their_schemas(name: str) -> None:
    assert Datagen.check(Datagen.config().parse(config(quickstart=name))) == {}
    task, _ = start_source(Datagen, config(quickstart=name.upper(), iterations=20))
    records: list[SourceRecord] = task.poll()
    assert len(records) == 20
    for record in records:
        assert record.value_schema is not None and fits(record.value_schema, record.value)
        assert record.key is not None and record.key in record.value.values() and record.key_schema is not None
    task.context.stopping.set()
    assert task.poll() is None  # that was all


def test_a_restart_makes_the_same_records() -> None:
    whole, _ = start_source(Datagen, config(quickstart="orders", random_seed=7, iterations=1200))
    expected = [record.value for _ in range(3) for record in whole.poll()]
    assert [value["orderid"] for value in expected] == list(range(1200))
    offsets = Offsets()
    first, _ = start_source(Datagen, config(quickstart="orders", random_seed=7, iterations=1200), offsets)
    records = [*first.poll(), *first.poll()][:777]
    offsets.commit(records)
    again, _ = start_source(Datagen, config(quickstart="orders", iterations=1200), offsets)  # the seed is stored, too
    rest = [*again.poll(), *again.poll()]
    assert [record.value for record in records + rest] == expected


def test_tasks_share_what_iterates() -> None:
    running = start_sources(Datagen, config(quickstart="orders", iterations=10, tasks_max=3))
    ids = sorted(record.value["orderid"] for task, _ in running for record in task.poll())
    assert ids == list(range(30))


def test_the_interval_is_kept() -> None:
    task, _ = start_source(Datagen, config(quickstart="users") | {"max.interval": "1"})
    found: list[SourceRecord] = []
    while len(found) < 5:
        records = task.poll() or []
        assert len(records) <= 1
        found += records


def made(described: Any, count: int = 200) -> list[Any]:
    make = generator(described).make
    random = Random(1)
    return [make(random, n) for n in range(count)]


def noted(type: str, **notes: Any) -> dict[str, Any]:
    return {"type": type, "arg.properties": notes}


def test_annotations() -> None:
    assert set(made(noted("int", range={"min": 3, "max": 6}))) == {3, 4, 5}
    assert all(0.5 <= each < 2 for each in made(noted("double", range={"min": 0.5, "max": 2})))
    assert made(noted("long", iteration={"start": 5, "restart": 8}), 7) == [5, 6, 7, 5, 6, 7, 5]
    assert made(noted("int", iteration={"start": 3, "restart": 0}), 4) == [3, 2, 1, 3]
    assert made(noted("int", iteration={"start": 0, "step": 10, "initial": 40}), 3) == [40, 50, 60]
    assert made(noted("boolean", iteration={"start": True}), 3) == [True, False, True]
    assert set(made(noted("boolean", odds=0.0))) == {False}
    assert set(made(noted("string", options=["a", "b"]))) == {"a", "b"}
    assert {len(each) for each in made(noted("string", length=5))} == {5}
    assert {len(each) for each in made(noted("bytes", length={"min": 1, "max": 3}))} == {1, 2}
    assert all(
        re.fullmatch("<[a-c]{2}>", each) for each in made(noted("string", regex="[a-c]{2}", prefix="<", suffix=">"))
    )
    assert set(made({"type": "enum", "name": "e", "symbols": ["X", "Y"]})) == {"X", "Y"}
    assert set(made(["null", noted("int", options=[1])])) == {None, 1}
    assert set(made({"type": ["null", "int"], "arg.properties": {"position": 0}})) == {None}
    keyed = made({"type": "map", "values": "int", "arg.properties": {"length": 1, "keys": {"options": ["k"]}}})
    assert all(list(each) == ["k"] for each in keyed)
    described = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    assert all(isinstance(each, Decimal) and each.as_tuple().exponent == -2 for each in made(described))


@pytest.mark.parametrize(
    "pattern",
    ["a{2,4}b?", "(ab|cd)+", r"\d{3}-\w\s[^x]", "[^a-z]", "x*?y", r"^\+[1-9]\.$", "(?:q)(?P<n>z)", r"\D\W\S."],
)
def test_regular_expressions_match_their_samples(pattern: str) -> None:
    sample = regex_sampler(pattern)
    random = Random(3)
    assert all(re.fullmatch(pattern, sample(random)) for _ in range(100))


@pytest.mark.parametrize(
    ("given", "key", "words"),
    [
        ({}, "quickstart", "give one of"),
        ({"quickstart": "nothing"}, "quickstart", "there is no nothing"),
        ({"quickstart": "users", "schema.string": "{}"}, "schema.string", "give one of"),
        ({"schema.string": "{"}, "schema.string", "not JSON"),
        ({"schema.string": '"int"'}, "schema.string", "must be a record"),
        ({"schema.filename": "/etc/passwd"}, "schema.filename", "allows no local files"),
        ({"quickstart": "users", "schema.keyfield": "x"}, "schema.keyfield", "no field x"),
    ],
)
def test_wrong_configurations_are_named(given: dict[str, str], key: str, words: str) -> None:
    errors = Datagen.check(Datagen.config().parse(config() | given))
    assert list(errors) == [key] and words in errors[key][0]


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("nonsense", "not a type of Avro"),
        (["int", "string"], "only those of null"),
        (noted("int", range={"min": 5, "max": 5}), "is empty"),
        (noted("int", iteration={"start": 5, "restart": 5}), "restarts where it starts"),
        (noted("string", regex="("), "not a regular expression"),
        (noted("string", regex="(a)\\1"), "cannot be generated"),
        (noted("string", options={"file": "x"}), "files are not read"),
        ({"type": "array"}, "items"),
    ],
)
def test_wrong_schemas_say_where(field: Any, words: str) -> None:
    schema = json.dumps({"type": "record", "name": "r", "fields": [{"name": "f", "type": field}]})
    with pytest.raises(ConfigError, match=re.escape(words)) as wrong:
        generator(json.loads(schema))
    assert "schema.f" in str(wrong.value)
