"""Avro in the native lane: Spark's from_avro and to_avro on the bytes behind the schema's id.

Spark must know every writer's schema before it reads. So the versions that the subject has when the application starts
are in the plan, each by its id, resolved to the reader's schema; a record with another id stops the application, which
nobody should meet unasked: only lane="native" does this. Recognised are records of text, numbers and booleans, each
nullable or not, at least one of them not: a null there is how a value that cannot be read is told from others.

Otherwise than in the task lane, bytes behind a value, and text that is not UTF-8, are not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import orjson

from caudal.plan.typed_sql import SqlType, Typed, quoted_name, text_literal
from caudal.registry.client import RegisteredSchema, RegistryClient, RegistryError
from caudal.serde.avro import Avro
from caudal.serde.wire_format import HEAD_BYTES, head

T = TypeVar("T")

_TYPES = {
    "string": (SqlType.STRING, "STRING"),
    "long": (SqlType.BIGINT, "BIGINT"),
    "int": (SqlType.BIGINT, "INT"),
    "double": (SqlType.DOUBLE, "DOUBLE"),
    "float": (SqlType.DOUBLE, "FLOAT"),
    "boolean": (SqlType.BOOLEAN, "BOOLEAN"),
}


class NoNativeForm(Exception):
    """Why not: what follows the serde in a sentence."""


def read_avro(serde: Avro, raw: str, name: str) -> tuple[str, str, Typed]:
    """The column `name` to make of `raw`, whether it cannot be read, and its value."""
    text = serde.reader_schema if serde.reader_schema is not None else serde.schema
    if text is None or serde.use_latest_version:
        raise NoNativeForm("has no schema of its own to read with")
    fields = _fields(text)
    required = [field for field, (_, nullable) in fields.items() if not nullable]
    if not required:
        raise NoNativeForm("has only fields that may be null")
    body, wanted = f"substring({raw}, {HEAD_BYTES + 1})", text_literal(text)
    branches = []
    for schema in _versions(serde):
        options = f"map('mode', 'PERMISSIVE', 'avroSchema', {wanted})"
        branches.append(f"WHEN {_binary(schema.id)} THEN from_avro({body}, {text_literal(schema.text)}, {options})")
    made = f"CASE substring({raw}, 1, {HEAD_BYTES}) {' '.join(branches)} END"
    signs = [f"{name} IS NULL", *(f"{name}.{quoted_name(field)} IS NULL" for field in required)]
    typed = tuple(
        (field, Typed(_widened(f"{name}.{quoted_name(field)}", kind), _TYPES[kind][0], finite=False))
        for field, (kind, _) in fields.items()
    )
    bad = f"({raw} IS NOT NULL AND ({' OR '.join(signs)}))"
    return made, bad, Typed("", SqlType.STRUCT, fields=typed, is_null=f"({raw} IS NULL)")


def write_avro(serde: Avro, value: Typed) -> str:
    """The bytes that the serde would write."""
    if serde.schema is None or serde.use_latest_version or serde.schema_id is not None:
        raise NoNativeForm("has no schema of its own to write with")
    if value.type is not SqlType.STRUCT:
        raise NoNativeForm(f"is given what is {value.type.value}, and a record is needed")
    parts = []
    for field, (kind, nullable) in _fields(serde.schema).items():
        given, (wanted, spark) = value.field(field), _TYPES[kind]
        if given.type is not wanted and not (given.type is SqlType.NULL and nullable):
            raise NoNativeForm(f"is given a field '{field}' that is {given.type.value} and not {wanted.value}")
        parts.append(f"{text_literal(field)}, CAST({given.sql} AS {spark})")
    subject = serde.subject_for(serde.schema)
    schema = _asked(serde, lambda client: client.lookup(subject, serde.schema or "", normalize=serde.normalize))
    _plain(schema)
    made = f"concat({_binary(schema.id)}, to_avro(named_struct({', '.join(parts)}), {text_literal(serde.schema)}))"
    return f"CASE WHEN NOT {value.is_null} THEN {made} END" if value.is_null else made


def _versions(serde: Avro) -> list[RegisteredSchema]:
    """Every schema that records of this topic may have by now."""
    subject = serde.subject_for(serde.schema or serde.reader_schema)
    numbers = _asked(serde, lambda client: client.versions(subject))
    found = {}
    for number in numbers:
        schema = _asked(serde, partial(RegistryClient.version, subject=subject, version=number))
        _plain(schema)
        found[schema.id] = schema
    return list(found.values())


def _plain(schema: RegisteredSchema) -> None:
    if schema.type != "AVRO":
        raise NoNativeForm(f"meets the schema {schema.id}, which is {schema.type}")
    if schema.references or schema.rule_set:
        raise NoNativeForm(f"meets the schema {schema.id}, which has {'references' if schema.references else 'rules'}")


def _asked(serde: Avro, question: Callable[[RegistryClient], T]) -> T:
    try:
        return question(serde.client)
    except RegistryError as error:
        raise NoNativeForm(f"needs its schemas from the registry, which says: {error.message.rstrip('.')}") from None


def _fields(text: str) -> dict[str, tuple[str, bool]]:
    """Name → type, whether it may be null."""
    schema = orjson.loads(text)
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise NoNativeForm("is no record")
    fields = {}
    for field in schema["fields"]:
        kind, nullable = field["type"], False
        if isinstance(kind, list) and len(kind) == 2 and "null" in kind:
            kind, nullable = next(each for each in kind if each != "null"), True
        if not isinstance(kind, str) or kind not in _TYPES:
            raise NoNativeForm(f"has the field '{field['name']}', which is no plain text, number or boolean")
        fields[field["name"]] = kind, nullable
    return fields


def _widened(sql: str, kind: str) -> str:
    return f"CAST({sql} AS {_TYPES[kind][0].value})" if kind in ("int", "float") else sql


def _binary(id: int) -> str:
    return f"X'{head(id).hex().upper()}'"
