"""What a plan says besides its rows: schema, topics, co-partitioning, where to begin, headers, EXPLAIN."""

from __future__ import annotations

import pytest
from tests.ksql.harness import Harness
from tests.unit.ksql.planner.case_files import SOURCES, harness

from caudal.ksql.errors import KsqlError
from caudal.ksql.formats.json import JsonRow
from caudal.ksql.planner.explain import explain
from caudal.ksql.planner.partitions import check_partitions
from caudal.ksql.sources import SourceKind, Window, WindowKind
from caudal.plan.steps import WindowAggregate
from caudal.plan.topology import SinkNode, SourceNode
from caudal.runtime.batch.partitioner import partition_of
from caudal.runtime.record import Windowed

HOUR = 3_600_000


def test_a_windowed_result_says_its_window_and_retention() -> None:
    (plan,) = harness().execute(
        "CREATE TABLE o AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR, RETENTION 7 DAYS, "
        "GRACE PERIOD 1 HOUR) GROUP BY k;"
    )
    assert (plan.kind, plan.window, plan.retention) == (
        SourceKind.TABLE,
        Window(WindowKind.TUMBLING, HOUR),
        7 * 24 * HOUR,
    )
    (store,) = plan.topology.stores.values()
    assert store.retention == 7 * 24 * HOUR


@pytest.mark.parametrize(
    ("clause", "grace", "retention"),
    [
        ("SIZE 1 HOUR", 23, 24),
        ("SIZE 30 HOURS", 0, 30),
        ("SIZE 1 HOUR, GRACE PERIOD 2 HOURS", 2, 3),
        ("SIZE 1 HOUR, RETENTION 5 HOURS", 4, 5),
        ("SIZE 1 HOUR, RETENTION 48 HOURS", 23, 48),
    ],
)
def test_defaults_of_grace_and_retention(clause: str, grace: int, retention: int) -> None:
    """Windows take late rows until a day after their start; retention covers that."""
    (plan,) = harness().execute(
        f"CREATE TABLE o AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING ({clause}) GROUP BY k;"
    )
    steps = [getattr(node, "step", None) for node in plan.topology.nodes]
    (step,) = [step for step in steps if isinstance(step, WindowAggregate)]
    assert (step.windows.grace, plan.retention) == (grace * HOUR, retention * HOUR)


def test_an_avro_key_is_named_after_its_sink() -> None:
    (plan,) = harness().execute("CREATE STREAM line WITH (FORMAT='AVRO') AS SELECT * FROM m;")
    assert dict(plan.key_format.properties)["full_schema_name"] == "io.confluent.ksql.avro_schemas.LineKey"


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT k FROM s WHERE a > 1 EMIT CHANGES;", ["A"]),
        ("SELECT k, COUNT(*) FROM s GROUP BY k EMIT CHANGES;", []),
        ("SELECT b, SUM(a) FROM s GROUP BY b EMIT CHANGES;", ["A", "B"]),
        ("SELECT TRANSFORM(l, a => a + 1) FROM x EMIT CHANGES;", ["L"]),
        ("SELECT st->* FROM x EMIT CHANGES;", ["ST"]),
        ("SELECT * FROM s WHERE a > 1 EMIT CHANGES;", ["A", "B"]),
        ("SELECT v FROM t EMIT CHANGES;", ["V", "W"]),  # a table's rows are kept
        ("SELECT a FROM s JOIN t ON s.k = t.k EMIT CHANGES;", ["A", "B"]),
        ("SELECT k, a FROM s UNION ALL SELECT k, a + 1 FROM s EMIT CHANGES;", ["A", "B"]),  # one reader for both
    ],
)
def test_only_the_columns_that_a_query_names_are_read(sql: str, read: list[str]) -> None:
    (plan,) = harness().execute(sql)
    source = next(node for node in plan.topology.nodes if isinstance(node, SourceNode))
    assert isinstance(source.value, JsonRow)
    assert [column.name for column in source.value.columns] == read


def test_the_column_of_the_time_is_read() -> None:
    (plan,) = harness().execute(
        "CREATE STREAM z (k STRING KEY, a INT, b INT, ts BIGINT) WITH (KAFKA_TOPIC='z', VALUE_FORMAT='JSON', "
        "TIMESTAMP='ts'); SELECT b FROM z EMIT CHANGES;"
    )
    (source,) = [node for node in plan.topology.nodes if isinstance(node, SourceNode)]
    assert isinstance(source.value, JsonRow) and source.timestamp is not None
    assert [column.name for column in source.value.columns] == ["B", "TS"]
    assert source.timestamp.call(("x",), (1, 5), 99) == 5


