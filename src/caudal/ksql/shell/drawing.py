"""The entities that statements answer with, drawn by their `@type`: a table, or a sentence. An unknown one is its JSON.

Fields are those of ksqlDB's REST API; a field that is missing leaves a gap and nothing worse, since the server may be
another one than ours. Descriptions of sources, queries and functions are in `describing.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from caudal.ksql.shell.screen import Screen, clean

Entity = dict[str, Any]
Part = Table | str
Drawer = Callable[[Entity], Iterable[Part]]
DRAWERS: dict[str, Drawer] = {}


def draws(*kinds: str) -> Callable[[Drawer], Drawer]:
    def register(drawer: Drawer) -> Drawer:
        for kind in kinds:
            DRAWERS[kind] = drawer
        return drawer

    return register


def draw(entity: Entity, screen: Screen) -> None:
    from caudal.ksql.shell import describing  # registers its drawers

    del describing
    drawer = DRAWERS.get(str(entity.get("@type")), _unknown)
    for part in drawer(entity):
        if isinstance(part, str):
            screen.line(part)
        else:
            screen.show(part)
    for warning in entity.get("warnings") or ():
        screen.line(f"Warning: {warning.get('message', warning) if isinstance(warning, dict) else warning}", "yellow")


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> Table:
    drawn = Table(box=box.ASCII2, title=title, title_justify="left", show_edge=False, pad_edge=False)
    for heading in headings:
        drawn.add_column(heading, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(clean(text(value))) for value in row))
    return drawn


def listed(headings: Sequence[str], rows: Iterable[Sequence[object]], nothing: str) -> Iterator[Part]:
    """A table, or the sentence that says that there is nothing."""
    found = list(rows)
    yield table(headings, found) if found else nothing


def text(value: object) -> str:
    """
    >>> text(None), text(True), text(["A", "B"]), text({"RUNNING": 1})
    ('', 'true', 'A, B', 'RUNNING: 1')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(text(one) for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text(one)}" for key, one in value.items())
    return str(value)


def type_text(schema: Any) -> str:
    """A schema of the REST API as SQL writes it.

    >>> type_text({"type": "ARRAY", "memberSchema": {"type": "DECIMAL", "parameters": {"precision": 4, "scale": 2}}})
    'ARRAY<DECIMAL(4, 2)>'
    """
    if not isinstance(schema, dict):
        return text(schema)
    kind = text(schema.get("type"))
    if kind == "ARRAY":
        return f"ARRAY<{type_text(schema.get('memberSchema'))}>"
    if kind == "MAP":
        key = schema.get("keySchema") or {"type": "STRING"}
        return f"MAP<{type_text(key)}, {type_text(schema.get('memberSchema'))}>"
    if kind == "STRUCT":
        fields = (f"{field.get('name')} {type_text(field.get('schema'))}" for field in schema.get("fields") or ())
        return f"STRUCT<{', '.join(fields)}>"
    if kind == "DECIMAL" and isinstance(schema.get("parameters"), dict):
        return f"DECIMAL({schema['parameters'].get('precision')}, {schema['parameters'].get('scale')})"
    return "VARCHAR(STRING)" if kind == "STRING" else kind


def _unknown(entity: Entity) -> Iterator[Part]:
    yield json.dumps(entity, indent=2, ensure_ascii=False, default=str)


# -- answers of one sentence -------------------------------------------------------------------------------------------


@draws("currentStatus")
def _current_status(entity: Entity) -> Iterator[Part]:
    status = entity.get("commandStatus")
    message = status.get("message") if isinstance(status, dict) else None
    yield text(message or entity.get("message") or status)


@draws("warning_entity", "expression_evaluation")
def _message(entity: Entity) -> Iterator[Part]:
    yield text(entity.get("message"))


@draws("error_entity")
def _error(entity: Entity) -> Iterator[Part]:
    yield f"Error: {text(entity.get('errorMessage') or entity.get('message'))}"


@draws("terminate_query", "pause_query", "resume_query")
def _query_control(entity: Entity) -> Iterator[Part]:
    done = {"terminate_query": "terminated", "pause_query": "paused", "resume_query": "resumed"}
    if entity.get("wasTerminated") is False:
        yield f"Query {text(entity.get('queryId'))} was not terminated: it had ended before."
    else:
        yield f"Query {text(entity.get('queryId'))} {done[entity['@type']]}."


@draws("connector_info")
def _connector_created(entity: Entity) -> Iterator[Part]:
    yield f"Created connector {text((entity.get('info') or {}).get('name'))}"


@draws("drop_connector")
def _connector_dropped(entity: Entity) -> Iterator[Part]:
    yield f"Dropped connector {text(entity.get('connectorName'))}"


@draws("assert_topic")
def _asserted_topic(entity: Entity) -> Iterator[Part]:
    yield f"Topic {text(entity.get('topicName'))} {_exists(entity)}"


@draws("assert_schema")
def _asserted_schema(entity: Entity) -> Iterator[Part]:
    given = [f"{name} {text(entity[name])}" for name in ("subject", "id") if entity.get(name) is not None]
    yield f"Schema with {' and '.join(given)} {_exists(entity)}"


