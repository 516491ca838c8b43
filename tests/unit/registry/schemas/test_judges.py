"""Other libraries judge the answers of `reads`: fastavro reads what was said to be readable and fails where it was not,
jsonschema accepts under the new schema what it accepts under the old one."""

from __future__ import annotations

import copy
import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from caudal.registry.schemas.avro.schema import AvroSchema
from caudal.registry.schemas.avro.types import Array, Enum, Fixed, Map, Record, Type, Union
from caudal.registry.schemas.json_schema.schema import JsonSchema
from caudal.registry.schemas.schema import InvalidSchema, Reference, Resolved

MATRIX = Path(__file__).parent / "matrix"
QUICK = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))

# --- Avro: fastavro ---------------------------------------------------------------------------------------------------

SIMPLE: dict[str, list[Any]] = {
    "null": [None],
    "boolean": [True],
    "int": [7],
    "long": [2**40],
    "float": [0.5],
    "double": [1e300],
    "bytes": [b"ab"],
    "string": ["ab"],
}


def values(avro_type: Type, depth: int = 0) -> list[Any]:
    """Values that together reach every branch of every union and every symbol."""
    match avro_type:
        case Record():
            lists = [values(field.type, depth + 1) for field in avro_type.fields]
            longest = max(map(len, lists), default=1)
            names = [field.name for field in avro_type.fields]
            return [
                dict(zip(names, (some[index % len(some)] for some in lists), strict=True)) for index in range(longest)
            ]
        case Array(items=items):
            return [[value] for value in values(items, depth + 1)] if depth < 6 else [[]]
        case Map(values=inner):
            return [{"k": value} for value in values(inner, depth + 1)]
        case Union(branches=branches):
            few = branches if depth < 6 else branches[:1]
            return [value for branch in few for value in values(branch, depth + 1)]
        case Enum(symbols=symbols):
            return list(symbols)
        case Fixed(size=size):
            return [b"x" * size]
        case _:
            return SIMPLE[avro_type.kind]


def failures(reader: AvroSchema, writer: AvroSchema) -> int:
    """How many of the writer's values fastavro cannot read. Logical types are left out: they change no bytes."""
    wrote, reads = (fastavro.parse_schema(_bare(json.loads(one.formatted("resolved")))) for one in (writer, reader))
    failed = 0
    for value in values(writer.root):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, wrote, value)
        stream.seek(0)
        try:
            fastavro.schemaless_reader(stream, wrote, reads)
        except Exception:
            failed += 1
    return failed


def _bare(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _bare(value) for key, value in schema.items() if key not in ("logicalType", "precision", "scale")}
    return [_bare(item) for item in schema] if isinstance(schema, list) else schema


# fastavro looks at the last part of an alias only.
LENIENT = {"an alias in the wrong namespace does not join"}


def avro_cases() -> Iterator[Any]:
    for section, cases in yaml.safe_load((MATRIX / "avro.yaml").read_text()).items():
        for case in cases:
            yield pytest.param(case, id=f"{section}: {case['name']}")


def avro(schema: Any, references: list[Any]) -> AvroSchema:
    if isinstance(schema, dict) and set(schema) == {"fields"}:
        schema = {"type": "record", "name": "R", **schema}
    others = [Resolved(Reference(str(n), str(n), 1), AvroSchema(json.dumps(one))) for n, one in enumerate(references)]
    return AvroSchema(json.dumps(schema), others)


@pytest.mark.parametrize("case", list(avro_cases()))
def test_fastavro_agrees_with_the_matrix(case: dict[str, Any]) -> None:
    old, new = (avro(case[side], case.get("references", [])) for side in ("old", "new"))
    for expected, reader, writer in ((case["backward"], new, old), (case["forward"], old, new)):
        if case["name"] not in LENIENT:
            assert bool(failures(reader, writer)) == bool(expected)


NAMES = st.sampled_from(["A", "B", "C"])


