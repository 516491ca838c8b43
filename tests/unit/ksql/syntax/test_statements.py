"""Statements: their canonical text, the parts that the text does not show, and types."""

from __future__ import annotations

import pytest
from tests.unit.ksql.syntax.case_files import in_pairs

from caudal.ksql.errors import KsqlError, Position, SyntaxProblem
from caudal.ksql.schema import Place
from caudal.ksql.sources import SourceKind, WindowKind
from caudal.ksql.syntax import statements as ast
from caudal.ksql.syntax import tree
from caudal.ksql.syntax.format import format_statement
from caudal.ksql.syntax.parser import parse_script, parse_statement, parse_type, resolve_type
from caudal.ksql.types import INTEGER, STRING, SqlType, array, struct

STATEMENTS = in_pairs("statements.txt")


@pytest.mark.parametrize(("written", "canonical"), STATEMENTS, ids=[case[0][:60] for case in STATEMENTS])
def test_a_statement_has_one_text(written: str, canonical: str) -> None:
    parsed = parse_statement(written)
    assert format_statement(parsed) == canonical
    assert parse_statement(canonical) == parsed
    assert parsed.text == written.rstrip(";")


def test_a_query_with_all_its_clauses() -> None:
    parsed = parse_statement(
        "SELECT DISTINCT x.a AS n, COUNT(*) FROM s x JOIN t WITHIN (1 SECOND, 2 SECONDS) GRACE PERIOD 3 SECONDS "
        "ON x.k = t.k "
        "WINDOW HOPPING (SIZE 1 MINUTE, ADVANCE BY 30 SECONDS, RETENTION 1 HOUR, GRACE PERIOD 5 SECONDS) "
        "WHERE x.a > 1 GROUP BY x.a, b PARTITION BY c HAVING d ORDER BY e DESC EMIT FINAL LIMIT 7"
    )
    name = tree.Name
    assert parsed == ast.Query(
        items=(ast.SelectItem(name("A", "X"), "N"), ast.SelectItem(tree.Call("COUNT", (tree.Star(),)))),
        relation=ast.Relation("S", "X"),
        joins=(
            ast.Join(
                ast.JoinKind.INNER,
                ast.Relation("T", "T"),
                tree.Comparison("=", name("K", "X"), name("K", "T")),
                ast.Within(1000, 2000, 3000),
            ),
        ),
        window=ast.WindowClause(WindowKind.HOPPING, 60_000, 30_000, 3_600_000, 5_000),
        where=tree.Comparison(">", name("A", "X"), tree.Literal(1)),
        group_by=(name("A", "X"), name("B")),
        partition_by=(name("C"),),
        having=name("D"),
        emit=ast.Emit.FINAL,
        limit=7,
        order_by=(ast.OrderItem(name("E"), descending=True),),
        distinct=True,
    )


def test_a_source_with_all_its_parts() -> None:
    parsed = parse_statement(
        "CREATE OR REPLACE SOURCE TABLE IF NOT EXISTS t "
        "(k INT PRIMARY KEY, `v` foo, h BYTES HEADER('x'), hs foo HEADERS) "
        "WITH (kafka_topic='t', partitions=3) ON ERROR FAIL"
    )
    assert parsed == ast.CreateSource(
        SourceKind.TABLE,
        "T",
        (
            ast.ColumnDefinition("K", INTEGER, Place.KEY, primary=True),
            ast.ColumnDefinition("v", tree.TypeName("FOO")),
            ast.ColumnDefinition("H", parse_type("BYTES"), Place.HEADERS, header="x"),
            ast.ColumnDefinition("HS", tree.TypeName("FOO"), Place.HEADERS),
        ),
        (ast.Property("KAFKA_TOPIC", "t"), ast.Property("PARTITIONS", 3)),
        or_replace=True,
        if_not_exists=True,
        is_source=True,
        on_error="FAIL",
    )


def test_a_union_emits_as_one_and_is_limited_as_one() -> None:
    parsed = parse_statement("SELECT a FROM s UNION ALL SELECT b FROM t UNION SELECT c FROM u EMIT CHANGES LIMIT 3")
    assert isinstance(parsed, ast.Query) and parsed.union is not None and parsed.union.union is not None
    second, third = parsed.union, parsed.union.union
    assert [one.emit for one in (parsed, second, third)] == [ast.Emit.CHANGES] * 3
    assert [one.limit for one in (parsed, second, third)] == [3, None, None]
    assert (parsed.union_all, second.union_all) == (True, False)
    assert second.text == "SELECT b FROM t"


def test_statements_know_their_place_and_text_in_the_script() -> None:
    first, second = parse_script("-- hello\nSHOW STREAMS ;\n\n  CREATE STREAM o AS\n SELECT * FROM s; ;")
    assert (first.text, first.at) == ("SHOW STREAMS", Position(2, 1, 9))
    assert (second.text, second.at) == ("CREATE STREAM o AS\n SELECT * FROM s", Position(4, 3, 27))
    assert isinstance(second, ast.CreateAsSelect)
    assert second.query.text == "SELECT * FROM s"
    assert second.query.relation.at == Position(5, 16, 61)


@pytest.mark.parametrize("text", ["", "  \n", ";;", "-- nothing\n", "/* nothing */ ;"])
def test_a_script_may_be_empty(text: str) -> None:
    assert parse_script(text) == []


def test_one_statement_is_one() -> None:
    with pytest.raises(SyntaxProblem, match="Only one statement is expected here") as caught:
        parse_statement("SHOW STREAMS; SHOW TABLES")
    assert caught.value.at == Position(1, 15, 14)


def test_custom_types_are_resolved_wherever_they_stand() -> None:
    known: dict[str, SqlType] = {"ADDRESS": struct(("STREET", STRING)), "my type": INTEGER}

    def lookup(name: str, at: Position) -> SqlType:
        if name not in known:
            raise KsqlError(f"no {name}", at)
        return known[name]

    def resolved(text: str) -> SqlType:
        return resolve_type(parse_type(text), lookup)

    assert resolved("address") == known["ADDRESS"]
    assert resolved("ARRAY<address>") == array(known["ADDRESS"])
    assert resolved("STRUCT<`a{}` address, b ARRAY<`my type`>>") == struct(
        ("a{}", known["ADDRESS"]), ("B", array(INTEGER))
    )
    assert resolved("INT") == INTEGER
    create = parse_statement("CREATE STREAM s (a INT, b ARRAY<nothing>)")
    assert isinstance(create, ast.CreateSource)
    with pytest.raises(KsqlError, match="no NOTHING") as caught:
        resolve_type(create.columns[1].type, lookup)
    assert caught.value.at == Position(1, 27, 26)  # in the statement, and not in the text of the type
