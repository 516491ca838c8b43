"""Sources, types and queries as JSON, and back: what the command topic keeps. What a source is made of is written by
`formats/source_json.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from caudal.ksql.catalog import PersistentQuery, QueryKind, Wanted
from caudal.ksql.formats.source_json import source_from_json, source_to_json
from caudal.ksql.formats.types_json import type_from_json, type_to_json
from caudal.ksql.sources import Source
from caudal.ksql.types import SqlType

_T = TypeVar("_T")


class BrokenDefinition(Exception):
    """A definition that cannot be read; one sentence."""


def type_data(type: SqlType) -> Any:
    return type_to_json(type)


def read_type(data: Any) -> SqlType:
    return _read("a type", type_from_json, data)


def source_data(source: Source) -> dict[str, Any]:
    return source_to_json(source)


def read_source(data: Any) -> Source:
    return _read("a stream or table", source_from_json, data)


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
    return _read("a query", _query, data)


def _query(data: Any) -> PersistentQuery:
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


def _read(what: str, read: Callable[[Any], _T], data: Any) -> _T:
    try:
        return read(data)
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise BrokenDefinition(f"not the definition of {what} ({type(error).__name__}: {error})") from None
