"""What is offered where: given a text with the cursor as |, the labels that come."""

from __future__ import annotations

import pytest

from caudal.ui.services.ksql_completion import Candidate, Column, Completions, Function, Kind, Names, Source, complete

ADDRESS = Column("ADDRESS", "STRUCT<CITY VARCHAR>", fields=(Column("CITY", "VARCHAR"),))
NAMES = Names(
    sources=(
        Source("ORDERS", Kind.STREAM, (Column("ID", "BIGINT", True), Column("PRICE", "DOUBLE"), ADDRESS)),
        Source("USERS", Kind.TABLE, (Column("NAME", "VARCHAR", True), Column("mixed Case", "INTEGER"))),
    ),
    functions=(Function("PI", ("() → DOUBLE",)), Function("UCASE", ("(input VARCHAR) → VARCHAR",), "Upper case.")),
    topics=("orders", "clicks"),
    queries=("CTAS_TOTALS_3",),
    types=("MONEY",),
)


def offered(text: str, *, asked: bool = False) -> Completions:
    cursor = text.index("|")
    return complete(text.replace("|", ""), cursor, NAMES, asked=asked)


def labels(text: str, *, asked: bool = False) -> list[str]:
    return [one.label for one in offered(text, asked=asked).candidates]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SEL|", ["SELECT"]),
        ("SHOW STREAMS; de|", ["DESCRIBE", "DEFINE"]),
        ("SELECT * FROM o|", ["ORDERS"]),
        ("SELECT pr| FROM orders EMIT CHANGES;", ["PRICE"]),
        ("SELECT o.| FROM orders o", ["ID", "PRICE", "ADDRESS"]),
        ("SELECT u.na| FROM orders AS o JOIN users AS u ON o.id = u.name", ["NAME"]),
        ("SELECT address->| FROM orders", ["CITY"]),
        ("SELECT * FROM orders EMIT |", ["CHANGES", "FINAL"]),
        ("TERMINATE C|", ["CTAS_TOTALS_3"]),
        ("EXPLAIN CT|", ["CTAS_TOTALS_3"]),
        ("DESCRIBE FUNCTION uc|", ["UCASE"]),
        ("PRINT o|", ["orders"]),
        ("PRINT 'cl|", ["clicks"]),
        ("CREATE STREAM s (a BIG|", ["BIGINT"]),
        ("CREATE STREAM s (a MON|", ["MONEY"]),
        ("CREATE STREAM s (a INT) WITH (VALUE_F|", ["VALUE_FORMAT"]),
        ("CREATE STREAM s (a INT) WITH (VALUE_FORMAT='AV|", ["AVRO"]),
        ("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='|'", ["orders", "clicks"]),
        ("SET 'auto.offset.reset' = 'e|", ["earliest"]),
        ("DROP TYPE m|", ["MONEY"]),
        ("SELECT COUNT(*) FROM orders WINDOW TUMBLING (SIZE 5 MIN|", ["MINUTES"]),
        ("SHOW QU|", ["QUERIES"]),
    ],
)
def test_what_may_follow_is_offered(text: str, wanted: list[str]) -> None:
    asked = text[text.index("|") - 1] in " '."
    assert labels(text, asked=asked) == wanted


@pytest.mark.parametrize("text", ["SELECT 'fr|", "-- sel|", "SELECT /* fr|", "SELECT * FROM orders; |", "|"])
def test_nothing_is_offered_in_texts_comments_and_where_no_word_has_begun(text: str) -> None:
    assert labels(text) == []


def test_who_asks_gets_the_beginnings_of_statements_at_the_start() -> None:
    assert "SELECT" in labels("SHOW STREAMS; |", asked=True)


def test_columns_of_what_is_read_come_before_functions_and_keywords() -> None:
    assert labels("SELECT p| FROM orders") == ["PRICE", "PI", "PARTITION"]


def test_a_function_comes_with_its_signature_its_words_and_a_parenthesis() -> None:
    (found,) = offered("SELECT UCA| FROM orders").candidates
    assert found == Candidate(
        "UCASE", Kind.FUNCTION, "UCASE(", "(input VARCHAR) → VARCHAR", "Upper case.\n\nUCASE(input VARCHAR) → VARCHAR"
    )


def test_who_types_in_lower_case_goes_on_so_except_for_names_in_quotes() -> None:
    assert offered("select uca| from orders").candidates[0].insert == "ucase("
    assert offered("select mix| from users").candidates[0].insert == "`mixed Case`"


def test_the_word_before_the_cursor_is_replaced_and_what_is_behind_it_stays() -> None:
    found = offered("SELECT id, pri| FROM orders")
    assert found.start == len("SELECT id, ")


def test_only_the_statement_of_the_cursor_counts() -> None:
    assert "PRICE" not in labels("SELECT * FROM orders; SELECT pri| FROM users;")


def test_a_cursor_outside_of_the_text_is_no_error() -> None:
    assert complete("SEL", 99, NAMES).candidates[0].label == "SELECT"