def test_sources_are_named_once_in_the_order_they_are_read() -> None:
    (plan,) = harness().execute(
        "SELECT * FROM s a JOIN t ON a.k = t.k JOIN (SELECT k, c FROM r) i WITHIN 1 HOUR ON a.k = i.k EMIT CHANGES;"
    )
    assert plan.sources == ("S", "T", "R")


def test_topics_that_need_equal_partitions_are_declared() -> None:
    (plan,) = harness().execute("CREATE STREAM o AS SELECT s.k AS k, a, v FROM s JOIN t ON s.k = t.k;")
    assert plan.topology.copartitioned == [frozenset({"s", "t"})]


def test_a_foreign_key_join_needs_no_equal_partitions() -> None:
    (plan,) = harness().execute("CREATE TABLE o AS SELECT t.k AS k, name FROM t JOIN p ON t.v = p.id;")
    assert not any({"t", "p"} <= group for group in plan.topology.copartitioned)


def test_sources_of_unequal_partitions_cannot_be_joined() -> None:
    run = harness()
    (plan,) = run.execute("CREATE STREAM o AS SELECT s.k AS k, a, v FROM s JOIN t ON s.k = t.k;")
    check_partitions(plan, run.catalog, {"s": 2, "t": 2})
    with pytest.raises(KsqlError, match=r"Can't join S with T since .* S partitions = 2; T partitions = 3."):
        check_partitions(plan, run.catalog, {"s": 2, "t": 3})


def test_what_is_repartitioned_may_have_any_number_of_partitions() -> None:
    run = harness()
    (plan,) = run.execute("CREATE STREAM o AS SELECT s.a AS id, name FROM s JOIN p ON s.a = p.id;")
    check_partitions(plan, run.catalog, {"s": 2, "p": 3})


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, {"s": "latest", "t": "earliest"}),
        ({"auto.offset.reset": "earliest"}, {"s": "earliest", "t": "earliest"}),
        ({"ksql.streams.auto.offset.reset": "latest"}, {"s": "latest", "t": "earliest"}),
    ],
)
def test_where_a_query_begins(properties: dict[str, str], expected: dict[str, str]) -> None:
    run = Harness(properties=properties)
    run.execute(SOURCES)
    (plan,) = run.execute("CREATE STREAM o AS SELECT s.k AS k, a, v FROM s JOIN t ON s.k = t.k;")
    sources = [node for node in plan.topology.nodes if isinstance(node, SourceNode)]
    assert {node.topics[0]: node.reset for node in sources} == expected


def test_a_reset_that_there_is_not() -> None:
    run = Harness(properties={"auto.offset.reset": "middle"})
    run.execute(SOURCES)
    with pytest.raises(KsqlError, match="must be 'earliest' or 'latest', not 'middle'"):
        run.execute("SELECT * FROM s EMIT CHANGES;")


def test_headers_are_columns() -> None:
    run = harness()
    run.execute("CREATE STREAM o AS SELECT k, hs FROM h; CREATE STREAM o1 AS SELECT * FROM h1;")
    run.insert("H", K="a", A=1, headers=(("x", b"1"), ("y", None)))
    run.insert("H1", K="a", A=1, headers=(("trace", b"1"), ("trace", b"2")))
    run.insert("H1", K="b", A=2)
    assert run.rows("O")[0]["HS"] == [{"KEY": "x", "VALUE": b"1"}, {"KEY": "y", "VALUE": None}]
    assert [row["TRACE"] for row in run.rows("O1")] == [b"2", None]


def test_headers_that_nobody_asks_for_cost_nothing() -> None:
    (plan,) = harness().execute("CREATE STREAM o AS SELECT k, a FROM h;")
    assert not any(type(getattr(node, "step", None)).__name__ == "RecordColumns" for node in plan.topology.nodes)


def test_a_push_query_has_rows_for_formats_and_its_own_topic() -> None:
    (plan,) = harness().execute("SELECT a, k FROM s EMIT CHANGES;")
    assert (plan.topic, plan.key_format.name, plan.value_format.name) == ("query-0-out", "ROWS", "ROWS")
    assert plan.selected == ("A", "K")
    assert str(plan.schema) == "K STRING KEY, A INTEGER"


