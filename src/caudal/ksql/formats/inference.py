"""Columns from the schemas of the registry, where a statement names none.

A key's schema is taken whole, as the one column ROWKEY (Protobuf, which always has a message around, gives a column per
field). A value's fields are the columns; a value that is no record needs WRAP_SINGLE_VALUE=false, and is ROWVAL. Names
are upper case, as identifiers without quotes are; with a schema's id they stay as they are.
"""

from __future__ import annotations

from typing import Any

import orjson

from caudal.ksql import types
from caudal.ksql.errors import KsqlError
from caudal.ksql.formats.schemas import Schemas, subject_of
from caudal.ksql.formats.serdes import REGISTRY_FORMATS
from caudal.ksql.schema import Column, Place
from caudal.ksql.sources import Format
from caudal.ksql.types import SqlType
from caudal.registry.client import RegisteredSchema

ROWKEY, ROWVAL = "ROWKEY", "ROWVAL"


def can_infer(format: Format) -> bool:
    return format.name in REGISTRY_FORMATS


def inferred_columns(format: Format, topic: str, schemas: Schemas | None, *, is_key: bool) -> tuple[Column, ...]:
    what = "keys" if is_key else "values"
    if schemas is None:
        raise KsqlError(
            f"The columns of the {what} would be those of the schema registry, and the server has none: name the "
            "columns in the statement, or start the server with a registry."
        )
    properties = dict(format.properties)
    id = properties.get("schema_id")
    found = schemas.latest(subject_of(topic, is_key)) if id is None else schemas.by_id(id)
    if found is None:
        raise KsqlError(_missing(topic, id, what, subject_of(topic, is_key)))
    if found.type != REGISTRY_FORMATS[format.name]:
        raise KsqlError(
            f"{'Key' if is_key else 'Value'} schema on topic '{topic}' is {found.type}, and the format is "
            f"{format.name}, which needs {REGISTRY_FORMATS[format.name]}."
        )
    name = properties.get("full_schema_name") if format.name == "PROTOBUF" else None
    try:
        type = _type(found, schemas, id is None, name)
    except KsqlError as error:
        raise KsqlError(f"Unable to use the schema of the {what} on topic '{topic}': {error.message}") from None
    return _columns(type, format, is_key)


def _missing(topic: str, id: int | None, what: str, subject: str) -> str:
    if id is not None:
        return f"Schema for message {what} on topic '{topic}' does not exist in the Schema Registry. Schema Id: {id}."
    return (
        f"Schema for message {what} on topic '{topic}' does not exist in the Schema Registry. Subject: {subject}. "
        "Name the columns in the statement, or register a schema for the subject."
    )


def _columns(type: SqlType, format: Format, is_key: bool) -> tuple[Column, ...]:
    place = Place.KEY if is_key else Place.VALUE
    unwrapped = format.name != "PROTOBUF" and (is_key or format.wrapped is False)
    if unwrapped:
        return (Column(ROWKEY if is_key else ROWVAL, type, place),)
    if not isinstance(type, types.Struct):
        raise KsqlError(
            "Schema returned from schema registry is anonymous type. To use this schema with ksqlDB, set "
            "'WRAP_SINGLE_VALUE=false' in the WITH clause properties."
        )
    return tuple(Column(field.name, field.type, place) for field in type.fields)


def _type(found: RegisteredSchema, schemas: Schemas, upper: bool, message: str | None) -> SqlType:
    if found.type == "AVRO":
        from caudal.ksql.formats.avro_schema import sql_type_with

        others = [_parsed(other.text) for _, other in _referenced(found, schemas)]
        return sql_type_with(_parsed(found.text), others, upper)
    if found.type == "JSON":
        from caudal.ksql.formats import json_schema

        documents = {name: _parsed(other.text) for name, other in _referenced(found, schemas)}
        return json_schema.sql_type(_parsed(found.text), upper, documents)
    return _protobuf(found, schemas, upper, message)


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return text  # a bare name such as string


def _referenced(found: RegisteredSchema, schemas: Schemas) -> list[tuple[str, RegisteredSchema]]:
    """The schemas it refers to, theirs first."""
    result: dict[str, RegisteredSchema] = {}

    def add(schema: RegisteredSchema) -> None:
        for name, subject, version in schema.references:
            if name not in result:
                other = schemas.version(subject, version)
                if other is None:
                    raise KsqlError(f"it refers to version {version} of '{subject}', which is not there.")
                add(other)
                result[name] = other

    add(found)
    return list(result.items())


def _protobuf(found: RegisteredSchema, schemas: Schemas, upper: bool, message: str | None) -> SqlType:
    from base64 import b64decode

    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool

    from caudal.ksql.formats import protobuf_schema
    from caudal.registry.schemas.parse import parse
    from caudal.registry.schemas.schema import InvalidSchema, ParsedSchema, Resolved
    from caudal.serde.protobuf import _add_well_known, _named
    from caudal.serde.serde import SerdeError

    def parsed(schema: RegisteredSchema) -> ParsedSchema:
        resolved = []
        for reference in schema.references:
            other = schemas.version(reference.subject, reference.version)
            if other is None:
                raise KsqlError(
                    f"it refers to version {reference.version} of '{reference.subject}', which is not there."
                )
            resolved.append(Resolved(reference, parsed(other)))
        return parse("PROTOBUF", schema.text, resolved)

    pool, added = DescriptorPool(), set[str]()

    def add(schema: RegisteredSchema, name: str) -> None:
        proto = FileDescriptorProto.FromString(b64decode(parsed(schema).formatted("serialized")))
        proto.name = name
        for path in proto.dependency:
            if path not in added:
                added.add(path)
                _add_well_known(pool, path, added)
        added.add(name)
        pool.Add(proto)

    try:
        others = _referenced(found, schemas)
        added.update(name for name, _ in others)
        for name, other in others:
            add(other, name)
        add(found, "inferred.proto")
        file = pool.FindFileByName("inferred.proto")
        if not file.message_types_by_name:
            raise KsqlError("it has no message.")
        first = next(iter(file.message_types_by_name.values()))
        return protobuf_schema.sql_type(first if message is None else _named(file, message), upper)
    except (InvalidSchema, SerdeError, TypeError, ValueError) as error:
        raise KsqlError(" ".join(str(error).split())) from None
