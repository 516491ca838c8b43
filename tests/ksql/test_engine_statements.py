"""Statements against a real broker, without Spark: DDL, INSERT, SHOW, push and pull queries, several servers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from caudal.ksql.errors import KsqlError
from tests.ksql.conftest import until

EARLIEST = {"auto.offset.reset": "earliest"}


class NoHost:
    """Where nothing may reach Spark."""

    def add(self, *applications: Any) -> None:
        raise AssertionError("nothing is to run")


@pytest.fixture
def engine(engines: Callable[..., Any], unique: str) -> Any:
    made = engines(host=NoHost())
    made.execute(
        f"CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='{unique}s', PARTITIONS=2, "
        f"VALUE_FORMAT='JSON');"
        f"CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='{unique}t', PARTITIONS=2, "
        f"VALUE_FORMAT='JSON');"
    )
    return made


@pytest.fixture
def unique(service: str) -> str:
    return service.replace("_", "-")


@pytest.fixture(scope="module")
def lasting(broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One engine for all statements that change nothing."""
    from caudal.ksql.engine.engine import Engine
    from caudal.ksql.engine.settings import EngineSettings

    settings = EngineSettings(
        bootstrap=broker.bootstrap,
        service_id=f"lasting{os.getpid():x}_",
        state_dir=str(tmp_path_factory.mktemp("lasting")),
        registry="http://127.0.0.1:1",
    )
    with Engine(settings, host=NoHost()) as engine:  # type: ignore[arg-type]
        engine.execute(
            "CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='lasting-s', PARTITIONS=2, "
            "VALUE_FORMAT='JSON'); CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='lasting-t', "
            "PARTITIONS=2, VALUE_FORMAT='JSON');"
        )
        yield engine


def rows(engine: Any, text: str, **properties: Any) -> list[Any]:
    found: list[Any] = engine.pull(text, properties).rows
    return found


def test_a_row_that_was_inserted_is_found_at_once(engine: Any) -> None:
    for number in range(5):
        engine.execute(f"INSERT INTO t (k, a) VALUES ('x', {number});")
        assert rows(engine, "SELECT * FROM t WHERE k = 'x';") == [("x", number)]
    engine.execute("INSERT INTO t VALUES ('y', 7);")
    assert sorted(rows(engine, "SELECT * FROM t;")) == [("x", 4), ("y", 7)]
    assert rows(engine, "SELECT k, a * 2 AS twice FROM t WHERE a > 5;") == [("y", 14)]
    assert rows(engine, "SELECT k FROM t WHERE k IN ('y', 'z', 'x') ORDER BY k;") == [("x",), ("y",)]
    assert rows(engine, "SELECT SUM(a) AS s FROM t;") == [(11,)]
    assert rows(engine, "SELECT x.k, y.a FROM t x JOIN t y ON x.k = y.k WHERE y.a > 5;") == [("y", 7)]
    assert rows(engine, "SELECT k FROM (SELECT k, a FROM t WHERE a > 5) big;") == [("y",)]


def test_pull_queries_over_streams_read_what_is_there(engine: Any) -> None:
    for number in range(6):
        engine.execute(f"INSERT INTO s VALUES ('k{number % 2}', {number}, 'b');")
    assert sorted(rows(engine, "SELECT k, a FROM s WHERE a >= 4;")) == [("k0", 4), ("k1", 5)]
    assert sorted(rows(engine, "SELECT k, COUNT(*) AS n, SUM(a) AS total FROM s GROUP BY k;")) == [
        ("k0", 3, 6),
        ("k1", 3, 9),
    ]
    assert rows(engine, "SELECT a FROM s ORDER BY a DESC LIMIT 2;") == [(5,), (4,)]
    assert len(rows(engine, "SELECT * FROM s LIMIT 4;")) == 4


