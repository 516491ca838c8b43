"""The catalog and its record in the command topic: what is written is read back, what cannot be read is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from caudal.ksql.catalog import Catalog, PersistentQuery, QueryKind, Wanted
from caudal.ksql.engine import command_log
from caudal.ksql.engine.command_log import Change, Command, CommandLog, apply
from caudal.ksql.engine.definitions import BrokenDefinition, query_data, read_query, read_type, source_data, type_data
from caudal.ksql.errors import KsqlError
from caudal.ksql.schema import Column, Place, Schema
from caudal.ksql.sources import Format, Source, SourceKind
from caudal.ksql.types import BIGINT, STRING, array, decimal, mapping, struct
from caudal.registry.index import Entry
from caudal.registry.writer import PenLost, WriteFailed


def source(name: str, query_id: str | None = None, kind: SourceKind = SourceKind.STREAM) -> Source:
    columns = (Column("K", STRING, Place.KEY), Column("A", BIGINT))
    return Source(name, kind, Schema(columns), name.lower(), Format("KAFKA"), Format("JSON"), query_id=query_id)


def query(id: str, sink: str, *reads: str, kind: QueryKind = QueryKind.CREATE_AS) -> PersistentQuery:
    read = tuple(source(name) for name in reads)
    return PersistentQuery(id, "CREATE …", kind, sink, sink.lower(), reads, read, {"auto.offset.reset": "earliest"})


def catalog() -> Catalog:
    made = Catalog()
    made.sources = {name: source(name, query_id) for name, query_id in (("A", None), ("B", "CSAS_B_1"))}
    made.queries = {"CSAS_B_1": query("CSAS_B_1", "B", "A")}
    made.last_query_number = 1
    return made


def test_a_query_is_read_back_as_it_was() -> None:
    made = query("CSAS_B_1", "B", "A")
    assert read_query(json.loads(json.dumps(query_data(made)))) == made


@pytest.mark.parametrize(
    "type", [STRING, decimal(5, 2), array(BIGINT), mapping(STRING, array(STRING)), struct(("A", STRING), ("b", BIGINT))]
)
def test_a_type_is_read_back_as_it_was(type: Any) -> None:
    assert read_type(json.loads(json.dumps(type_data(type)))) == type


def test_what_is_read_or_written_by_queries_cannot_be_dropped() -> None:
    found = catalog()
    with pytest.raises(KsqlError, match=r"Cannot drop A\. The following queries read from this source: \[CSAS_B_1\]"):
        found.check_can_drop("A")
    found.check_can_drop("B")  # its own query ends with it
    found.queries["INSERTQUERY_2"] = query("INSERTQUERY_2", "B", "A", kind=QueryKind.INSERT)
    with pytest.raises(KsqlError, match=r"write into this source: \[INSERTQUERY_2\]"):
        found.check_can_drop("B")


def test_query_ids_count_on_from_the_last_that_was_given() -> None:
    found = catalog()
    assert found.next_query_id(QueryKind.CREATE_AS, "X", is_table=False) == "CSAS_X_2"
    assert found.next_query_id(QueryKind.CREATE_AS, "X", is_table=True) == "CTAS_X_2"
    del found.queries["CSAS_B_1"]
    assert found.next_query_id(QueryKind.INSERT, "X", is_table=False) == "INSERTQUERY_2"


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(KsqlError, match="CSAS_B_1"):
        catalog().query("CSAS_B_2")


def test_a_copy_is_independent() -> None:
    first = catalog()
    second = first.copy()
    del second.sources["A"]
    assert "A" in first.sources


# -- the log, without Kafka --------------------------------------------------------------------------------------------


class Log(CommandLog):
    """Delivers records as the reader would."""

    def __init__(self) -> None:
        self.heard: list[Catalog] = []
        super().__init__({}, "test", self.heard.append)

    def deliver(self, *records: tuple[str | None, Any]) -> None:
        entries = [
            Entry(self.position + number, None if key is None else key.encode(), value)
            for number, (key, value) in enumerate(records)
        ]
        self._deliver(entries, self.position + len(entries))


def record(definition: Any, format: int = 1) -> bytes:
    return json.dumps({"format": format, "definition": definition, "statement": "", "change": "x"}).encode()


def test_records_become_the_catalog_and_tombstones_end_things() -> None:
    log = Log()
    log.deliver(
        ("source/A", record(source_data(source("A")))),
        ("query/CSAS_B_1", record(query_data(query("CSAS_B_1", "B", "A")))),
        ("type/T", record(type_data(array(STRING)))),
        ("setting/auto.offset.reset", record("earliest")),
        ("counter/queries", record(4)),
    )
    assert log.catalog.sources["A"] == source("A")
    assert log.catalog.queries["CSAS_B_1"].wanted is Wanted.RUNNING
    assert log.catalog.types == {"T": array(STRING)}
    assert log.catalog.settings == {"auto.offset.reset": "earliest"}
    before = log.catalog
    log.deliver(("source/A", None), ("type/T", None), ("counter/queries", record(2)))
    assert not log.catalog.sources and not log.catalog.types
    assert log.catalog.last_query_number == 4  # numbers are never given twice
    assert "A" in before.sources  # whoever has the old one keeps it as it was
    assert len(log.heard) == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, record({})),
        ("source/A", b"\xff\xfe"),
        ("source/A", b"[1]"),
        ("source/A", record({"name": "A"})),
        ("source/A", record(source_data(source("A")), format=99)),
        ("source/", record(source_data(source("A")))),
        ("type/T", record("NO TYPE AT ALL")),
        ("query/Q", record(17)),
        ("counter/queries", record("many")),
        ("other/thing", record(1)),
        ("nonsense", record(1)),
    ],
)
def test_broken_records_are_counted_and_left_out(key: str | None, value: bytes) -> None:
    log = Log()
    log.deliver(("source/GOOD", record(source_data(source("GOOD")))), (key, value))
    assert log.broken == 1
    assert set(log.catalog.sources) == {"GOOD"}
    log.deliver(("source/NEXT", record(source_data(source("NEXT")))))
    assert set(log.catalog.sources) == {"GOOD", "NEXT"}


def test_apply_changes_nothing_where_it_refuses() -> None:
    found = catalog()
    with pytest.raises(BrokenDefinition):
        apply(found, command_log.SOURCE, "A", {"no": "source"})
    assert found.sources["A"] == source("A")


def test_a_listener_that_fails_does_not_stop_the_log() -> None:
    def fail(found: Catalog) -> None:
        raise RuntimeError("no")

    log = Log()
    log._listener = fail
    log.deliver(("type/T", record(type_data(STRING))))
    assert log.position == 1 and "T" in log.catalog.types


# -- writing, with a pen that does as it is told -----------------------------------------------------------------------


class FakePen:
    """Appends to the log at once, or fails as told."""

    def __init__(self, log: Log, failures: list[tuple[Exception, bool]]) -> None:
        self.log = log
        self.failures = failures

    def append(self, records: list[tuple[bytes, bytes | None]]) -> int:
        if self.failures:
            failure, written = self.failures.pop(0)
            if written:
                self.log.deliver(*((key.decode(), value) for key, value in records))
            raise failure
        self.log.deliver(*((key.decode(), value) for key, value in records))
        return self.log.position - 1

    def close(self) -> None:
        pass


@pytest.fixture
def writable(monkeypatch: pytest.MonkeyPatch) -> tuple[Log, list[tuple[Exception, bool]]]:
    log, failures = Log(), list[tuple[Exception, bool]]()
    monkeypatch.setattr(command_log, "Pen", lambda *_: FakePen(log, failures))
    monkeypatch.setattr(log, "_read_to_end", lambda seconds: None)
    return log, failures


def creating(found: Catalog) -> Command:
    if "A" in found.sources:
        raise KsqlError("A exists")
    return Command((Change("source/A", source_data(source("A"))), Change("counter/queries", 0)))


def test_a_lost_pen_is_taken_again_and_the_change_decided_anew(writable: Any) -> None:
    log, failures = writable
    failures.append((PenLost("fenced"), False))
    assert log.write(creating) == 1
    assert "A" in log.catalog.sources


def test_another_server_that_was_quicker_is_seen(writable: Any) -> None:
    log, failures = writable
    calls = []

    def decide(found: Catalog) -> Command:
        calls.append(set(found.sources))
        if len(calls) == 1:
            log.deliver(("source/A", record(source_data(source("A")))))  # the other one's
        return creating(found)

    failures.append((PenLost("fenced"), False))
    with pytest.raises(KsqlError, match="A exists"):
        log.write(decide)
    assert calls == [set(), {"A"}]


def test_a_write_of_which_nobody_knows_is_looked_up_and_not_repeated(writable: Any) -> None:
    log, failures = writable
    failures.append((WriteFailed("timed out"), True))
    assert log.write(creating) == 1
    assert log.position == 2  # once


def test_a_write_that_did_not_arrive_is_repeated(writable: Any) -> None:
    log, failures = writable
    failures.append((WriteFailed("timed out"), False))
    assert log.write(creating) == 1
    assert log.position == 2


def test_it_gives_up_with_a_sentence(writable: Any) -> None:
    log, failures = writable
    failures.extend([(PenLost("fenced"), False)] * 10)
    with pytest.raises(KsqlError, match="could not be written to the command topic"):
        log.write(creating)
