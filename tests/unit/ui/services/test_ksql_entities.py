"""What the engine answers, as pages show it: the answers are the engine's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from caudal.ksql.testing.in_process import InProcess
from caudal.ui.services.ksql_completion import Kind
from caudal.ui.services.ksql_entities import (
    Said,
    Table,
    Warned,
    created_query,
    explained,
    functions_of,
    parts,
    queries_of,
    query_of,
    signatures_of,
    sources_of,
    types_of,
)


@pytest.fixture(scope="module")
def engine() -> Iterator[InProcess]:
    with InProcess() as started:
        started.statement(
            "CREATE STREAM orders (id BIGINT KEY, address STRUCT<city VARCHAR>) "
            "WITH (KAFKA_TOPIC='orders', PARTITIONS=1, VALUE_FORMAT='JSON');"
        )
        started.statement("CREATE TABLE totals AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;")
        started.statement("CREATE TYPE money AS DECIMAL(9, 2);")
        yield started


def answers(engine: InProcess, text: str) -> list[dict[str, Any]]:
    from caudal.ksql.engine.handlers import HANDLERS, Request
    from caudal.ksql.syntax.parser import parse_statement

    statement = parse_statement(text)
    answer = HANDLERS[type(statement)](Request(engine), statement)
    assert answer is not None
    return answer if isinstance(answer, list) else [answer]


def test_a_list_is_a_table(engine: InProcess) -> None:
    (entity,) = answers(engine, "SHOW STREAMS")
    (table,) = parts(entity)
    assert isinstance(table, Table)
    assert table.columns[:2] == ("Stream Name", "Kafka Topic")
    assert table.rows[0][:2] == ("ORDERS", "orders")


def test_an_empty_list_a_status_and_a_warning_are_said() -> None:
    assert parts({"@type": "queries", "queries": []}) == [Said("There are no queries.")]
    status = {"status": "SUCCESS", "message": "Created query with ID CTAS_T_1", "queryId": "CTAS_T_1"}
    entity = {"@type": "currentStatus", "commandStatus": status, "warnings": [{"message": "Careful."}]}
    assert parts(entity) == [Said("Created query with ID CTAS_T_1"), Warned("Careful.")]
    assert created_query(entity) == "CTAS_T_1"


def test_sources_come_with_columns_and_the_fields_of_structs(engine: InProcess) -> None:
    orders, totals = sources_of(answers(engine, "DESCRIBE STREAMS") + answers(engine, "DESCRIBE TABLES"))
    assert (orders.name, orders.kind, totals.kind) == ("ORDERS", Kind.STREAM, Kind.TABLE)
    assert [(one.name, one.is_key) for one in orders.columns] == [("ID", True), ("ADDRESS", False)]
    assert [(one.name, one.type) for one in orders.columns[1].fields] == [("CITY", "VARCHAR")]
    assert len(orders.read_by) == 1


def test_a_plan_can_be_explained(engine: InProcess) -> None:
    (entity,) = answers(engine, "EXPLAIN SELECT id, COUNT(*) FROM orders GROUP BY id EMIT CHANGES")
    query = explained(entity)
    assert query is not None
    assert query.sources == ("ORDERS",)
    assert "Sub-topology: 0" in query.topology
    assert "AGGREGATE" in query.plan


def test_a_query_that_starts_does_not_say_that_it_runs() -> None:
    starting = query_of({"id": "q", "state": "RUNNING", "hostState": "STARTING"})
    assert (starting.state, starting.is_on_its_way) == ("STARTING", True)
    assert query_of({"id": "q", "state": "PAUSED", "hostState": "RUNNING"}).state == "PAUSED"
    assert query_of({"id": "q", "statusCount": {"RUNNING": 1}}).state == "RUNNING"


def test_queries_functions_and_types_are_listed(engine: InProcess) -> None:
    (query,) = queries_of(answers(engine, "SHOW QUERIES"))
    assert query.sinks == ("TOTALS",)
    assert "UCASE" in {one.name for one in functions_of(answers(engine, "SHOW FUNCTIONS"))}
    (described,) = answers(engine, "DESCRIBE FUNCTION UCASE")
    assert signatures_of(described).signatures[0].endswith("→ STRING")
    assert types_of(answers(engine, "SHOW TYPES")) == [("MONEY", "DECIMAL(9, 2)")]


def test_an_answer_of_an_unknown_kind_is_shown_all_the_same() -> None:
    assert isinstance(parts({"@type": "new", "value": 1})[0], Said)