def test_push_queries(engine: Any) -> None:
    engine.execute("INSERT INTO s VALUES ('old', 1, 'x');")
    with engine.push("SELECT k, a FROM s EMIT CHANGES;") as latest:
        engine.execute("INSERT INTO s VALUES ('new', 2, 'x');")
        assert next(iter(latest)) == ("new", 2)
        assert [one.query_id for one in engine.push_queries.running()] == [latest.query_id]
        shown = engine.execute("SHOW QUERIES;")[0]["queries"]
        assert [(one["id"], one["queryType"]) for one in shown] == [(latest.query_id, "PUSH")]
    assert engine.push_queries.running() == []
    all_of_them = engine.push("SELECT k, a FROM s EMIT CHANGES LIMIT 2;", EARLIEST)
    assert sorted(all_of_them) == [("new", 2), ("old", 1)]
    assert all_of_them.is_complete and all_of_them.schema.names() == ["K", "A"]


def test_a_push_query_can_be_terminated_and_their_number_is_limited(engines: Callable[..., Any], unique: str) -> None:
    engine = engines(host=NoHost(), properties={"ksql.max.push.queries": 1})
    engine.execute(f"CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='{unique}', PARTITIONS=1, VALUE_FORMAT='JSON');")
    query = engine.push("SELECT * FROM s EMIT CHANGES;")
    with pytest.raises(KsqlError, match="limit of 1"):
        engine.push("SELECT * FROM s EMIT CHANGES;")
    answer = engine.execute(f"TERMINATE {query.query_id};")[0]
    assert (answer["@type"], answer["wasTerminated"]) == ("terminate_query", True)
    assert list(query) == []


