"""Where a query's result goes: topic, formats (the leftmost source's unless the statement says otherwise), the rows'
time, and the last node.

Push queries write rows as they are (`Format("ROWS")`: row_serde) to a topic that only their host sees.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.expressions.scope import Where as Place
from caudal.ksql.formats.ddl import check_formats
from caudal.ksql.formats.properties import DEFAULT_KEY_FORMAT, Where, formats_of, read_with
from caudal.ksql.formats.serdes import key_serde, row_serde, value_serde
from caudal.ksql.formats.timestamps import timestamp_extractor
from caudal.ksql.planner import validation
from caudal.ksql.planner.flow import Flow
from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.planner.planned import Sink
from caudal.ksql.planner.row_functions import ByPlainKey, KeyColumns
from caudal.ksql.schema import Column, Schema
from caudal.ksql.schema import Place as ColumnPlace
from caudal.ksql.sources import Format, Source
from caudal.plan import steps
from caudal.plan.functions import Function
from caudal.streams.stream import KStream

ROWS = Format("ROWS")


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


def created(flow: Flow, sink: Sink, leftmost: Source, properties: Mapping[str, Any], at: Position | None) -> Target:
    """The target of CREATE … AS SELECT; what its WITH clause says wrong is said of the property, or of the query."""
    try:
        return _created(flow, sink, leftmost, properties)
    except KsqlError as error:
        error.at = error.at or at
        raise


def _created(flow: Flow, sink: Sink, leftmost: Source, properties: Mapping[str, Any]) -> Target:
    given = read_with(sink.properties, Where.CREATE_AS, sink.kind)
    schema = result_schema(flow)
    key, value = leftmost.key_format, dataclasses.replace(leftmost.value_format, wrapped=None)
    if not schema.key:
        explicit = given.get("KEY_FORMAT")
        if explicit not in (None, "NONE"):
            raise given.problem("Key format specified for stream without key columns.", "KEY_FORMAT")
        key = Format("NONE")
    elif key.name == "NONE":
        key = Format(str(properties.get(DEFAULT_KEY_FORMAT) or "KAFKA").upper())
    named, value_format = formats_of(given, sink.name, properties, (key, value))
    key_format = named if schema.key else key
    if key_format.name == "KAFKA" and len(schema.key) > 1 and given.get("KEY_FORMAT") is None:
        raise KsqlError(
            "The 'KAFKA' format only supports a single field, and the result's key has "
            f"{len(schema.key)} columns: set the key format of the result, for example WITH (KEY_FORMAT='JSON')."
        )
    check_formats(key_format, value_format, schema, found=given)
    column, pattern = given.get("TIMESTAMP"), given.get("TIMESTAMP_FORMAT")
    places = given.at.get("TIMESTAMP"), given.at.get("TIMESTAMP_FORMAT")
    timestamp_extractor(schema, column, pattern, at=places[0], format_at=places[1])
    topic = given.get("KAFKA_TOPIC") or sink.name
    return Target(topic, schema, key_format, value_format, column, pattern)


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
        partitioner=None if flow.window is None else ByPlainKey(key_serde(target.key_format, target.schema.key)),
    )
    return LogicalStep("SINK", target.schema, target.topic, (flow.logical,), name)


def _timed(stream: KStream, flow: Flow, target: Target) -> KStream:
    schema = result_schema(flow)
    extractor = timestamp_extractor(
        schema, target.timestamp_column, target.timestamp_format, is_windowed=flow.window is not None
    )
    if extractor is None:
        return stream
    step = steps.SetTimestamp(Function(extractor, sql=target.timestamp_column))
    return stream._then("KSTREAM-TRANSFORMVALUES", step, None, value=stream._value)


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