def avro_types() -> st.SearchStrategy[Any]:
    primitives = st.sampled_from(list(SIMPLE))
    enums = st.builds(
        lambda name, symbols: {"type": "enum", "name": f"E{name}", "symbols": symbols},
        NAMES,
        st.lists(st.sampled_from("XYZ"), min_size=1, max_size=3, unique=True),
    )
    fixed = st.builds(lambda name, size: {"type": "fixed", "name": f"F{name}", "size": size}, NAMES, st.integers(1, 2))
    return st.recursive(
        primitives | enums | fixed,
        lambda inner: (
            st.builds(lambda items: {"type": "array", "items": items}, inner)
            | st.builds(lambda items: {"type": "map", "values": items}, inner)
            | st.lists(inner, min_size=1, max_size=3)
            | st.builds(
                lambda name, fields: {"type": "record", "name": f"R{name}", "fields": fields},
                NAMES,
                st.lists(
                    st.builds(lambda name, kind: {"name": name, "type": kind}, st.sampled_from("abc"), inner),
                    max_size=3,
                    unique_by=lambda field: field["name"],
                ),
            )
        ),
        max_leaves=5,
    )


def tidy(schema: Any, count: Iterator[int]) -> Any:
    """Each name once, no union in a union, no branch twice: most of what was drawn would be refused otherwise."""
    if isinstance(schema, str):
        return schema
    if isinstance(schema, list):
        branches = [tidy(branch, count) for branch in schema if not isinstance(branch, list)] or ["null"]
        kinds = [branch if isinstance(branch, str) else branch.get("name", branch["type"]) for branch in branches]
        return [branch for index, branch in enumerate(branches) if kinds[index] not in kinds[:index]]
    made = {key: tidy(value, count) if key in ("items", "values") else value for key, value in schema.items()}
    if "name" in made:
        made["name"] = f"{made['type'].title()}{next(count)}"
    if "fields" in made:
        made["fields"] = [{**field, "type": tidy(field["type"], count)} for field in made["fields"]]
    return made


AVRO: st.SearchStrategy[Any] = avro_types().map(lambda schema: tidy(schema, itertools.count()))


@QUICK
@given(st.data())
def test_fastavro_reads_what_may_be_read(data: st.DataObject) -> None:
    old = data.draw(AVRO)
    new = data.draw(st.sampled_from(variants(old))) if data.draw(st.booleans()) else data.draw(AVRO)
    try:
        writer, reader = AvroSchema(json.dumps(old)), AvroSchema(json.dumps(new))
    except InvalidSchema:
        assume(False)
    if not reader.reads(writer):
        assert failures(reader, writer) == 0


WIDER = {"int": "long", "long": "double", "float": "double", "string": "bytes", "bytes": "string", "double": "int"}


def variants(schema: Any) -> list[Any]:
    """Schemas that differ in one place, among them the kinds of change that people make."""
    found: list[Any] = [schema, [schema] if not isinstance(schema, list) else schema[:-1] or schema]
    if isinstance(schema, str):
        found.append(WIDER.get(schema, schema))
        found.append(["null", schema] if schema != "null" else schema)
    elif isinstance(schema, list):
        found += [
            [*schema[:index], one, *schema[index + 1 :]] for index, part in enumerate(schema) for one in variants(part)
        ]
        found.append([*schema, "boolean"])
    else:
        for key in ("items", "values"):
            found += [{**schema, key: one} for one in variants(schema[key])] if key in schema else []
        if "symbols" in schema:
            found += [{**schema, "symbols": schema["symbols"][:1]}, {**schema, "symbols": list("XYZ")}]
            found.append({**schema, "symbols": schema["symbols"][:1], "default": schema["symbols"][0]})
        for index, field in enumerate(schema.get("fields", [])):
            rest = schema["fields"][:index], schema["fields"][index + 1 :]
            found.append({**schema, "fields": [*rest[0], *rest[1]]})
            found.append({**schema, "fields": [*rest[0], {**field, "name": "z", "aliases": [field["name"]]}, *rest[1]]})
            found += [
                {**schema, "fields": [*rest[0], {**field, "type": one}, *rest[1]]} for one in variants(field["type"])
            ]
        if "fields" in schema:
            found.append({**schema, "fields": [*schema["fields"], {"name": "n", "type": "int", "default": 1}]})
            found.append({**schema, "fields": [*schema["fields"], {"name": "n", "type": "int"}]})
    return found[:40]


# --- JSON Schema: jsonschema ------------------------------------------------------------------------------------------

