"""Which pull queries are asked again with another key, and that they answer as if they were analysed each time."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.ksql.catalog import Catalog
from caudal.ksql.engine.key_lookups import key_lookup, split_key
from caudal.ksql.engine.pull import relation_of
from caudal.ksql.engine.relational import select
from caudal.ksql.formats.ddl import source_of
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.statements import CreateSource, Query


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("SELECT * FROM T WHERE ID = 'a';", "a"),
        ("select n + 1 from t where id='a b' ; ", "a b"),
        ("SELECT *\nFROM T\nWHERE ID =\n'';", ""),
        ("SELECT * FROM T WHERE ID = 17", 17),
        ("SELECT * FROM T WHERE ID = 1234567890;", None),  # no INTEGER
        ("SELECT * FROM T WHERE ID = -1;", None),
        ("SELECT * FROM T WHERE ID = 'it''s';", None),
        ("SELECT * FROM T WHERE ID = 'a' AND N = 1;", None),
        ("SELECT * FROM T WHERE ID = 'a' LIMIT 1;", None),
        ("SELECT * FROM T WHERE ID IN ('a');", None),
        ("SELECT 'x' FROM T WHERE ID = 'a';", None),
        ("SELECT * FROM `t` WHERE ID = 'a';", None),
        ("SELECT * FROM T -- all\nWHERE ID = 'a';", None),
        ("SELECT * FROM T /* all */ WHERE ID = 'a';", None),
        ("SELECT * FROM T WHERE T.ID = 'a';", None),
        ("SELECT * FROM T WHERE ID = 'a'; SELECT * FROM T WHERE ID = 'b';", None),
        ("SELECT * FROM T WHERE ID = 'a' EMIT CHANGES;", None),
        (f"SELECT {'N, ' * 1000}N FROM T WHERE ID = 'a';", None),
    ],
)
def test_the_key_of_a_statement(text: str, key: Any) -> None:
    found = split_key(text)
    assert (found and found[1]) == key


def catalog() -> Catalog:
    made = Catalog()
    for text in (
        "CREATE TABLE T (ID STRING PRIMARY KEY, N INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');",
        "CREATE TABLE NUMBERED (ID BIGINT PRIMARY KEY, N INT) WITH (KAFKA_TOPIC='n', VALUE_FORMAT='JSON');",
        "CREATE TABLE PAIRS (A STRING PRIMARY KEY, B STRING PRIMARY KEY, N INT) WITH (KAFKA_TOPIC='p', FORMAT='JSON');",
        "CREATE STREAM S (ID STRING KEY, N INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
    ):
        statement = parse_statement(text)
        assert isinstance(statement, CreateSource)
        made.sources[statement.name] = source_of(statement, made, registry=None, statement_properties={})
    return made


def lookup_of(text: str, known: Catalog) -> Any:
    query, split = parse_statement(text), split_key(text)
    assert isinstance(query, Query) and split is not None
    return key_lookup(query, split[1], known, relation_of)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM T WHERE ID = 'a';",
        "SELECT N * 2 AS TWICE, ROWTIME FROM T WHERE ID = 'a';",
        "SELECT COUNT(*) AS ROWS_, SUM(N) AS N FROM T WHERE ID = 'a';",
        "SELECT * FROM NUMBERED X WHERE ID = 7;",
    ],
)
def test_it_answers_as_the_whole_query_does(text: str) -> None:
    known = catalog()
    lookup = lookup_of(text, known)
    query = parse_statement(text)
    assert isinstance(query, Query) and lookup is not None
    key = split_key(text)[1]  # type: ignore[index]
    others = [] if isinstance(key, int) else [("b", 1, 5)]
    row = (key, 20, 1_000)
    whole = select(query, relation_of(lookup.source, query.relation.alias))
    assert lookup.schema == whole.schema
    assert list(lookup.rows([row])) == list(whole.rows([row, *others]))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM T WHERE N = 7;",  # not the key
        "SELECT * FROM T WHERE ID = 7;",  # the comparison's to refuse
        "SELECT * FROM NUMBERED WHERE ID = '7';",
        "SELECT * FROM PAIRS WHERE A = 'a';",
        "SELECT * FROM S WHERE ID = 'a';",
        "SELECT * FROM T JOIN NUMBERED ON T.N = NUMBERED.ID WHERE N = 7;",
        "SELECT * FROM (SELECT ID, N FROM T) X WHERE ID = 'a';",
    ],
)
def test_other_queries_are_not_taken_for_look_ups(text: str) -> None:
    assert lookup_of(text, catalog()) is None