def test_a_plain_union_says_that_it_keeps_duplicates() -> None:
    (plan,) = harness().execute("SELECT k, a FROM s UNION SELECT k, c FROM r EMIT CHANGES;")
    assert plan.warnings == (
        "UNION keeps duplicates as UNION ALL does: a stream has no end at which they could be told.",
    )


def test_one_topic_with_two_meanings_in_one_query() -> None:
    run = harness()
    run.execute("CREATE STREAM s2 (k STRING KEY, a BIGINT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
    with pytest.raises(KsqlError, match="The topic 's' of S2 is read in this query by another source as well"):
        run.execute("SELECT * FROM s JOIN s2 WITHIN 1 HOUR ON s.k = s2.k EMIT CHANGES;")


def test_a_stream_and_a_table_of_one_topic() -> None:
    run = harness()
    run.execute(
        "CREATE TABLE st (k STRING PRIMARY KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
        "CREATE STREAM o AS SELECT s.k AS k, s.a AS a, st.a AS ta FROM s JOIN st ON s.k = st.k;"
    )
    run.insert("S", K="a", A=1)
    run.insert("S", K="a", A=2, at=1)
    assert [(row["A"], row["TA"]) for row in run.rows("O")] in ([(1, 1), (2, 2)], [(2, 1)])


def test_explain() -> None:
    (plan,) = harness().execute(
        "CREATE TABLE o AS SELECT b, SUM(a) AS n FROM s JOIN t ON s.k = t.k WHERE a > 1 GROUP BY b;"
    )
    said = explain(plan, "CTAS_O_0")
    assert said.execution_plan.splitlines() == [
        " > [ SINK ] | Schema: B STRING KEY, N INTEGER | Logger: CTAS_O_0.O | O",
        "\t > [ PROJECT ] | Schema: B STRING KEY, N INTEGER | Logger: CTAS_O_0.Project | "
        "KSQL_GROUP_0 AS B, KSQL_AGG_VARIABLE_0 AS N",
        "\t\t > [ AGGREGATE ] | Schema: KSQL_GROUP_0 STRING KEY, KSQL_AGG_VARIABLE_0 INTEGER | "
        "Logger: CTAS_O_0.Aggregate | GROUP BY S.B: SUM(S.A)",
        "\t\t\t > [ FILTER ] | Schema: S_K STRING KEY, S_A INTEGER, S_B STRING, T_K STRING KEY, T_V INTEGER, "
        "T_W STRING | Logger: CTAS_O_0.WhereFilter | S.A > 1",
        "\t\t\t\t > [ JOIN ] | Schema: S_K STRING KEY, S_A INTEGER, S_B STRING, T_K STRING KEY, T_V INTEGER, "
        "T_W STRING | Logger: CTAS_O_0.Join | INNER JOIN ON S.K = T.K",
        "\t\t\t\t\t > [ SOURCE ] | Schema: K STRING KEY, A INTEGER, B STRING | Logger: CTAS_O_0.KafkaTopic_Left | S",
        "\t\t\t\t\t > [ SOURCE ] | Schema: K STRING KEY, V INTEGER, W STRING | Logger: CTAS_O_0.KafkaTopic_Right | T",
    ]
    assert "Sub-topology: 0" in said.topology
    assert said.subtopologies[0] == (
        "Sub-topology 0: reads s, t; keeps KafkaTopic_Right-Reduce; writes query-0-Aggregate-GroupBy-repartition"
    )
    assert said.subtopologies[-1] == "These topics need the same number of partitions: s, t"
    assert said.lane.startswith("Lane: task (")


def test_all_windows_of_a_key_lie_in_one_partition() -> None:
    """As Kafka Streams writes them: by the key without the window, so by the same bytes as without windows."""
    (plan,) = harness().execute(
        "CREATE TABLE o AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY k;"
    )
    sink = next(node for node in plan.topology.nodes if isinstance(node, SinkNode))
    assert sink.partitioner is not None
    chosen = {sink.partitioner.call("O", Windowed(("a",), start, start + 60_000), (1,), 8) for start in (0, 60_000)}
    assert chosen == {partition_of(b"a", 8)}