def _exists(entity: Entity) -> str:
    return "exists." if entity.get("exists", True) else "does not exist."


# -- lists -------------------------------------------------------------------------------------------------------------


@draws("streams")
def _streams(entity: Entity) -> Iterator[Part]:
    yield from listed(
        ["Stream Name", "Kafka Topic", "Key Format", "Value Format", "Windowed"],
        (_source(one) for one in _sorted(entity.get("streams"))),
        "There are no streams.",
    )


@draws("tables")
def _tables(entity: Entity) -> Iterator[Part]:
    yield from listed(
        ["Table Name", "Kafka Topic", "Key Format", "Value Format", "Windowed"],
        (_source(one) for one in _sorted(entity.get("tables"))),
        "There are no tables.",
    )


def _source(one: Entity) -> list[object]:
    value_format = one.get("valueFormat", one.get("format"))
    return [one.get("name"), one.get("topic"), one.get("keyFormat"), value_format, one.get("isWindowed", False)]


def _sorted(found: Any, key: str = "name") -> list[Entity]:
    return sorted((one for one in found or () if isinstance(one, dict)), key=lambda one: text(one.get(key)))


@draws("queries")
def _queries(entity: Entity) -> Iterator[Part]:
    queries = _sorted(entity.get("queries"), "id")
    yield from listed(
        ["Query ID", "Query Type", "Status", "Sink Name", "Sink Kafka Topic"],
        (
            [
                one.get("id"),
                one.get("queryType"),
                one.get("statusCount") or one.get("state"),
                one.get("sinks"),
                one.get("sinkKafkaTopics"),
            ]
            for one in queries
        ),
        "There are no queries.",
    )
    # Below, and not in a column: a query is longer than a terminal is wide.
    for one in queries:
        yield ""
        yield f"{text(one.get('id'))}: {' '.join(text(one.get('queryString')).split())}"


@draws("kafka_topics")
def _topics(entity: Entity) -> Iterator[Part]:
    yield from listed(
        ["Kafka Topic", "Partitions", "Partition Replicas"],
        ([one.get("name"), *_replicas(one)] for one in _sorted(entity.get("topics"))),
        "There are no topics.",
    )


@draws("kafka_topics_extended")
def _topics_extended(entity: Entity) -> Iterator[Part]:
    yield from listed(
        ["Kafka Topic", "Partitions", "Partition Replicas", "Consumers", "ConsumerGroups"],
        (
            [one.get("name"), *_replicas(one), one.get("consumerCount"), one.get("consumerGroupCount")]
            for one in _sorted(entity.get("topics"))
        ),
        "There are no topics.",
    )


def _replicas(topic: Entity) -> tuple[int, str]:
    """How many partitions, and how many replicas each has: one number where all have the same."""
    replicas = topic.get("replicaInfo") or []
    return len(replicas), text(replicas[0] if len(set(replicas)) == 1 else replicas)


@draws("properties")
def _properties(entity: Entity) -> Iterator[Part]:
    found = entity.get("properties")
    own = set(entity.get("overwrittenProperties") or ())
    if isinstance(found, dict):
        found = [{"name": name, "value": value} for name, value in found.items()]
    yield from listed(
        ["Property", "Scope", "Level", "Set here", "Value"],
        (
            [
                one.get("name"),
                one.get("scope"),
                one.get("level"),
                "yes" if one.get("name") in own else "",
                one.get("value"),
            ]
            for one in _sorted(found)
        ),
        "There are no properties.",
    )


@draws("function_names")
def _functions(entity: Entity) -> Iterator[Part]:
    yield from listed(
        ["Function Name", "Category", "Kind"],
        ([one.get("name"), one.get("category"), one.get("type")] for one in _sorted(entity.get("functions"))),
        "There are no functions.",
    )


@draws("type_list")
def _types(entity: Entity) -> Iterator[Part]:
    types = entity.get("types") or {}
    rows = ([name, type_text(types[name])] for name in sorted(types))
    yield from listed(["Type Name", "Schema"], rows, "There are no types.")


@draws("variables")
def _variables(entity: Entity) -> Iterator[Part]:
    rows = ([one.get("name"), one.get("value")] for one in _sorted(entity.get("variables")))
    yield from listed(["Variable Name", "Value"], rows, "There are no variables.")


@draws("connector_list")
def _connectors(entity: Entity) -> Iterator[Part]:
    yield from listed(
        ["Connector Name", "Type", "Class", "Status"],
        (
            [one.get("name"), one.get("type"), one.get("className"), one.get("state")]
            for one in _sorted(entity.get("connectors"))
        ),
        "There are no connectors.",
    )


@draws("connector_plugins_list")
def _plugins(entity: Entity) -> Iterator[Part]:
    yield from listed(
        ["Class", "Type", "Version"],
        (
            [one.get("className"), one.get("type"), one.get("version")]
            for one in _sorted(entity.get("connectorsPlugins"), "className")
        ),
        "There are no plugins.",
    )
