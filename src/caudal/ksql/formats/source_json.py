"""A source as JSON data and back: what the command topic and its backups carry."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from caudal.ksql.formats.types_json import columns_from_json, columns_to_json
from caudal.ksql.schema import Schema
from caudal.ksql.sources import Format, OnError, Source, SourceKind, Window, WindowKind


def source_to_json(source: Source) -> dict[str, Any]:
    """JSON-ready data; settings that are as usual are left out."""
    made: dict[str, Any] = {
        "name": source.name,
        "kind": source.kind.value,
        "columns": columns_to_json(source.schema.columns),
        "topic": source.topic,
        "key_format": format_to_json(source.key_format),
        "value_format": format_to_json(source.value_format),
        "window": None if source.window is None else [source.window.kind.value, source.window.size],
        "timestamp_column": source.timestamp_column,
        "timestamp_format": source.timestamp_format,
        "is_source": source.is_source,
        "query_id": source.query_id,
        "on_error": source.on_error.value,
        "ttl": source.ttl,
        "retention": source.retention,
        "statement": source.statement,
        "properties": {name: _plain(value) for name, value in source.properties.items()},
    }
    return {name: value for name, value in made.items() if value not in (None, False, {})}


def source_from_json(data: dict[str, Any]) -> Source:
    window = data.get("window")
    return Source(
        name=data["name"],
        kind=SourceKind(data["kind"]),
        schema=Schema(columns_from_json(data["columns"])),
        topic=data["topic"],
        key_format=format_from_json(data["key_format"]),
        value_format=format_from_json(data["value_format"]),
        window=None if window is None else Window(WindowKind(window[0]), window[1]),
        timestamp_column=data.get("timestamp_column"),
        timestamp_format=data.get("timestamp_format"),
        is_source=data.get("is_source", False),
        query_id=data.get("query_id"),
        on_error=OnError(data.get("on_error", "SKIP")),
        ttl=data.get("ttl"),
        retention=data.get("retention"),
        statement=data.get("statement", ""),
        properties=dict(data.get("properties", {})),
    )


def format_to_json(format: Format) -> dict[str, Any]:
    made: dict[str, Any] = {"name": format.name}
    if format.properties:
        made["properties"] = dict(format.properties)
    if format.wrapped is not None:
        made["wrapped"] = format.wrapped
    return made


def format_from_json(data: dict[str, Any]) -> Format:
    return Format(data["name"], tuple(data.get("properties", {}).items()), data.get("wrapped"))


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal) else value
