"""The host of a push query: a topology in process, rows as they come out. Kafka is left out here."""

from __future__ import annotations

import pickle
from typing import Any

from caudal.ksql.catalog import Catalog
from caudal.ksql.engine.engine import columns_of
from caudal.ksql.engine.push_worker import Host, Job, Tombstone, _Message
from caudal.ksql.planner.plan import plan_query
from caudal.ksql.schema import Column, Place, Schema
from caudal.ksql.sources import Format, Source, SourceKind
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.types import INTEGER, STRING


def catalog() -> Catalog:
    made = Catalog()
    columns = Schema((Column("K", STRING, Place.KEY), Column("A", INTEGER)))
    for name, kind in (("S", SourceKind.STREAM), ("T", SourceKind.TABLE)):
        made.sources[name] = Source(name, kind, columns, name.lower(), Format("KAFKA"), Format("JSON"))
    return made


def host(text: str, **settings: Any) -> Host:
    query: Any = parse_statement(text)
    planned = plan_query(query, catalog(), application_id="push", properties={"auto.offset.reset": "earliest"})
    topics = {topic for sub in planned.topology.subtopologies for topic in sub.source_topics}
    begins = {(topic, 0): 0 for topic in topics if topic in ("s", "t")}
    job = Job(planned.topology, planned.topic, columns_of(planned), begins, {}, **settings)
    return Host(pickle.loads(pickle.dumps(job)))  # as the process gets it


def message(
    key: str | None, value: str | None, *, topic: str = "s", partition: int = 0, offset: int = 0, timestamp: int = 0
) -> _Message:
    return _Message(
        topic,
        partition,
        offset,
        timestamp,
        None if key is None else key.encode(),
        None if value is None else value.encode(),
        (),
    )


def test_rows_are_in_the_order_of_the_select() -> None:
    found = host("SELECT a, k, ROWPARTITION, ROWOFFSET FROM s WHERE a > 1 EMIT CHANGES;")
    found.process(message("x", '{"A": 1}'))
    found.process(message("y", '{"A": 2}', partition=3, offset=17))
    assert found.rows == [(2, "y", 3, 17)]


def test_an_aggregate_goes_through_its_repartition_topic() -> None:
    found = host("SELECT a, COUNT(*) AS n FROM s GROUP BY a EMIT CHANGES;")
    for key in ("x", "y", "z"):
        found.process(message(key, '{"A": 1}'))
    assert found.rows == [(1, 1), (1, 2), (1, 3)]


def test_a_limit_ends_it() -> None:
    found = host("SELECT * FROM s EMIT CHANGES;", limit=2)
    found.process(message("x", '{"A": 1}'))
    done = [found.is_done]
    found.process(message("y", '{"A": 2}'))
    done.append(found.is_done)
    assert done == [False, True]
    found.process(message("z", '{"A": 3}'))
    assert found.rows == [("x", 1), ("y", 2)]


def test_a_table_takes_rows_back() -> None:
    found = host("SELECT * FROM t EMIT CHANGES;")
    found.process(message("x", '{"A": 1}', topic="t"))
    found.process(message("x", None, topic="t"))
    assert found.rows == [("x", 1), ("x", None)]
    assert isinstance(found.rows[1], Tombstone)


def test_a_record_that_cannot_be_read_is_left_out() -> None:
    found = host("SELECT * FROM s EMIT CHANGES;")
    found.process(message("x", "no json"))
    found.process(message("x", '{"A": 1}'))
    assert found.rows == [("x", 1)]


def test_final_results_come_when_the_window_is_closed() -> None:
    found = host(
        "SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 SECOND, GRACE PERIOD 0 SECONDS) GROUP BY k EMIT FINAL;"
    )
    for timestamp in (100, 200, 900):
        found.process(message("x", '{"A": 1}', timestamp=timestamp))
    assert found.rows == []
    found.process(message("x", '{"A": 1}', timestamp=2000))
    assert found.rows == [("x", 3)]


def test_keyed_rows_say_which_they_replace() -> None:
    found = host("SELECT * FROM t EMIT CHANGES;", keyed=True)
    found.process(message("x", '{"A": 1}', topic="t"))
    found.process(message("x", None, topic="t"))
    (first, row), (second, gone) = found.rows
    assert first == second and row == ("x", 1) and gone is None