def test_an_error_of_a_push_query_is_told(engines: Callable[..., Any], unique: str) -> None:
    engine = engines(host=NoHost())
    engine.execute(
        f"CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='{unique}', PARTITIONS=1, VALUE_FORMAT='JSON') ON ERROR FAIL;"
        f"CREATE STREAM raw (a STRING) WITH (KAFKA_TOPIC='{unique}', VALUE_FORMAT='KAFKA');"
        "INSERT INTO raw VALUES ('no json');"
    )
    with pytest.raises(KsqlError, match="Deserialising failed"):
        list(engine.push("SELECT * FROM s EMIT CHANGES;", EARLIEST))


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("INSERT INTO nowhere VALUES (1);", "NOWHERE does not exist"),
        ("INSERT INTO s (k, aa) VALUES ('x', 1);", "Column name `AA` does not exist"),
        ("INSERT INTO s VALUES ('x', 1);", "Expected a value for each column"),
        ("INSERT INTO s VALUES ('x', 'one', 'b');", "(?i)integer"),
        ("INSERT INTO t (a) VALUES (1);", "Value for primary key column"),
        ("INSERT INTO s (k, ROWOFFSET) VALUES ('x', 1);", "not allowed"),
        ("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON');", "already exists"),
        ("CREATE STREAM n (a INT) WITH (KAFKA_TOPIC='not-there', VALUE_FORMAT='JSON');", "does not exist"),
        ("CREATE TABLE n AS SELECT * FROM s EMIT CHANGES;", "(?i)stream"),
        ("CREATE STREAM n AS SELECT nothing FROM s EMIT CHANGES;", "NOTHING"),
        ("DROP TABLE s;", "Incompatible data source type is STREAM"),
        ("DROP STREAM nothing;", "NOTHING does not exist"),
        ("DROP TYPE nothing;", "does not exist"),
        ("TERMINATE nothing;", "(?i)Unknown queryId"),
        ("SET 'auto.offset.reset'='sideways';", "it takes earliest, latest"),
        ("SHOW CONNECTORS;", "ksql.connect.url"),
        ("DESCRIBE nothing;", "Could not find STREAM/TABLE 'NOTHING'"),
        ("DESCRIBE FUNCTION nothing;", "Can't find any functions"),
        ("SELECT * FROM s EMIT CHANGES;", "/query"),
        ("SELEC;", "(?i)line|expected|mismatched|statement"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(lasting: Any, statement: str, words: str) -> None:
    with pytest.raises(KsqlError, match=words) as raised:
        lasting.execute(statement)
    assert "Traceback" not in str(raised.value)


def test_statements_before_the_one_that_fails_are_done(engine: Any) -> None:
    with pytest.raises(KsqlError) as raised:
        engine.execute("CREATE TYPE point AS STRUCT<x INT, y INT>; DROP STREAM nothing; CREATE TYPE other AS INT;")
    assert [one["commandId"] for one in raised.value.entities] == ["type/`POINT`/create"]
    assert list(engine.catalog.types) == ["POINT"]
    with pytest.raises(KsqlError):
        engine.execute("CREATE TYPE third AS INT; SELEC;")
    assert "THIRD" not in engine.catalog.types  # what cannot be read is seen before anything is done


def test_shows_and_describes(engine: Any, unique: str) -> None:
    def one(statement: str, **settings: Any) -> Any:
        (answer,) = engine.execute(statement, settings)
        return answer

    engine.execute("CREATE TYPE point AS STRUCT<x INT, y INT>;")
    stream = {
        "type": "STREAM",
        "name": "S",
        "topic": f"{unique}s",
        "keyFormat": "KAFKA",
        "valueFormat": "JSON",
        "isWindowed": False,
    }
    assert one("SHOW STREAMS;")["streams"] == [stream]
    assert [table["name"] for table in one("LIST TABLES;")["tables"]] == ["T"]
    assert one("SHOW TYPES;")["types"]["POINT"]["type"] == "STRUCT"
    topics = one("SHOW TOPICS;")
    assert {"name": f"{unique}s", "replicaInfo": [1, 1]} in topics["topics"]
    assert not any(topic["name"].startswith("_") for topic in topics["topics"])
    assert any(topic["name"].endswith("_command") for topic in one("SHOW ALL TOPICS;")["topics"])
    assert {"consumerCount", "consumerGroupCount"} <= one("SHOW TOPICS EXTENDED;")["topics"][0].keys()
    found = one("DESCRIBE s EXTENDED;")["sourceDescription"]
    assert (found["partitions"], found["replication"], found["extended"]) == (2, 1, True)
    assert [(field["name"], field.get("type")) for field in found["fields"]] == [("K", "KEY"), ("A", None), ("B", None)]
    assert [each["name"] for each in one("DESCRIBE STREAMS;")["sourceDescriptions"]] == ["S"]
    functions = {each["name"]: each["type"] for each in one("SHOW FUNCTIONS;")["functions"]}
    assert (functions["UCASE"], functions["COUNT"], functions["EXPLODE"]) == ("SCALAR", "AGGREGATE", "TABLE")
    assert one("DESCRIBE FUNCTION lcase;")["functions"][0]["returnType"] in ("STRING", "VARCHAR")
    properties = {each["name"]: each for each in one("SHOW PROPERTIES;", **EARLIEST)["properties"]}
    assert (properties["auto.offset.reset"]["value"], properties["auto.offset.reset"]["level"]) == ("earliest", "QUERY")
    explained = one("EXPLAIN SELECT * FROM s WHERE a > 1 EMIT CHANGES;")["queryDescription"]
    assert explained["sources"] == ["S"] and "KSTREAM" in explained["topology"]


def test_variables_and_properties_hold_for_what_follows(engine: Any) -> None:
    answers = engine.execute(
        "DEFINE name = 'S'; SET 'auto.offset.reset' = 'earliest'; DESCRIBE ${name}; SHOW VARIABLES; SHOW PROPERTIES;"
        "UNDEFINE name; SHOW VARIABLES;"
    )
    assert [answer["@type"] for answer in answers] == ["sourceDescription", "variables", "properties", "variables"]
    assert answers[1]["variables"] == [{"name": "name", "value": "S"}] or answers[1]["variables"][0]["value"] == "S"
    assert answers[2]["overwrittenProperties"] == ["auto.offset.reset"]
    assert answers[3]["variables"] == []


def test_if_exists_and_if_not_exists_warn(engine: Any, unique: str) -> None:
    for statement in (
        "DROP STREAM IF EXISTS nothing;",
        f"CREATE STREAM IF NOT EXISTS s (a INT) WITH (KAFKA_TOPIC='{unique}s', VALUE_FORMAT='JSON');",
        "DROP TYPE IF EXISTS nothing;",
    ):
        assert [answer["@type"] for answer in engine.execute(statement)] == ["warning_entity"]


def test_alter_and_replace_add_columns_and_take_none_away(engine: Any, unique: str) -> None:
    engine.execute("ALTER STREAM s ADD COLUMN c DOUBLE;")
    assert engine.catalog.sources["S"].schema.names() == ["K", "A", "B", "C"]
    with pytest.raises(KsqlError, match="changed, missing or reordered"):
        engine.execute(
            f"CREATE OR REPLACE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='{unique}s', VALUE_FORMAT='JSON');"
        )


def test_drop_deletes_the_topic_where_it_is_told_to(engine: Any, unique: str) -> None:
    engine.execute("DROP STREAM s; DROP TABLE t DELETE TOPIC;")
    assert engine.catalog.sources == {}
    assert engine.topics.find(f"{unique}s") is not None
    until(lambda: engine.topics.find(f"{unique}t"), None, 10)


def test_asserts(engine: Any, unique: str) -> None:
    found = engine.execute(f"ASSERT TOPIC '{unique}s' WITH (PARTITIONS=2); ASSERT NOT EXISTS TOPIC 'no-such-topic';")
    assert [one["exists"] for one in found] == [True, False]
    with pytest.raises(KsqlError, match="expected 3 got 2"):
        engine.execute(f"ASSERT TOPIC '{unique}s' WITH (PARTITIONS=3) TIMEOUT 0 SECONDS;")
    with pytest.raises(KsqlError, match="does not exist"):
        engine.execute("ASSERT TOPIC 'no-such-topic' TIMEOUT 0 SECONDS;")


def test_print(engine: Any, unique: str) -> None:
    engine.execute("INSERT INTO s (ROWTIME, k, a, b) VALUES (1700000000000, 'x', 1, 'y');")
    lines = [line for line in engine.print_topic(f"PRINT '{unique}s' FROM BEGINNING LIMIT 1;") if line]
    assert lines == [
        "Key format: KAFKA_STRING",
        "Value format: JSON",
        'rowtime: 2023/11/14 22:13:20.000 Z, key: x, value: {"A":1,"B":"y"}, partition: ' + lines[2].rsplit(" ", 1)[1],
    ]
    with pytest.raises(KsqlError, match="Could not find topic"):
        list(engine.print_topic("PRINT 'no-such-topic' LIMIT 1;"))


def test_rows_of_clients_are_checked(engine: Any) -> None:
    engine.insert_row("T", {"k": "x", "a": 5})
    assert rows(engine, "SELECT * FROM t WHERE k = 'x';") == [("x", 5)]
    with pytest.raises(KsqlError, match="does not fit"):
        engine.insert_row("T", {"k": "x", "a": "five"})
    with pytest.raises(KsqlError, match="does not exist"):
        engine.insert_row("T", {"k": "x", "z": 5})


def test_two_servers_share_the_catalog(engines: Callable[..., Any], unique: str) -> None:
    first, second = engines(host=NoHost()), engines(host=NoHost())
    create = "CREATE STREAM {} (a INT) WITH (KAFKA_TOPIC='{}', PARTITIONS=1, VALUE_FORMAT='JSON');"
    for number in range(3):  # each takes the pen from the other
        first.execute(create.format(f"a{number}", f"{unique}a{number}"))
        second.execute(create.format(f"b{number}", f"{unique}b{number}"))
    names = {f"{letter}{number}" for letter in "AB" for number in range(3)}
    until(lambda: set(first.catalog.sources), names, 10)
    assert set(second.catalog.sources) == names
    with pytest.raises(KsqlError, match="already exists"):
        first.execute(create.format("b1", f"{unique}b1"))
    until(lambda: len(first.membership.servers()), 2, 20)
    third = engines(host=NoHost())
    assert set(third.catalog.sources) == names


def test_windows_of_a_table_that_something_else_writes(engines: Callable[..., Any], broker: Any, unique: str) -> None:
    import struct

    from confluent_kafka import Producer

    engine = engines(host=NoHost())
    for name, more in (
        ("tumbling", "WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 MINUTE'"),
        ("session", "WINDOW_TYPE='SESSION'"),
    ):
        engine.execute(
            f"CREATE TABLE {name}s (k STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='{unique}{name}', PARTITIONS=2, "
            f"VALUE_FORMAT='JSON', {more});"
        )
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    # 'a' followed by bytes that look like the beginning of a longer key
    for number, key in enumerate((b"a", b"a\0", b"b")):
        for start in (0, 60_000, 120_000):
            value = f'{{"N": {number * 1000 + start // 60_000}}}'
            producer.produce(f"{unique}tumbling", value, key + struct.pack(">q", start))
            producer.produce(f"{unique}session", value, key + struct.pack(">qq", start + 500, start))
    assert producer.flush(30) == 0
    question = "SELECT WINDOWSTART, WINDOWEND, n FROM {}s WHERE k = 'a'"
    tumbling, session = question.format("tumbling"), question.format("session")
    assert rows(engine, f"{tumbling};") == [(0, 60_000, 0), (60_000, 120_000, 1), (120_000, 180_000, 2)]
    assert rows(engine, f"{tumbling} AND WINDOWSTART = 60000;") == [(60_000, 120_000, 1)]
    assert rows(engine, f"{tumbling} AND WINDOWSTART > 0 AND WINDOWEND < 180000;") == [(60_000, 120_000, 1)]
    assert rows(engine, f"{session};") == [(0, 500, 0), (60_000, 60_500, 1), (120_000, 120_500, 2)]
    assert rows(engine, f"{session} AND WINDOWSTART >= 60000 AND WINDOWEND <= 60500;") == [(60_000, 60_500, 1)]
    assert len(rows(engine, "SELECT * FROM tumblings WHERE k IN ('a', 'b');")) == 6
    assert sorted(rows(engine, "SELECT k, MAX(n) AS m FROM sessions GROUP BY k;"))[0] == ("a", 2)
    assert engine.pull("SELECT * FROM tumblings WHERE k = 'b' LIMIT 1;").schema.names() == [
        "K",
        "WINDOWSTART",
        "WINDOWEND",
        "N",
    ]


def test_rows_are_gone_after_their_time_to_live(engines: Callable[..., Any], unique: str) -> None:
    engine = engines(host=NoHost())
    engine.execute(
        f"CREATE TABLE t (k STRING PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='{unique}', PARTITIONS=1, "
        "VALUE_FORMAT='JSON', TTL='1 HOUR');"
        "INSERT INTO t (ROWTIME, k, a) VALUES (1700000000000, 'old', 1); INSERT INTO t (k, a) VALUES ('new', 2);"
    )
    assert rows(engine, "SELECT * FROM t;") == [("new", 2)]
    assert rows(engine, "SELECT * FROM t WHERE k = 'old';") == []


def test_what_cannot_be_read_is_a_line_of_the_processing_log(
    engines: Callable[..., Any], broker: Any, unique: str
) -> None:
    import json

    engine = engines(host=NoHost(), processing_log_topic=f"{unique}log")
    engine.execute(
        f"CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='{unique}', PARTITIONS=1, VALUE_FORMAT='JSON');"
        f"CREATE STREAM raw (a STRING) WITH (KAFKA_TOPIC='{unique}', VALUE_FORMAT='KAFKA');"
        "INSERT INTO raw VALUES ('no json'); INSERT INTO s VALUES (5);"
    )
    assert list(engine.push("SELECT * FROM s EMIT CHANGES LIMIT 1;", EARLIEST)) == [(5,)]
    lines = [line for line in engine.print_topic(f"PRINT '{unique}log' FROM BEGINNING LIMIT 1;") if line]
    found = json.loads(lines[-1].split("value: ", 1)[1].rsplit(", partition:", 1)[0])
    assert found["message"]["deserializationError"]["topic"] == unique
