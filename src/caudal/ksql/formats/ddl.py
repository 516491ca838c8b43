"""CREATE STREAM and CREATE TABLE as a `Source`, and ALTER … ADD COLUMN: ksqlDB's rules for columns, keys and formats.

Whether the topic is there, and whether the name is taken, are the engine's questions: nothing here asks the broker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from caudal.ksql import types
from caudal.ksql.catalog import Catalog
from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.formats.inference import can_infer, inferred_columns
from caudal.ksql.formats.properties import (
    WRAP_SINGLE_VALUES,
    Where,
    With,
    formats_of,
    read_with,
    window_of,
)
from caudal.ksql.formats.schemas import Schemas
from caudal.ksql.formats.serdes import check_columns
from caudal.ksql.formats.timestamps import timestamp_extractor
from caudal.ksql.schema import RESERVED, Column, Place, Schema
from caudal.ksql.sources import Format, OnError, Source, SourceKind
from caudal.ksql.syntax.parser import resolve_type
from caudal.ksql.syntax.statements import AlterSource, ColumnDefinition, CreateSource

HEADERS_TYPE = types.array(types.struct(("KEY", types.STRING), ("VALUE", types.BYTES)))
_WRAPPABLE = ("JSON", "JSON_SR", "AVRO")


def source_of(
    statement: CreateSource,
    catalog: Catalog,
    *,
    registry: Schemas | None = None,
    statement_properties: Mapping[str, Any] | None = None,
) -> Source:
    """The source that the statement declares; columns that it leaves out come from the registry."""
    settings = statement_properties or {}
    found = read_with(statement.properties, Where.CREATE, statement.kind)
    key_format, value_format = formats_of(found, statement.name, settings)
    topic: str = found.get("KAFKA_TOPIC")
    declared = _declared(statement.columns, statement.kind, catalog)
    at = {definition.name: definition.at for definition in statement.columns}
    columns = _completed(declared, key_format, value_format, topic, registry, found)
    if not columns:
        raise KsqlError("The statement does not define any columns.", statement.at)
    schema = Schema(columns)
    if statement.kind is SourceKind.TABLE and not schema.key:
        raise KsqlError("Tables require a PRIMARY KEY. Please define the PRIMARY KEY.", statement.at)
    value_format = _wrapping(value_format, schema, settings)
    check_formats(key_format, value_format, schema, at, found)
    window = window_of(found)
    if window is not None and not schema.key:
        raise found.problem("Windowed sources require a key column.", "WINDOW_TYPE")
    timestamp_extractor(
        schema,
        found.get("TIMESTAMP"),
        found.get("TIMESTAMP_FORMAT"),
        at=found.at.get("TIMESTAMP"),
        format_at=found.at.get("TIMESTAMP_FORMAT"),
    )
    return Source(
        name=statement.name,
        kind=statement.kind,
        schema=schema,
        topic=topic,
        key_format=key_format,
        value_format=value_format,
        window=window,
        timestamp_column=found.get("TIMESTAMP"),
        timestamp_format=found.get("TIMESTAMP_FORMAT"),
        is_source=statement.is_source,
        on_error=OnError(statement.on_error or "SKIP"),
        ttl=found.get("TTL"),
        statement=statement.text,
        properties={one.name.upper(): one.value for one in statement.properties},
    )


def check_formats(
    key_format: Format,
    value_format: Format,
    schema: Schema,
    at: Mapping[str, Position] | None = None,
    found: With | None = None,
) -> None:
    """KsqlError where the formats cannot hold the columns. For sinks as well."""
    places = dict(at or {})
    if found is not None and "WRAP_SINGLE_VALUE" in found.at:
        places[""] = found.at["WRAP_SINGLE_VALUE"]
    check_columns(key_format, schema.key, is_key=True, at=places)
    check_columns(value_format, schema.value, is_key=False, at=places)


def altered(source: Source, statement: AlterSource, catalog: Catalog) -> Source:
    """The source with the columns that ALTER … ADD COLUMN names behind its own."""
    kind = source.kind.value.lower()
    if statement.kind is not source.kind:
        raise KsqlError(
            f"Incompatible data source type is {source.kind.value}, but statement was ALTER {statement.kind.value}.",
            statement.at,
        )
    if source.query_id is not None:
        raise KsqlError("ALTER command is not supported for CREATE ... AS statements.", statement.at)
    if source.is_source:
        raise KsqlError(
            f"Cannot alter {kind} '{source.name}': ALTER operations are not supported on source {kind}s.", statement.at
        )
    if "schema_id" in dict(source.key_format.properties) or "schema_id" in dict(source.value_format.properties):
        raise KsqlError(
            f"Cannot alter {kind} '{source.name}': its columns are those of a schema that it was given by id.",
            statement.at,
        )
    known = set(source.schema.names())
    added = []
    for definition in statement.columns:
        if definition.place is not Place.VALUE:
            raise KsqlError(f"Cannot add column {_shown(definition)}: only value columns can be added.", definition.at)
        if definition.name in known:
            raise KsqlError(
                f"Cannot add column {_shown(definition)} to schema. A column with the same name already exists.",
                definition.at,
            )
        _check_name(definition)
        known.add(definition.name)
        added.append(Column(definition.name, _type(definition, catalog)))
    schema = Schema((*source.schema.columns, *added))
    at = {definition.name: definition.at for definition in statement.columns}
    value_format = source.value_format
    if value_format.wrapped is False:
        raise KsqlError(
            f"Cannot alter {kind} '{source.name}': its single value is not wrapped (WRAP_SINGLE_VALUE=false), so that "
            "there is no place for another column.",
            statement.columns[0].at,
        )
    value_format = replace(value_format, wrapped=None)
    check_formats(source.key_format, value_format, schema, at)
    return replace(source, schema=schema, value_format=value_format)


# -- columns -----------------------------------------------------------------------------------------------------------


def _declared(definitions: Sequence[ColumnDefinition], kind: SourceKind, catalog: Catalog) -> list[Column]:
    columns: list[Column] = []
    names: set[str] = set()
    headers: dict[str | None, ColumnDefinition] = {}
    for definition in definitions:
        _check_name(definition)
        if definition.name in names:
            raise KsqlError(f"Duplicate column names: {_shown(definition)}.", definition.at)
        names.add(definition.name)
        type = _type(definition, catalog)
        if definition.place is Place.KEY:
            _check_key(definition, kind)
        if definition.place is Place.HEADERS:
            _check_header(definition, type, headers)
        columns.append(Column(definition.name, type, definition.place, definition.header))
    return columns


def _shown(definition: ColumnDefinition) -> str:
    return f"`{definition.name}`"


def _check_name(definition: ColumnDefinition) -> None:
    if definition.name in RESERVED:
        raise KsqlError(
            f"'{definition.name}' is a reserved column name. You cannot use it as a name for a column.", definition.at
        )


def _type(definition: ColumnDefinition, catalog: Catalog) -> types.SqlType:
    return resolve_type(definition.type, catalog.type)


def _check_key(definition: ColumnDefinition, kind: SourceKind) -> None:
    if kind is SourceKind.STREAM and definition.primary:
        raise KsqlError(
            f"Column {_shown(definition)} is a 'PRIMARY KEY' column: please use 'KEY' for streams.", definition.at
        )
    if kind is SourceKind.TABLE and not definition.primary:
        raise KsqlError(
            f"Column {_shown(definition)} is a 'KEY' column: please use 'PRIMARY KEY' for tables.", definition.at
        )


def _check_header(
    definition: ColumnDefinition, type: types.SqlType, headers: dict[str | None, ColumnDefinition]
) -> None:
    name = definition.header
    needed = HEADERS_TYPE if name is None else types.BYTES
    what = "HEADERS" if name is None else f"HEADER('{name}')"
    if type != needed:
        raise KsqlError(f"Invalid type for {what} column: expected {needed}, got {type}.", definition.at)
    if name in headers:
        raise KsqlError(f"Schema already contains a {what} column.", definition.at)
    if None in headers or (name is None and headers):
        other = headers.get(None, next(iter(headers.values())))
        shown = "HEADERS" if other.header is None else f"HEADER('{other.header}')"
        raise KsqlError(f"Schema already contains a {shown} column: HEADERS has all of them.", definition.at)
    headers[name] = definition


def _completed(
    declared: list[Column],
    key_format: Format,
    value_format: Format,
    topic: str,
    registry: Schemas | None,
    found: With,
) -> tuple[Column, ...]:
    """The columns with those of the registry where keys or values have none of their own."""
    made: list[Column] = []
    for format, is_key, part in ((key_format, True, "KEY"), (value_format, False, "VALUE")):
        own = [column for column in declared if (column.place is Place.KEY) == is_key]
        named = [column for column in own if column.place is not Place.HEADERS]
        id = found.get(f"{part}_SCHEMA_ID")
        if named and id is not None:
            raise found.problem(
                f"Table elements and {part}_SCHEMA_ID cannot both exist for create statement.", f"{part}_SCHEMA_ID"
            )
        if named or not can_infer(format):
            continue
        at = (f"{part}_SCHEMA_ID", f"{part}_FORMAT", "FORMAT")
        try:
            made += inferred_columns(format, topic, registry, is_key=is_key)
        except KsqlError as error:
            raise found.problem(error.message, *at) from None
    names = {column.name for column in declared}
    for column in made:
        if column.name in names:
            raise KsqlError(
                f"The schema of the registry has a column `{column.name}` that the statement names as well; name all "
                "columns in the statement, or give the others another name."
            )
        if column.name in RESERVED:
            raise KsqlError(f"'{column.name}' is a reserved column name, and the schema of the registry has it.")
        names.add(column.name)
    keys = [column for column in made if column.place is Place.KEY]
    return (*keys, *declared, *(column for column in made if column.place is not Place.KEY))


def _wrapping(format: Format, schema: Schema, settings: Mapping[str, Any]) -> Format:
    """The server's habit for single columns, where the statement says nothing and the format leaves the choice."""
    habit = settings.get(WRAP_SINGLE_VALUES)
    unwraps = habit is False or str(habit).lower() == "false"
    if format.wrapped is None and unwraps and len(schema.written) == 1 and format.name in _WRAPPABLE:
        return replace(format, wrapped=False)
    return format
