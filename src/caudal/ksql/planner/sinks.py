"""Where a query's result goes: topic, formats (the leftmost source's unless the statement says otherwise), the rows'
time, and the last node.

Push queries write rows as they are (`Format("ROWS")`: row_serde) to a topic that only their host sees.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from caudal.ksql.errors import KsqlError, Position, suggestion
from caudal.ksql.expressions.scope import Where as Place
from caudal.ksql.formats.serdes import FORMATS, check_columns, key_serde, row_serde, value_serde
from caudal.ksql.planner import validation
from caudal.ksql.planner.flow import Flow
from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.planner.planned import Sink
from caudal.ksql.planner.reading import timestamp_of
from caudal.ksql.planner.row_functions import KeyColumns
from caudal.ksql.schema import Column, Schema
from caudal.ksql.schema import Place as ColumnPlace
from caudal.ksql.sources import Format, Source
from caudal.plan import steps
from caudal.plan.functions import Function
from caudal.streams.stream import KStream

ROWS = Format("ROWS")
_INHERITED = {"DELIMITED": ("delimiter",), "PROTOBUF": ("nullable",), "PROTOBUF_NOSR": ("nullable",)}
# What may stand in the WITH clause of CREATE … AS SELECT; those of the topic and TTL are the engine's to use.
PROPERTIES = frozenset(
    {
        "KAFKA_TOPIC",
        "PARTITIONS",
        "REPLICAS",
        "RETENTION_MS",
        "FORMAT",
        "KEY_FORMAT",
        "VALUE_FORMAT",
        "KEY_DELIMITER",
        "VALUE_DELIMITER",
        "TIMESTAMP",
        "TIMESTAMP_FORMAT",
        "WRAP_SINGLE_VALUE",
        "KEY_SCHEMA_ID",
        "VALUE_SCHEMA_ID",
        "KEY_SCHEMA_FULL_NAME",
        "VALUE_SCHEMA_FULL_NAME",
        "VALUE_AVRO_SCHEMA_FULL_NAME",
        "KEY_PROTOBUF_NULLABLE_REPRESENTATION",
        "VALUE_PROTOBUF_NULLABLE_REPRESENTATION",
        "TTL",
        "QUERY_ID",
        "CLEANUP_POLICY",
    }
)


@dataclass(frozen=True, slots=True)
class Target:
    """What the result's source will be."""

    topic: str
    schema: Schema
    key_format: Format
    value_format: Format
    timestamp_column: str | None = None
    timestamp_format: str | None = None


def result_schema(flow: Flow) -> Schema:
    places = {Place.VALUE: ColumnPlace.VALUE}
    return Schema(tuple(Column(one.name, one.type, places.get(one.where, ColumnPlace.KEY)) for one in flow.columns))


# -- persistent queries ------------------------------------------------------------------------------------------------


def created(flow: Flow, sink: Sink, leftmost: Source, at: Position | None) -> Target:
    """The target of CREATE … AS SELECT."""
    given = dict(sink.properties)
    for name in given:
        if name not in PROPERTIES:
            raise KsqlError(f"Invalid config variable in the WITH clause: {name}.{suggestion(name, PROPERTIES)}", at)
    if "FORMAT" in given:
        for one in ("KEY_FORMAT", "VALUE_FORMAT"):
            if one in given:
                raise KsqlError(
                    f"Cannot supply both '{one}' and 'FORMAT' properties, as 'FORMAT' sets both key and value formats.",
                    at,
                )
        given["VALUE_FORMAT"] = given["FORMAT"]
        if flow.key:
            given["KEY_FORMAT"] = given["FORMAT"]
    schema = result_schema(flow)
    key_format = _key_format(flow, given, leftmost, at)
    value_format = _format("VALUE", given, leftmost.value_format, at)
    wrap = given.get("WRAP_SINGLE_VALUE")
    if wrap is not None:
        value_format = dataclasses.replace(value_format, wrapped=_boolean("WRAP_SINGLE_VALUE", wrap, at))
    try:
        check_columns(key_format, schema.key, is_key=True)
        check_columns(value_format, schema.value, is_key=False)
    except KsqlError as error:
        error.at = error.at or at
        raise
    column, pattern = given.get("TIMESTAMP"), given.get("TIMESTAMP_FORMAT")
    if pattern is not None and column is None:
        raise KsqlError("TIMESTAMP_FORMAT needs the column that it is about: add TIMESTAMP to the WITH clause.", at)
    return Target(
        str(given.get("KAFKA_TOPIC", sink.name)),
        schema,
        key_format,
        value_format,
        None if column is None else _column(str(column), schema, at),
        None if pattern is None else str(pattern),
    )


def _column(given: str, schema: Schema, at: Position | None) -> str:
    """Properties are text: a column's name as it is, or in the upper case that SQL would give it."""
    name = given.strip("`")
    for candidate in (name, name.upper()):
        if schema.find(candidate) is not None:
            return candidate
    raise KsqlError(
        f"The TIMESTAMP column set in the WITH clause does not exist in the schema: '{given}'."
        f"{suggestion(name, schema.names())}",
        at,
    )


