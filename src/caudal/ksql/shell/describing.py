"""DESCRIBE and EXPLAIN, drawn: sources, queries, functions, connectors, plans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from caudal.ksql.shell.drawing import Entity, Part, draws, table, text, type_text
from caudal.ksql.syntax.names import written_name

_ROLES = {"KEY": "key", "HEADER": "header"}


@draws("sourceDescription")
def _source(entity: Entity) -> Iterator[Part]:
    yield from source(entity.get("sourceDescription") or entity)


@draws("source_descriptions")
def _sources(entity: Entity) -> Iterator[Part]:
    found = entity.get("sourceDescriptions") or []
    if not found:
        yield "There is nothing to describe."
    for at, one in enumerate(found):
        if at:
            yield ""
        yield from source(one)


def source(one: Entity) -> Iterator[Part]:
    yield f"Name                 : {text(one.get('name'))}"
    if one.get("extended"):
        yield from _source_facts(one)
    yield from _fields(one.get("fields"), is_table=text(one.get("type")).upper() == "TABLE")
    if one.get("extended"):
        yield from _source_more(one)
    else:
        yield f"For runtime statistics and query details run: DESCRIBE {written_name(text(one.get('name')))} EXTENDED;"


def _source_facts(one: Entity) -> Iterator[Part]:
    partitions, replication = text(one.get("partitions")), text(one.get("replication"))
    facts = {
        "Type": one.get("type"),
        "Window type": one.get("windowType"),
        "Timestamp field": one.get("timestamp") or "Not set - using <ROWTIME>",
        "Key format": one.get("keyFormat"),
        "Value format": one.get("valueFormat") or one.get("format"),
        "Kafka topic": f"{text(one.get('topic'))} (partitions: {partitions}, replication: {replication})",
        "Statement": one.get("statement"),
    }
    yield from _facts(facts)
    yield ""


def _facts(facts: dict[str, Any]) -> Iterator[Part]:
    for name, value in facts.items():
        if value not in (None, "", [], {}):
            yield f"{name:<21}: {text(value)}"


def _fields(fields: Any, *, is_table: bool) -> Iterator[Part]:
    rows = []
    for field in fields or ():
        role = _ROLES.get(text(field.get("type")))
        if role == "key" and is_table:
            role = "primary key"
        if field.get("headerKey"):
            role = f"header('{field['headerKey']}')"
        kind = type_text(field.get("schema"))
        rows.append([field.get("name"), f"{kind} ({role})" if role else kind])
    yield table(["Field", "Type"], rows) if rows else "It has no fields."


def _source_more(one: Entity) -> Iterator[Part]:
    for title, key in (
        ("Queries that read from this source", "readQueries"),
        ("Queries that write to it", "writeQueries"),
    ):
        queries = one.get(key) or []
        if queries:
            yield ""
            yield f"{title}:"
            for query in queries:
                state = text(query.get("statusCount") or query.get("state"))
                yield f"{text(query.get('id'))} ({state}) : {' '.join(text(query.get('queryString')).split())}"
    constraints = one.get("sourceConstraints") or []
    if constraints:
        yield ""
        yield f"Sources that have a DROP constraint on this source: {text(constraints)}"
    for title, key in (("Runtime statistics", "statistics"), ("Errors", "errorStats")):
        if one.get(key):
            yield ""
            yield f"{title}:"
            yield text(one.get(key))
    for summary in one.get("queryOffsetSummaries") or ():
        yield ""
        yield f"Consumer group       : {text(summary.get('groupId'))}"
        for topic in summary.get("topicSummaries") or ():
            offsets = topic.get("offsets") or []
            yield table(
                ["Partition", "Start Offset", "End Offset", "Offset", "Lag"],
                ([part.get("partition"), *_offsets(part)] for part in offsets),
                title=f"Kafka topic {text(topic.get('kafkaTopic'))}",
            )


def _offsets(part: Entity) -> list[object]:
    end, at = part.get("logEndOffset"), part.get("consumerOffset")
    lag = end - at if isinstance(end, int) and isinstance(at, int) else None
    return [part.get("logStartOffset"), end, at, lag]


# -- queries -----------------------------------------------------------------------------------------------------------


@draws("queryDescription")
def _query(entity: Entity) -> Iterator[Part]:
    yield from query(entity.get("queryDescription") or entity)


@draws("query_descriptions", "queryDescriptions")
def _described_queries(entity: Entity) -> Iterator[Part]:
    found = entity.get("queryDescriptions") or []
    if not found:
        yield "There are no queries."
    for at, one in enumerate(found):
        if at:
            yield ""
        yield from query(one)


def query(one: Entity) -> Iterator[Part]:
    facts = {
        "ID": one.get("id"),
        "Query Type": one.get("queryType"),
        "SQL": one.get("statementText"),
        "Status": one.get("ksqlHostQueryStatus") or one.get("state"),
        "Window type": one.get("windowType"),
        "Sources": one.get("sources"),
        "Sinks": one.get("sinks"),
        "Lane": one.get("lane"),
    }
    yield from _facts(facts)
    yield ""
    yield from _fields(one.get("fields"), is_table=False)
    plan, topology = text(one.get("executionPlan")).rstrip(), text(one.get("topology")).rstrip()
    for title, shown in (("Execution plan", plan), ("Processing topology", topology if topology not in plan else "")):
        if shown:
            yield ""
            yield title
            yield "-" * len(title)
            yield shown
    overridden = one.get("overriddenProperties") or {}
    if overridden:
        yield ""
        yield table(["Property", "Value"], sorted(overridden.items()), title="Overridden properties")
    for error in one.get("queryErrors") or ():
        yield ""
        yield f"Error ({text(error.get('type'))}): {text(error.get('errorMessage'))}"


@draws("executionPlan")
def _plan(entity: Entity) -> Iterator[Part]:
    yield text(entity.get("executionPlan"))


# -- functions and connectors ------------------------------------------------------------------------------------------


@draws("describe_function")
def _function(entity: Entity) -> Iterator[Part]:
    facts = {
        "Name": entity.get("name"),
        "Author": entity.get("author"),
        "Version": entity.get("version"),
        "Overview": entity.get("description"),
        "Type": entity.get("type"),
        "Jar": entity.get("path") if entity.get("path") != "internal" else None,
    }
    yield from _facts(facts)
    yield "Variations           :"
    for one in entity.get("functions") or ():
        arguments = one.get("arguments") or []
        yield ""
        signature = ", ".join(_argument(each) for each in arguments)
        yield f"    {text(entity.get('name'))}({signature}) -> {text(one.get('returnType'))}"
        if one.get("description") and one.get("description") != entity.get("description"):
            yield f"        {text(one.get('description'))}"
        for each in arguments:
            if each.get("description"):
                yield f"        {text(each.get('name'))}: {text(each.get('description'))}"


def _argument(one: Entity) -> str:
    shown = f"{text(one.get('name'))} {text(one.get('type'))}".strip()
    return f"{shown}[]" if one.get("isVariadic") else shown


@draws("connector_description")
def _connector(entity: Entity) -> Iterator[Part]:
    status = entity.get("status") or {}
    connector = status.get("connector") or {}
    yield from _facts(
        {
            "Name": status.get("name"),
            "Class": entity.get("connectorClass"),
            "Type": status.get("type"),
            "State": connector.get("state"),
            "WorkerId": connector.get("worker_id") or connector.get("workerId"),
            "Trace": connector.get("trace"),
            "Topics": entity.get("topics"),
        }
    )
    tasks = status.get("tasks") or []
    if tasks:
        yield ""
        yield table(["Task ID", "State", "Error Trace"], ([t.get("id"), t.get("state"), t.get("trace")] for t in tasks))
    for one in entity.get("sources") or ():
        yield ""
        yield from source(one)
