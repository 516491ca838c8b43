"""SELECT over rows that are at hand, as pull queries do it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from caudal.ksql.engine.pull import _wanted_keys, _window_starts, relation_of
from caudal.ksql.engine.relational import Item, Relation, join, select
from caudal.ksql.errors import KsqlError
from caudal.ksql.schema import Column, Place, Schema
from caudal.ksql.sources import Format, Source, SourceKind, Window, WindowKind
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.statements import Query
from caudal.ksql.types import BIGINT, INTEGER, STRING, SqlType

PEOPLE = [("ana", 30, "lima"), ("bob", 25, "oslo"), ("cid", 30, "oslo"), ("dan", None, "oslo")]


def query(text: str) -> Query:
    return cast(Query, parse_statement(text))


def relation(alias: str = "P") -> Relation:
    return Relation(
        (Item("NAME", STRING, alias, is_key=True), Item("AGE", INTEGER, alias), Item("CITY", STRING, alias))
    )


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("SELECT * FROM p", ["NAME", "AGE", "CITY"], PEOPLE),
        ("SELECT name, age + 1 FROM p WHERE city = 'lima'", ["NAME", "KSQL_COL_0"], [("ana", 31)]),
        ("SELECT name FROM p WHERE age > 26 AND name <> 'ana'", ["NAME"], [("cid",)]),
        ("SELECT name FROM p ORDER BY age DESC, name DESC", ["NAME"], [("cid",), ("ana",), ("bob",), ("dan",)]),
        ("SELECT name FROM p ORDER BY age, name LIMIT 2", ["NAME"], [("bob",), ("ana",)]),
        ("SELECT age * 2 AS twice FROM p ORDER BY twice LIMIT 1", ["TWICE"], [(50,)]),
        ("SELECT DISTINCT city FROM p", ["CITY"], [("lima",), ("oslo",)]),
        ("SELECT city, COUNT(*) AS n, SUM(age) FROM p GROUP BY city", ["CITY", "N", "KSQL_COL_0"],
         [("lima", 1, 30), ("oslo", 3, 55)]),
        ("SELECT COUNT(*) AS n FROM p", ["N"], [(4,)]),
        ("SELECT COUNT(*) AS n FROM p WHERE city = 'rome'", ["N"], [(0,)]),
        ("SELECT city, COUNT(*) AS n FROM p GROUP BY city HAVING COUNT(*) > 1", ["CITY", "N"], [("oslo", 3)]),
        ("SELECT city, COUNT(*) + 1 AS n FROM p GROUP BY city ORDER BY COUNT(*) DESC", ["CITY", "N"],
         [("oslo", 4), ("lima", 2)]),
        ("SELECT UCASE(city) AS c, COUNT(*) AS n FROM p GROUP BY UCASE(city) ORDER BY c", ["C", "N"],
         [("LIMA", 1), ("OSLO", 3)]),
        ("SELECT p.* FROM p LIMIT 1", ["NAME", "AGE", "CITY"], PEOPLE[:1]),
        ("SELECT name FROM p LIMIT 0", ["NAME"], []),
    ],
)  # fmt: skip
def test_select(text: str, names: list[str], rows: list[Any]) -> None:
    selected = select(query(text), relation())
    assert selected.schema.names() == names
    assert list(selected.rows(PEOPLE)) == rows


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT agee FROM p", "Did you mean 'AGE'"),
        ("SELECT name, COUNT(*) FROM p GROUP BY city", "not part of GROUP BY: NAME"),
        ("SELECT name FROM p WHERE COUNT(*) > 1", "not allowed in WHERE"),
        ("SELECT name AS a, city AS a FROM p", "duplicate column: A"),
        ("SELECT x.* FROM p", "no source called X"),
        ("SELECT EXPLODE(ARRAY[1, 2]) FROM p", "table functions"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    with pytest.raises(KsqlError, match=words):
        select(query(text), relation())


def test_key_columns_stay_key_columns() -> None:
    selected = select(query("SELECT age, name AS who FROM p"), relation())
    assert [(column.name, column.place) for column in selected.schema] == [("AGE", Place.VALUE), ("WHO", Place.KEY)]


CITIES = Relation((Item("CITY", STRING, "C", is_key=True), Item("COUNTRY", STRING, "C")))


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("JOIN", [("ana", "peru"), ("bob", "norway"), ("cid", "norway"), ("dan", "norway")]),
        ("LEFT JOIN", [("ana", "peru"), ("bob", "norway"), ("cid", "norway"), ("dan", "norway"), ("eve", None)]),
        ("RIGHT JOIN", [("ana", "peru"), ("bob", "norway"), ("cid", "norway"), ("dan", "norway"), (None, "italy")]),
        ("FULL OUTER JOIN",
         [("ana", "peru"), ("bob", "norway"), ("cid", "norway"), ("dan", "norway"), ("eve", None), (None, "italy")]),
    ],
)  # fmt: skip
def test_joins(kind: str, rows: list[Any]) -> None:
    parsed = query(f"SELECT p.name, c.country FROM p {kind} c ON c.city = p.city")
    both, run = join(parsed.joins[0].kind, relation(), CITIES, parsed.joins[0].on)
    people = [*PEOPLE, ("eve", 20, None)]
    found = run(people, [("lima", "peru"), ("oslo", "norway"), ("rome", "italy")])
    assert list(select(parsed, both).rows(found)) == rows


def test_a_join_checks_all_of_its_condition() -> None:
    parsed = query("SELECT p.name FROM p JOIN c ON p.city = c.city AND p.age > 26")
    both, run = join(parsed.joins[0].kind, relation(), CITIES, parsed.joins[0].on)
    assert list(select(parsed, both).rows(run(PEOPLE, [("oslo", "norway")]))) == [("cid",)]
    with pytest.raises(KsqlError, match="needs an equality"):
        other = query("SELECT p.name FROM p JOIN c ON p.age > 26").joins[0]
        join(other.kind, relation(), CITIES, other.on)


def table(*keys: SqlType, window: Window | None = None) -> Source:
    columns = [Column(f"K{number}", type, Place.KEY) for number, type in enumerate(keys)]
    schema = Schema((*columns, Column("A", STRING)))
    return Source("T", SourceKind.TABLE, schema, "t", Format("KAFKA"), Format("JSON"), window)


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("k0 = 'a'", [("a",)]),
        ("'a' = k0", [("a",)]),
        ("t.k0 = 'a' AND a = 'x'", [("a",)]),
        ("k0 IN ('a', 'b', 'a')", [("a",), ("b",)]),
        ("k0 = 'a' || 'b'", [("ab",)]),
        ("k0 = NULL", []),
        ("k0 = 'a' OR a = 'x'", None),
        ("k0 > 'a'", None),
        ("k0 = a", None),
        ("NOT k0 = 'a'", None),
        ("a = 'x'", None),
    ],
)
def test_keys_that_where_names(where: str, keys: list[Any] | None) -> None:
    assert _wanted_keys(query(f"SELECT * FROM t WHERE {where}").where, table(STRING), "T") == keys


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        ("k0 = 'a' AND k1 = 5", [("a", 5)]),
        ("k0 IN ('a', 'b') AND k1 IN (1, 2)", [("a", 1), ("a", 2), ("b", 1), ("b", 2)]),
        ("k0 = 'a'", None),
    ],
)
def test_keys_of_several_columns(where: str, keys: list[Any] | None) -> None:
    assert _wanted_keys(query(f"SELECT * FROM t WHERE {where}").where, table(STRING, BIGINT), "T") == keys


@pytest.mark.parametrize(
    ("where", "low", "high"),
    [
        ("WINDOWSTART = 100", 100, 100),
        ("WINDOWSTART >= 100 AND 200 > WINDOWSTART", 100, 200),
        ("WINDOWSTART BETWEEN 5 AND 9", 5, 9),
        ("WINDOWEND <= 100", None, 90),
        ("a = 'x' AND WINDOWEND > 100", 90, None),
        ("WINDOWSTART = 100 OR a = 'x'", None, None),
    ],
)
def test_window_bounds(where: str, low: int | None, high: int | None) -> None:
    source = table(STRING, window=Window(WindowKind.TUMBLING, 10))
    found = _window_starts(query(f"SELECT * FROM t WHERE {where}").where, source, "T")
    assert found[0] == (-(1 << 62) if low is None else low)
    assert found[1] == ((1 << 62) if high is None else high)


def test_a_star_of_a_windowed_table_shows_the_window_after_the_key() -> None:
    source = table(STRING, window=Window(WindowKind.TUMBLING, 10))
    selected = select(query("SELECT * FROM t"), relation_of(source, "T"))
    assert selected.schema.names() == ["K0", "WINDOWSTART", "WINDOWEND", "A"]
    assert list(selected.rows([("k", "x", 7, 0, 10)])) == [("k", 0, 10, "x")]