SCALARS = st.sampled_from([None, True, False, 0, 1, 2, 3, 5, 2.5, -1, "", "a", "ab", "b", "abc"])
INSTANCES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "ab", "c"]), inner, max_size=3)
    ),
    max_leaves=6,
)
COUNTS = st.integers(0, 3)
PROPERTY = st.sampled_from(["a", "b", "ab", "c"])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    types = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
    known = {
        "type": types | st.lists(types, min_size=1, max_size=3, unique=True),
        "enum": st.lists(SCALARS, min_size=1, max_size=4, unique_by=repr),
        "const": SCALARS,
        "minimum": COUNTS,
        "maximum": COUNTS,
        "exclusiveMinimum": COUNTS,
        "exclusiveMaximum": COUNTS,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minLength": COUNTS,
        "maxLength": COUNTS,
        "pattern": st.sampled_from(["^a", "b$"]),
        "minItems": COUNTS,
        "maxItems": COUNTS,
        "uniqueItems": st.booleans(),
        "items": inner | st.lists(inner, min_size=1, max_size=2),
        "additionalItems": inner,
        "contains": inner,
        "properties": st.dictionaries(PROPERTY, inner, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "(a+)+c"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "required": st.lists(PROPERTY, max_size=2, unique=True),
        "minProperties": COUNTS,
        "maxProperties": COUNTS,
        "dependencies": st.dictionaries(PROPERTY, inner | st.lists(PROPERTY, max_size=2, unique=True), max_size=1),
        "anyOf": st.lists(inner, min_size=1, max_size=3),
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
    }
    names = st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=4, unique=True)
    chosen = names.flatmap(lambda some: st.fixed_dictionaries({name: known[name] for name in some}))
    # jsonschema itself stumbles over this pair
    return chosen.filter(lambda one: "additionalItems" not in one or not isinstance(one.get("items"), bool))


SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | keywords(st.just({})) | st.just({}), keywords, max_leaves=4
)


def changed(schema: Any) -> list[Any]:
    """One keyword more, less, or with a value of another schema's: small steps, of which many are compatible."""
    if not isinstance(schema, dict):
        return [schema, {}, True]
    found: list[Any] = [copy.deepcopy(schema)]
    for key, value in schema.items():
        found.append({name: other for name, other in schema.items() if name != key})
        if isinstance(value, bool):
            found.append({**schema, key: not value})
        elif isinstance(value, int | float):
            found += [{**schema, key: value + 1}] + ([{**schema, key: value - 1}] if value > 1 else [])
        elif isinstance(value, dict) and key in ("properties", "patternProperties"):
            found += [{**schema, key: {**value, name: one}} for name, part in value.items() for one in changed(part)]
        elif isinstance(value, dict):
            found += [{**schema, key: one} for one in changed(value)]
        elif isinstance(value, list) and len(value) > 1:
            found.append({**schema, key: value[:-1]})
    return found[:60]


@QUICK
@given(SCHEMAS, st.data())
def test_jsonschema_accepts_old_values_under_the_new_schema(old: Any, data: st.DataObject) -> None:
    new = data.draw(st.sampled_from(changed(old))) if data.draw(st.booleans()) else data.draw(SCHEMAS)
    if data.draw(st.booleans()):
        old, new = new, old
    try:
        writer, reader = JsonSchema(json.dumps(old)), JsonSchema(json.dumps(new))
    except InvalidSchema:
        assume(False)
    if reader.reads(writer):
        return
    judge_old, judge_new = jsonschema.Draft7Validator(old), jsonschema.Draft7Validator(new)
    for instance in itertools.chain(data.draw(st.lists(INSTANCES, min_size=5, max_size=15)), OFTEN):
        if judge_old.is_valid(instance):
            assert judge_new.is_valid(instance), (old, new, instance)


OFTEN: list[Any] = [
    None,
    True,
    0,
    1,
    2,
    3,
    2.5,
    "",
    "a",
    "ab",
    "abc",
    [],
    [1],
    ["a", 1],
    [1, 1, 2, 3],
    {},
    {"a": 1},
    {"b": "a"},
]
OFTEN += [{"a": 1, "b": 2}, {"a": "a", "ab": 1, "c": None}, {"c": []}, {"a": {}, "b": {"a": 1}}, [[], [1]], [{"a": 1}]]
