"""The JSON objects that statements answer with, as ksqlDB's REST API has them. Only their form; what is in them is the
statements' to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from caudal.ksql import types
from caudal.ksql.schema import Column, Place, Schema
from caudal.ksql.sources import Source
from caudal.ksql.types import SqlType

Entity = dict[str, Any]


def entity(kind: str, statement: str, warnings: Iterable[str] = (), **fields: Any) -> Entity:
    return {
        "@type": kind,
        "statementText": statement,
        **fields,
        "warnings": [{"message": warning} for warning in warnings],
    }


def current_status(
    statement: str,
    command: tuple[str, str, str],
    message: str,
    number: int,
    *,
    query_id: str | None = None,
    warnings: Iterable[str] = (),
) -> Entity:
    """`command` is (type, entity, action): ("stream", "ORDERS", "create"). Ours are done when they are answered."""
    return entity(
        "currentStatus",
        statement,
        warnings,
        commandId=command_id(command),
        commandStatus={"status": "SUCCESS", "message": message, "queryId": query_id},
        commandSequenceNumber=number,
    )


def command_id(command: tuple[str, str, str]) -> str:
    """
    >>> command_id(("stream", "ORDERS", "create"))
    'stream/`ORDERS`/create'
    """
    kind, name, action = command
    shown = name if kind in ("terminate", "pause", "resume", "cluster") else f"`{name}`"
    return f"{kind}/{shown}/{action}"


def warning(statement: str, message: str) -> Entity:
    return entity("warning_entity", statement, message=message)


def type_info(type: SqlType) -> dict[str, Any]:
    """
    >>> type_info(types.array(types.INTEGER))["memberSchema"]["type"]
    'INTEGER'
    """
    fields = None
    member = None
    if isinstance(type, types.Struct):
        fields = [{"name": field.name, "schema": type_info(field.type)} for field in type.fields]
    elif isinstance(type, types.Array):
        member = type_info(type.element)
    elif isinstance(type, types.Map):
        member = type_info(type.value)
    info: dict[str, Any] = {"type": type.base.value, "fields": fields, "memberSchema": member}
    if isinstance(type, types.Decimal):
        info["parameters"] = {"precision": type.precision, "scale": type.scale}
    if isinstance(type, types.Map):
        info["keySchema"] = type_info(type.key)  # ours: ksqlDB's maps in formats have text keys
    return info


def field_info(column: Column) -> dict[str, Any]:
    info: dict[str, Any] = {"name": column.name, "schema": type_info(column.type)}
    if column.place is Place.KEY:
        info["type"] = "KEY"
    elif column.place is Place.HEADERS:
        info["type"] = "HEADER"
        if column.header is not None:
            info["headerKey"] = column.header
    return info


def fields(schema: Schema) -> list[dict[str, Any]]:
    return [field_info(column) for column in schema]


def source_line(source: Source) -> dict[str, Any]:
    """A line of SHOW STREAMS and SHOW TABLES."""
    return {
        "type": source.kind.value,
        "name": source.name,
        "topic": source.topic,
        "keyFormat": source.key_format.name,
        "valueFormat": source.value_format.name,
        "isWindowed": source.window is not None,
    }


def query_line(
    query_id: str,
    sql: str,
    kind: str,
    state: str,
    *,
    sinks: Sequence[str] = (),
    topics: Sequence[str] = (),
    more: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A line of SHOW QUERIES."""
    return {
        "queryString": sql,
        "sinks": list(sinks),
        "sinkKafkaTopics": list(topics),
        "id": query_id,
        "statusCount": {state: 1},
        "queryType": kind,
        "state": state,
        **(more or {}),
    }