def _key_format(flow: Flow, given: Mapping[str, object], leftmost: Source, at: Position | None) -> Format:
    if not flow.key:
        explicit = given.get("KEY_FORMAT")
        if explicit is not None and str(explicit).upper() != "NONE":
            raise KsqlError("Key format specified for stream without key columns.", at)
        return Format("NONE")
    inherited = leftmost.key_format
    if "KEY_FORMAT" not in given and inherited.name == "NONE":
        inherited = Format("KAFKA")
    if "KEY_FORMAT" not in given and inherited.name == "KAFKA" and len(flow.key) > 1:
        raise KsqlError(
            "The 'KAFKA' format only supports a single field, and the result's key has "
            f"{len(flow.key)} columns: set the key format of the result, for example WITH (KEY_FORMAT='JSON').",
            at,
        )
    return _format("KEY", given, inherited, at)


def _format(side: str, given: Mapping[str, object], inherited: Format, at: Position | None) -> Format:
    name = str(given.get(f"{side}_FORMAT", inherited.name)).upper()
    if name not in FORMATS:
        raise KsqlError(f"Unknown format: {name}.{suggestion(name, FORMATS)}", at)
    kept = _INHERITED.get(name, ()) if name == inherited.name else ()
    properties = {key: value for key, value in inherited.properties if key in kept}
    for ending, key in (
        ("DELIMITER", "delimiter"),
        ("SCHEMA_FULL_NAME", "full_schema_name"),
        ("AVRO_SCHEMA_FULL_NAME", "full_schema_name"),
        ("SCHEMA_ID", "schema_id"),
    ):
        if f"{side}_{ending}" in given:
            properties[key] = given[f"{side}_{ending}"]
    if f"{side}_DELIMITER" in given:
        if name != "DELIMITED":
            raise KsqlError(f"{name} does not support the following configs: [delimiter]", at)
        properties["delimiter"] = _delimiter(str(properties["delimiter"]), at)
    nullable = given.get(f"{side}_PROTOBUF_NULLABLE_REPRESENTATION")
    if nullable is not None:
        properties["nullable"] = str(nullable).lower()
    return Format(name, tuple(sorted(properties.items())))


def _delimiter(given: str, at: Position | None) -> str:
    named = {"SPACE": " ", "TAB": "\t"}.get(given, given)
    if len(named) != 1:
        raise KsqlError(
            f"Invalid delimiter value: '{given}'. Delimiter must be a single character or TAB or SPACE.", at
        )
    return named


def _boolean(name: str, given: object, at: Position | None) -> bool:
    text = str(given).lower()
    if text not in ("true", "false"):
        raise KsqlError(f"Invalid value '{given}' for property '{name}': must be true or false.", at)
    return text == "true"


def inserted(flow: Flow, target: Source, at: Position | None) -> Target:
    """The target of INSERT INTO: the stream as it is."""
    validation.insert_target(target, result_schema(flow), flow.window is not None, at)
    return Target(
        target.topic,
        target.schema,
        target.key_format,
        target.value_format,
        target.timestamp_column,
        target.timestamp_format,
    )


def written(flow: Flow, target: Target, name: str) -> LogicalStep:
    """Adds the sink."""
    stream = flow.changes
    stream = _timed(stream, flow, target)
    stream.to(
        target.topic,
        key=key_serde(target.key_format, target.schema.key, flow.window),
        value=value_serde(target.value_format, target.schema.written),
    )
    return LogicalStep("SINK", target.schema, target.topic, (flow.logical,), name)


def _timed(stream: KStream, flow: Flow, target: Target) -> KStream:
    schema = result_schema(flow)
    function = timestamp_of(schema, target.timestamp_column, target.timestamp_format, flow.window is not None)
    if function is None:
        return stream
    return stream._then("KSTREAM-TRANSFORMVALUES", steps.SetTimestamp(function), None, value=stream._value)


# -- push queries ------------------------------------------------------------------------------------------------------


def pushed(flow: Flow, topic: str) -> tuple[Schema, LogicalStep]:
    """Adds the sink of a push query: the key and window columns that it shows are the key, all others the value."""
    schema = result_schema(flow)
    stream = flow.changes
    codes = {Place.WINDOW_START: -1, Place.WINDOW_END: -2}
    indexes = tuple(codes.get(one.where, one.index) for one in flow.columns if one.where is not Place.VALUE)
    key_types = [column.type for column in schema.key]
    if flow.window is not None or indexes != tuple(range(len(flow.key))):
        function = Function(KeyColumns(indexes, flow.window is not None), sql="key")
        stream = stream.select_key(function, key=row_serde(key_types))
    stream.to(topic, key=row_serde(key_types), value=row_serde(flow.value_types))
    return schema, LogicalStep("SINK", schema, "", (flow.logical,), "KSQL_STDOUT_NAME")
