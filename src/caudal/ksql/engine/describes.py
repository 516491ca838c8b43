"""DESCRIBE and EXPLAIN: one thing in detail."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from caudal.ksql.catalog import PersistentQuery
from caudal.ksql.engine.entities import Entity, entity, fields, query_line
from caudal.ksql.engine.handlers import Request, handles, text_of
from caudal.ksql.engine.queries import RUNNING
from caudal.ksql.errors import KsqlError
from caudal.ksql.functions.resolution import describe as described
from caudal.ksql.planner.explain import explain as drawn
from caudal.ksql.planner.planned import PlannedQuery, Sink
from caudal.ksql.sources import Source, SourceKind
from caudal.ksql.syntax.statements import CreateAsSelect, Describe, Explain, InsertInto, Query

if TYPE_CHECKING:
    from caudal.ksql.engine.engine import Engine


@handles(Describe)
def describe(request: Request, statement: Describe) -> Entity:
    engine = request.engine
    if statement.what in ("STREAMS", "TABLES"):
        kind = SourceKind(statement.what.removesuffix("S"))
        shown_ones = [
            source_description(engine, source, extended=statement.extended)
            for source in sorted(engine.catalog.sources.values(), key=lambda one: one.name)
            if source.kind is kind
        ]
        return entity("source_descriptions", text_of(statement), sourceDescriptions=shown_ones)
    assert statement.name is not None
    if statement.what == "FUNCTION":
        return entity("describe_function", text_of(statement), **function_description(statement.name))
    if statement.what == "CONNECTOR":
        shown_one = engine.connect().describe(statement.name)
        sources = [
            source_description(engine, source, extended=statement.extended)
            for source in sorted(engine.catalog.sources.values(), key=lambda one: one.name)
            if source.topic in shown_one["topics"]
        ]
        return entity("connector_description", text_of(statement), **shown_one, sources=sources)
    try:
        source = engine.catalog.source(statement.name, statement.at)
    except KsqlError as error:
        error.message = f"Could not find STREAM/TABLE '{statement.name}' in the Metastore. {error.message}"
        error.args = (error.message,)
        raise
    shown = source_description(engine, source, extended=statement.extended)
    return entity("sourceDescription", text_of(statement), sourceDescription=shown)


def source_description(engine: Engine, source: Source, *, extended: bool) -> dict[str, Any]:
    catalog = engine.catalog

    def lines(query_ids: list[str]) -> list[dict[str, Any]]:
        return [persistent_line(engine, catalog.queries[query_id]) for query_id in query_ids]

    described: dict[str, Any] = {
        "name": source.name,
        "windowType": source.window.kind.value if source.window else None,
        "readQueries": lines(catalog.readers(source.name)),
        "writeQueries": lines(catalog.writers(source.name)),
        "fields": fields(source.schema),
        "type": source.kind.value,
        "timestamp": source.timestamp_column or "",
        "statistics": "",
        "errorStats": "",
        "extended": extended,
        "keyFormat": source.key_format.name,
        "valueFormat": source.value_format.name,
        "topic": source.topic,
        "partitions": 0,
        "replication": 0,
        "statement": source.statement,
        "queryOffsetSummaries": [],
        "sourceConstraints": sorted(_upstream(engine, source)),
        "clusterStatistics": [],
        "clusterErrorStats": [],
    }
    if not extended:
        return described
    found = engine.topics.find(source.topic)
    if found is not None:
        described["partitions"], described["replication"] = found.partitions, found.replication
    figures = [engine.queries.get(query_id) for query_id in catalog.writers(source.name)]
    written = [query.metrics() for query in figures if query is not None]
    if written:
        described["statistics"] = "  ".join(_statistics(one) for one in written)
        described["errorStats"] = "  ".join(_errors(one) for one in written)
    described["queryOffsetSummaries"] = [
        {"groupId": engine.settings.application_id(query_id), "kafkaTopic": source.topic, "topicSummaries": []}
        for query_id in catalog.readers(source.name)
    ]
    return described


def _statistics(metrics: dict[str, Any]) -> str:
    shown: dict[str, Any] = {name: metrics[name] for name in ("records", "written", "lag") if name in metrics}
    return "  ".join(f"{name}: {value}" for name, value in shown.items())


def _errors(metrics: dict[str, Any]) -> str:
    dropped = metrics.get("dropped") or {}
    return "  ".join(f"{name}: {count}" for name, count in dropped.items()) if isinstance(dropped, dict) else ""


def _upstream(engine: Engine, source: Source) -> set[str]:
    """What must be dropped before this source can be: those that its query made of it."""
    catalog = engine.catalog
    return {
        query.sink
        for query in catalog.queries.values()
        if source.name in query.sources and query.sink in catalog.sources
    }


def persistent_line(engine: Engine, definition: PersistentQuery) -> dict[str, Any]:
    """Its line in SHOW QUERIES, and in DESCRIBE of what it reads and writes."""
    query = engine.queries.get(definition.id)
    return query_line(
        definition.id,
        definition.sql,
        "PERSISTENT",
        query.state if query is not None else RUNNING,
        sinks=[definition.sink],
        topics=[definition.sink_topic],
        more={"error": query.cause} if query is not None and query.cause is not None else None,
    )


def function_description(name: str) -> dict[str, Any]:
    """As DESCRIBE FUNCTION shows it; the registry knows."""
    found = described(name)
    return {
        "name": found.name,
        "description": found.overview,
        "author": found.author,
        "version": "",
        "path": "internal",
        "functions": [
            {
                "arguments": [
                    {"name": argument, "type": type, "description": "", "isVariadic": variadic}
                    for argument, type, variadic in variation.arguments
                ],
                "returnType": variation.returns,
                "description": variation.description,
            }
            for variation in found.variations
        ],
        "type": found.kind,
        "category": found.category,
    }


# -- queries -----------------------------------------------------------------------------------------------------------


def query_description(engine: Engine, definition: PersistentQuery) -> dict[str, Any]:
    query = engine.queries.get(definition.id)
    state = query.state if query is not None else RUNNING
    planned = query.planned if query is not None else None
    sink = engine.catalog.sources.get(definition.sink)
    errors = []
    if query is not None and query.cause is not None:
        errors.append({"timestamp": 0, "errorMessage": query.cause, "type": "UNKNOWN"})
    tasks = query.application.tasks() if query is not None and query.application is not None else []
    return {
        "id": definition.id,
        "statementText": definition.sql,
        "windowType": sink.window.kind.value if sink is not None and sink.window else None,
        "fields": fields(planned.schema) if planned is not None else fields(sink.schema) if sink is not None else [],
        "sources": list(definition.sources),
        "sinks": [definition.sink],
        "topology": planned.topology.describe() if planned is not None else "",
        "executionPlan": explained(planned, definition.id) if planned is not None else "",
        "overriddenProperties": dict(definition.properties),
        "ksqlHostQueryStatus": {engine.settings.url.partition("://")[2]: state},
        "queryType": "PERSISTENT",
        "queryErrors": errors,
        "tasksMetadata": json.loads(json.dumps(tasks, default=str)),
        "state": state,
        "hostState": query.host_state if query is not None else "CREATED",  # ours: STANDBY, STARTING, …
        "consumerGroupId": engine.settings.application_id(definition.id),
    }


@handles(Explain)
def explain(request: Request, statement: Explain) -> Entity:
    engine = request.engine
    if statement.query_id is not None:
        definition = engine.catalog.query(statement.query_id, statement.at)
        return entity("queryDescription", text_of(statement), queryDescription=query_description(engine, definition))
    inner = statement.statement
    sink: Sink | None
    if isinstance(inner, Query):
        query, sink = inner, None
    elif isinstance(inner, CreateAsSelect):
        given = tuple((prop.name, prop.value) for prop in inner.properties)
        query, sink = inner.query, Sink(inner.name, inner.kind, given)
    elif isinstance(inner, InsertInto):
        target = engine.catalog.source(inner.target, inner.at)
        query, sink = inner.query, Sink(target.name, target.kind, insert=True)
    else:
        raise KsqlError("The provided statement does not run a ksql query.", statement.at)
    planned = engine.plan(query, request.properties, sink=sink, application_id="EXPLAIN")
    described = {
        "id": "EXPLAIN",
        "statementText": text_of(inner),
        "windowType": planned.window.kind.value if planned.window else None,
        "fields": fields(planned.schema),
        "sources": list(planned.sources),
        "sinks": [sink.name] if sink is not None else [],
        "topology": planned.topology.describe(),
        "executionPlan": explained(planned),
        "overriddenProperties": dict(request.session),
        "ksqlHostQueryStatus": {},
        "queryType": "PERSISTENT" if sink is not None else "PUSH",
        "queryErrors": [],
        "tasksMetadata": [],
        "state": None,
    }
    return entity("queryDescription", text_of(statement), planned.warnings, queryDescription=described)


def explained(planned: PlannedQuery, query_id: str = "") -> str:
    """The logical steps, the sub-topologies and the lane, as the planner draws them."""
    return str(drawn(planned, query_id))
