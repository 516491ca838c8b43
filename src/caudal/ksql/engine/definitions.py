"""Sources, types and queries as JSON, and back: what the command topic keeps. Types are written as SQL has them."""

from __future__ import annotations

from typing import Any

from caudal.ksql.catalog import PersistentQuery, QueryKind, Wanted
from caudal.ksql.schema import Column, Place, Schema
from caudal.ksql.sources import Format, OnError, Source, SourceKind, Window, WindowKind
from caudal.ksql.syntax.names import written_type
from caudal.ksql.syntax.parser import parse_type
from caudal.ksql.types import SqlType


class BrokenDefinition(Exception):
    """A definition that cannot be read; one sentence."""


def type_data(type: SqlType) -> str:
    return written_type(type)


def read_type(data: Any) -> SqlType:
    try:
        found = parse_type(data)
    except Exception as error:
        raise BrokenDefinition(f"{data!r} is not a type: {error}") from None
    if not isinstance(found, SqlType):
        raise BrokenDefinition(f"{data!r} is not a built-in type")
    return found


def source_data(source: Source) -> dict[str, Any]:
    """
    >>> from caudal.ksql.types import STRING
    >>> made = Source("S", SourceKind.STREAM, Schema((Column("A", STRING),)), "s", Format("KAFKA"), Format("JSON"))
    >>> read_source(source_data(made)) == made
    True
    """
    return {
        "name": source.name,
        "kind": source.kind.value,
        "columns": [
            {
                "name": column.name,
                "type": type_data(column.type),
                "place": column.place.value,
                **({"header": column.header} if column.header is not None else {}),
            }
            for column in source.schema
        ],
        "topic": source.topic,
        "key_format": _format_data(source.key_format),
        "value_format": _format_data(source.value_format),
        "window": {"kind": source.window.kind.value, "size": source.window.size} if source.window else None,
        "timestamp_column": source.timestamp_column,
        "timestamp_format": source.timestamp_format,
        "is_source": source.is_source,
        "query_id": source.query_id,
        "on_error": source.on_error.value,
        "ttl": source.ttl,
        "retention": source.retention,
        "statement": source.statement,
        "properties": dict(source.properties),
    }


def read_source(data: Any) -> Source:
    try:
        window = data.get("window")
        return Source(
            name=data["name"],
            kind=SourceKind(data["kind"]),
            schema=Schema(
                tuple(
                    Column(each["name"], read_type(each["type"]), Place(each["place"]), each.get("header"))
                    for each in data["columns"]
                )
            ),
            topic=data["topic"],
            key_format=_read_format(data["key_format"]),
            value_format=_read_format(data["value_format"]),
            window=Window(WindowKind(window["kind"]), window.get("size")) if window else None,
            timestamp_column=data.get("timestamp_column"),
            timestamp_format=data.get("timestamp_format"),
            is_source=bool(data.get("is_source", False)),
            query_id=data.get("query_id"),
            on_error=OnError(data.get("on_error", "SKIP")),
            ttl=data.get("ttl"),
            retention=data.get("retention"),
            statement=data.get("statement", ""),
            properties=dict(data.get("properties", {})),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise BrokenDefinition(f"not the definition of a stream or table ({type(error).__name__}: {error})") from None


def _format_data(format: Format) -> dict[str, Any]:
    return {"name": format.name, "properties": dict(format.properties), "wrapped": format.wrapped}


def _read_format(data: Any) -> Format:
    return Format(data["name"], tuple(data.get("properties", {}).items()), data.get("wrapped"))


def query_data(query: PersistentQuery) -> dict[str, Any]:
    return {
        "id": query.id,
        "sql": query.sql,
        "kind": query.kind.value,
        "sink": query.sink,
        "sink_topic": query.sink_topic,
        "sources": list(query.sources),
        "read": [source_data(source) for source in query.read],
        "properties": dict(query.properties),
        "wanted": query.wanted.value,
        "version": query.version,
    }


def read_query(data: Any) -> PersistentQuery:
    try:
        return PersistentQuery(
            id=data["id"],
            sql=data["sql"],
            kind=QueryKind(data["kind"]),
            sink=data["sink"],
            sink_topic=data["sink_topic"],
            sources=tuple(data["sources"]),
            read=tuple(read_source(each) for each in data.get("read", ())),
            properties=dict(data.get("properties", {})),
            wanted=Wanted(data.get("wanted", "RUNNING")),
            version=int(data.get("version", 1)),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise BrokenDefinition(f"not the definition of a query ({type(error).__name__}: {error})") from None
