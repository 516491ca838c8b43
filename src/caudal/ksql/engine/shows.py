"""SHOW and LIST: what there is, as lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caudal.ksql.engine import properties
from caudal.ksql.engine.describes import persistent_line, query_description, source_description
from caudal.ksql.engine.entities import Entity, entity, query_line, source_line, type_info
from caudal.ksql.engine.handlers import Request, handles, text_of
from caudal.ksql.engine.queries import RUNNING
from caudal.ksql.errors import KsqlError
from caudal.ksql.functions.registry import SCALARS
from caudal.ksql.functions.resolution import kind, names
from caudal.ksql.sources import SourceKind
from caudal.ksql.syntax.statements import Show


@handles(Show)
def show(request: Request, statement: Show) -> Entity:
    shown = _SHOWN.get(statement.what)
    if shown is None:
        raise KsqlError(f"There is nothing called {statement.what} to show.", statement.at)
    return shown(request, statement)


def _streams(request: Request, statement: Show) -> Entity:
    return _sources(request, statement, SourceKind.STREAM)


def _tables(request: Request, statement: Show) -> Entity:
    return _sources(request, statement, SourceKind.TABLE)


def _sources(request: Request, statement: Show, wanted: SourceKind) -> Entity:
    catalog = request.engine.catalog
    found = sorted((one for one in catalog.sources.values() if one.kind is wanted), key=lambda one: one.name)
    if statement.extended:
        described = [source_description(request.engine, source, extended=True) for source in found]
        return entity("source_descriptions", text_of(statement), sourceDescriptions=described)
    name = "streams" if wanted is SourceKind.STREAM else "tables"
    return {**entity(name, text_of(statement)), name: [source_line(source) for source in found]}


def _queries(request: Request, statement: Show) -> Entity:
    engine = request.engine
    if statement.extended:
        described = [query_description(engine, definition) for definition in engine.catalog.queries.values()]
        return entity("queryDescriptions", text_of(statement), queryDescriptions=described)
    known = sorted(engine.catalog.queries.values(), key=lambda one: one.id)
    lines = [persistent_line(engine, definition) for definition in known]
    lines += [query_line(push.query_id, push.sql, "PUSH", RUNNING) for push in engine.push_queries.running()]
    return entity("queries", text_of(statement), queries=lines)


def _topics(request: Request, statement: Show) -> Entity:
    engine = request.engine
    found = engine.topics.all()
    if not statement.all:
        found = {name: topic for name, topic in found.items() if not is_internal(name)}
    lines: list[dict[str, Any]] = [{"name": name, "replicaInfo": topic.replicas} for name, topic in found.items()]
    if not statement.extended:
        return entity("kafka_topics", text_of(statement), topics=lines)
    consumers = engine.topics.consumers()
    for line in lines:
        line["consumerCount"], line["consumerGroupCount"] = consumers.get(line["name"], (0, 0))
    return entity("kafka_topics_extended", text_of(statement), topics=lines)


def is_internal(topic: str) -> bool:
    return topic.startswith("_") or topic in ("connect-configs", "connect-offsets", "connect-status")


def _properties(request: Request, statement: Show) -> Entity:
    engine = request.engine
    overridden = sorted(request.session)
    lines = []
    for name, known in sorted(properties.KNOWN.items()):
        value = request.properties[name]
        lines.append(
            {
                "name": name,
                "scope": "KSQL" if name.startswith("ksql.") else "EMBEDDED CONSUMER",
                "value": str(value).lower() if isinstance(value, bool) else str(value),
                "editable": known.editable,
                "level": "QUERY" if name in request.session else "SERVER",
            }
        )
    own = {
        "bootstrap.servers": engine.settings.bootstrap,
        "ksql.service.id": engine.settings.service_id,
        "ksql.connect.url": engine.settings.connect or "",
        "ksql.schema.registry.url": engine.settings.registry or "",
    }
    for line in lines:
        if line["name"] in own:
            line["value"] = own.pop(str(line["name"]))
    lines += [
        {"name": name, "scope": "KSQL", "value": value, "editable": False, "level": "SERVER"}
        for name, value in own.items()
    ]
    known_names = {line["name"] for line in lines}
    lines += [
        {"name": name, "scope": "KSQL", "value": str(value), "editable": True, "level": "QUERY"}
        for name, value in request.session.items()
        if name not in known_names
    ]
    defaults = sorted(
        name
        for name in properties.KNOWN
        if name not in request.session
        and name not in engine.settings.properties
        and name not in engine.catalog.settings
    )
    return entity(
        "properties",
        text_of(statement),
        properties=lines,
        overwrittenProperties=overridden,
        defaultProperties=defaults,
    )


def _functions(request: Request, statement: Show) -> Entity:
    lines = []
    for name in names():
        scalars = SCALARS.get(name)
        lines.append({"name": name, "type": kind(name), "category": scalars[0].category if scalars else kind(name)})
    return entity("function_names", text_of(statement), functions=lines)


def _types(request: Request, statement: Show) -> Entity:
    shown = {name: type_info(type) for name, type in sorted(request.engine.catalog.types.items())}
    return entity("type_list", text_of(statement), types=shown)


def _variables(request: Request, statement: Show) -> Entity:
    shown = [{"name": name, "value": value} for name, value in sorted(request.variables.items())]
    return entity("variables", text_of(statement), variables=shown)


def _connectors(request: Request, statement: Show) -> Entity:
    shown = request.engine.connect().connectors(statement.kind)
    return entity("connector_list", text_of(statement), connectors=shown)


def _plugins(request: Request, statement: Show) -> Entity:
    shown = request.engine.connect().plugins()
    return entity("connector_plugins_list", text_of(statement), connectorsPlugins=shown)


_SHOWN: dict[str, Callable[[Request, Show], Entity]] = {
    "STREAMS": _streams,
    "TABLES": _tables,
    "QUERIES": _queries,
    "TOPICS": _topics,
    "PROPERTIES": _properties,
    "FUNCTIONS": _functions,
    "TYPES": _types,
    "VARIABLES": _variables,
    "CONNECTORS": _connectors,
    "CONNECTOR PLUGINS": _plugins,
}
