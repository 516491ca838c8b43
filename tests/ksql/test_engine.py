"""Persistent queries on a Spark host: created, read by push and pull queries, paused, terminated, replaced, failing
beside others, started again from the command topic, and run by two servers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from caudal.ksql.errors import KsqlError
from tests.ksql.conftest import until

EARLIEST = {"auto.offset.reset": "earliest"}
RUNNING = {"RUNNING"}


@pytest.fixture
def unique(service: str) -> str:
    return service.replace("_", "-")


def create_orders(engine: Any, unique: str) -> None:
    engine.execute(
        f"CREATE STREAM orders (id INT KEY, who STRING, amount INT) WITH (KAFKA_TOPIC='{unique}orders', PARTITIONS=2, "
        "VALUE_FORMAT='JSON');"
    )


def insert(engine: Any, *orders: tuple[int, str, int], rowtime: int | str = "NULL") -> None:
    for id, who, amount in orders:
        engine.execute(f"INSERT INTO orders (ROWTIME, id, who, amount) VALUES ({rowtime}, {id}, '{who}', {amount});")


def rows(engine: Any, text: str) -> list[Any]:
    return sorted(engine.pull(text).rows)


def test_the_life_of_queries(engines: Callable[..., Any], unique: str) -> None:
    engine = engines()
    create_orders(engine, unique)
    insert(engine, (1, "ana", 5), (2, "bob", 7), (3, "ana", 9))

    # Two queries, a table and a stream; the sinks' topics are as the sources' are.
    (totals, big) = engine.execute(
        f"CREATE TABLE totals WITH (KAFKA_TOPIC='{unique}totals') AS SELECT who, COUNT(*) AS n, SUM(amount) AS total "
        "FROM orders GROUP BY who;"
        f"CREATE STREAM big WITH (KAFKA_TOPIC='{unique}big') AS SELECT * FROM orders WHERE amount > 6;",
        EARLIEST,
    )
    assert totals["commandStatus"]["queryId"] == "CTAS_TOTALS_0"
    assert big["commandStatus"]["message"] == "Created query with ID CSAS_BIG_1"
    assert engine.topics.configs(f"{unique}totals")["cleanup.policy"] == "compact"
    assert engine.topics.find(f"{unique}big").partitions == 2
    until(lambda: rows(engine, "SELECT * FROM totals;"), [("ana", 2, 14), ("bob", 1, 7)])
    until(lambda: rows(engine, "SELECT id FROM big;"), [(2,), (3,)])
    assert rows(engine, "SELECT total FROM totals WHERE who = 'ana';") == [(14,)]
    with engine.push("SELECT who, total FROM totals EMIT CHANGES;", EARLIEST) as changes:
        insert(engine, (4, "ana", 1))
        assert next(row for row in changes if row[1] == 15) == ("ana", 15)

    # What they read and write cannot be dropped under them.
    with pytest.raises(KsqlError, match=r"read from this source: \[CSAS_BIG_1, CTAS_TOTALS_0\]"):
        engine.execute("DROP STREAM orders;")
    described = engine.execute("DESCRIBE orders;")[0]["sourceDescription"]
    assert [one["id"] for one in described["readQueries"]] == ["CSAS_BIG_1", "CTAS_TOTALS_0"]
    explained = engine.execute("EXPLAIN CTAS_TOTALS_0;")[0]["queryDescription"]
    assert explained["state"] == "RUNNING" and "AGGREGATE" in explained["executionPlan"]

    # A query that fails is in ERROR with its cause, and the others run on.
    engine.execute(
        f"CREATE STREAM strict (a INT) WITH (KAFKA_TOPIC='{unique}strict', PARTITIONS=1, VALUE_FORMAT='JSON') "
        f"ON ERROR FAIL; CREATE STREAM raw (a STRING) WITH (KAFKA_TOPIC='{unique}strict', VALUE_FORMAT='KAFKA');"
        "CREATE STREAM copy AS SELECT * FROM strict; INSERT INTO raw VALUES ('this is no JSON');",
        EARLIEST,
    )
    until(lambda: engine.queries.get("CSAS_COPY_2").state, "ERROR")
    lines = {one["id"]: one for one in engine.execute("SHOW QUERIES;")[0]["queries"]}
    assert "Deserialising failed" in lines["CSAS_COPY_2"]["error"]
    assert lines["CTAS_TOTALS_0"]["state"] == "RUNNING"
    insert(engine, (5, "cid", 8))
    until(lambda: rows(engine, "SELECT * FROM totals WHERE who = 'cid';"), [("cid", 1, 8)])

    # PAUSE and RESUME.
    engine.execute("PAUSE CTAS_TOTALS_0;")
    assert engine.queries.wait_until("CTAS_TOTALS_0", {"PAUSED"}, 60) == "PAUSED"
    insert(engine, (6, "cid", 2))
    until(lambda: rows(engine, "SELECT id FROM big;"), [(2,), (3,), (5,)])
    assert rows(engine, "SELECT n FROM totals WHERE who = 'cid';") == [(1,)]
    engine.execute("RESUME CTAS_TOTALS_0; TERMINATE CSAS_COPY_2;")
    until(lambda: rows(engine, "SELECT total FROM totals WHERE who = 'cid';"), [(10,)])

    # The next server of this service id finds everything, and queries go on with their state.
    engine.close()
    again = engines()
    assert set(again.catalog.queries) == {"CTAS_TOTALS_0", "CSAS_BIG_1"}
    insert(again, (7, "ana", 100))
    until(lambda: rows(again, "SELECT total FROM totals WHERE who = 'ana';"), [(115,)])

    # What is dropped is gone with all that it had made for itself.
    again.execute("DROP TABLE totals DELETE TOPIC; TERMINATE ALL; DROP STREAM big; DROP STREAM orders DELETE TOPIC;")
    left = [name for name in again.topics.all() if again.settings.service_id in name or name.startswith(unique)]
    assert left == [f"_caudal-ksql-{again.settings.service_id}_command", f"{unique}big", f"{unique}strict"]
    assert again.catalog.queries == {}


def test_windows_replace_and_insert_into(engines: Callable[..., Any], unique: str) -> None:
    engine = engines()
    create_orders(engine, unique)
    engine.execute(
        f"CREATE TABLE per_minute WITH (KAFKA_TOPIC='{unique}minutes') AS SELECT who, SUM(amount) AS total FROM orders "
        "WINDOW TUMBLING (SIZE 1 MINUTE, RETENTION 1 HOUR) GROUP BY who;"
        f"CREATE STREAM some WITH (KAFKA_TOPIC='{unique}some') AS SELECT * FROM orders WHERE amount > 6;"
        "INSERT INTO some SELECT * FROM orders WHERE amount < 3;",
        EARLIEST,
    )
    assert set(engine.catalog.queries) == {"CTAS_PER_MINUTE_0", "CSAS_SOME_1", "INSERTQUERY_2"}
    configs = engine.topics.configs(f"{unique}minutes")
    assert (configs["cleanup.policy"], configs["retention.ms"]) == ("compact,delete", "3600000")
    begin = int(time.time()) // 60 * 60_000
    for moment, who, amount in ((30_000, "ana", 1), (59_999, "ana", 2), (60_000, "ana", 7), (61_000, "bob", 5)):
        insert(engine, (1, who, amount), rowtime=begin + moment)
    question = "SELECT WINDOWSTART, WINDOWEND, total FROM per_minute WHERE who = 'ana'"
    middle, end = begin + 60_000, begin + 120_000
    until(lambda: rows(engine, f"{question};"), [(begin, middle, 3), (middle, end, 7)])
    assert rows(engine, f"{question} AND WINDOWSTART >= {middle};") == [(middle, end, 7)]
    assert rows(engine, f"{question} AND WINDOWEND <= {middle};") == [(begin, middle, 3)]
    assert rows(engine, "SELECT who, total FROM per_minute WHERE total > 4;") == [("ana", 7), ("bob", 5)]
    until(lambda: rows(engine, "SELECT amount FROM some;"), [(1,), (2,), (7,)])

    engine.execute(
        f"CREATE OR REPLACE STREAM some WITH (KAFKA_TOPIC='{unique}some') AS SELECT * FROM orders WHERE amount > 100;",
        EARLIEST,
    )
    assert engine.catalog.queries["CSAS_SOME_1"].version == 2
    assert engine.queries.wait_until("CSAS_SOME_1", RUNNING, 60) == "RUNNING"
    insert(engine, (1, "cid", 50), (1, "cid", 150), rowtime=begin + 62_000)
    until(lambda: rows(engine, "SELECT amount FROM some;"), [(1,), (2,), (7,), (150,)])
    with pytest.raises(KsqlError, match=r"(?i)replace"):
        engine.execute(
            f"CREATE OR REPLACE STREAM some WITH (KAFKA_TOPIC='{unique}some') AS SELECT id, who FROM orders;", EARLIEST
        )
    engine.execute("TERMINATE ALL;")


def test_two_servers_run_each_query_once(engines: Callable[..., Any], unique: str, spark: Any) -> None:
    from caudal.runtime.spark.host import SparkHost

    other_host = SparkHost(threads=2)
    try:
        first, second = engines(), engines(host=other_host)
        create_orders(first, unique)
        until(lambda: len(first.membership.servers()), 2, 30)
        first.execute(
            f"CREATE STREAM copy WITH (KAFKA_TOPIC='{unique}copy') AS SELECT * FROM orders;"
            f"CREATE TABLE totals WITH (KAFKA_TOPIC='{unique}totals') AS SELECT who, COUNT(*) AS n FROM orders "
            "GROUP BY who;",
            EARLIEST,
        )

        def states() -> set[tuple[str, ...]]:
            return {
                tuple(sorted(server.queries.get(id).host_state for server in (first, second)))
                for id in ("CSAS_COPY_0", "CTAS_TOTALS_1")
            }

        until(lambda: all(server.queries.get("CTAS_TOTALS_1") for server in (first, second)), True)
        until(states, {("RUNNING", "STANDBY")})
        insert(first, (1, "ana", 5), (2, "ana", 7))
        until(lambda: rows(second, "SELECT * FROM totals;"), [("ana", 2)])
        assert rows(second, "SELECT id FROM copy;") == [(1,), (2,)]
        first.close()  # the other one takes over what it ran
        insert(second, (3, "ana", 9))
        until(lambda: rows(second, "SELECT * FROM totals;"), [("ana", 3)])
        second.execute("TERMINATE ALL;")
        assert second.catalog.queries == {}
    finally:
        for engine in (first, second):
            engine.close()
        other_host.close()


def test_a_question_to_much_data_is_a_batch_of_spark(engines: Callable[..., Any], unique: str, spark: Any) -> None:
    """Nothing runs on the host: the job reads the topic once, and answers as the process of its own does."""
    engine = engines()
    create_orders(engine, unique)
    insert(engine, (1, "ana", 5), (2, "bob", 7), (3, "ana", 9))
    question = "SELECT who, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY who;"
    wanted = [("ana", 2, 14), ("bob", 1, 7)]
    assert sorted(engine.pull(question).rows) == wanted
    assert sorted(engine.pull(question, {"ksql.query.batch.spark.records": 0}).rows) == wanted
    assert engine.queries.all() == []


def test_records_that_cannot_be_read_go_to_the_dead_letters(engines: Callable[..., Any], unique: str) -> None:
    engine = engines(processing_log_topic=f"{unique}log")
    engine.execute(
        f"CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='{unique}s', PARTITIONS=1, VALUE_FORMAT='JSON') ON ERROR DLQ;"
        f"CREATE STREAM raw (a STRING) WITH (KAFKA_TOPIC='{unique}s', VALUE_FORMAT='KAFKA');"
        f"CREATE STREAM copy WITH (KAFKA_TOPIC='{unique}copy') AS SELECT a * 2 AS b FROM s;"
        "INSERT INTO raw VALUES ('no json'); INSERT INTO s VALUES (4);",
        EARLIEST,
    )
    until(lambda: rows(engine, "SELECT * FROM copy;"), [(8,)])
    for topic, words in ((f"{unique}s-dlq", "no json"), (f"{unique}log", "deserializationError")):
        lines = [line for line in engine.print_topic(f"PRINT '{topic}' FROM BEGINNING LIMIT 1;") if line]
        assert words in lines[-1]
    engine.execute("TERMINATE ALL;")
