"""What Tab offers, and when the server is asked."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from tests.unit.ksql.shell.fake_server import FakeServer, Refusal

from caudal.ksql.shell.completion import FRESH_SECONDS, Names, StatementCompleter
from caudal.ksql.shell.session import Session


@pytest.fixture
def known(server: FakeServer) -> FakeServer:
    server.statements |= {
        "SHOW STREAMS;": [{"@type": "streams", "streams": [{"name": "ORDERS"}, {"name": "mixed Case"}]}],
        "SHOW TABLES;": [{"@type": "tables", "tables": [{"name": "ORDER_COUNTS"}]}],
        "SHOW TOPICS;": [{"@type": "kafka_topics", "topics": [{"name": "orders-raw"}]}],
        "SHOW QUERIES;": [{"@type": "queries", "queries": [{"id": "CTAS_ORDER_COUNTS_1"}]}],
        "SHOW FUNCTIONS;": [{"@type": "function_names", "functions": [{"name": "UCASE"}]}],
        "DESCRIBE STREAMS;": [
            {
                "@type": "source_descriptions",
                "sourceDescriptions": [{"fields": [{"name": "ORDER_ID"}, {"name": "FROM"}]}],
            }
        ],
        "DESCRIBE TABLES;": Refusal("not today"),
    }
    return server


def offered(session: Session, text: str) -> list[str]:
    completer = StatementCompleter(session, Names(lambda: session.server))
    return [one.text for one in completer.get_completions(Document(text), CompleteEvent(completion_requested=True))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEL", ["SELECT"]),
        ("sel", ["select"]),
        ("SELECT * FROM ", ["ORDERS", "ORDER_COUNTS", "`mixed Case`"]),
        ("SELECT * FROM ORDER_", ["ORDER_COUNTS"]),
        ("select * from orders join ord", ["orders", "order_counts", "order"]),
        ("INSERT INTO ", ["ORDERS", "ORDER_COUNTS", "`mixed Case`"]),
        ("SELECT uc", ["ucase"]),
        ("SELECT ORDER_I", ["ORDER_ID"]),
        ("PRINT ", ["'orders-raw'"]),
        ("TERMINATE CT", ["CTAS_ORDER_COUNTS_1"]),
        ("DESCRIBE FUNCTION ", ["UCASE"]),
        ("SELECT ${ord", []),
        ("DESC", ["DESC", "DESCRIBE"]),
    ],
)
def test_tab_offers(session: Session, known: FakeServer, text: str, expected: list[str]) -> None:
    assert offered(session, text) == expected


def test_keywords_do_not_ask_the_server_and_nothing_is_offered_for_nothing(session: Session, known: FakeServer) -> None:
    assert offered(session, "CREA") == ["CREATE"]
    assert known.requests == []
    completer = StatementCompleter(session, Names(lambda: session.server))
    assert list(completer.get_completions(Document("SELECT "), CompleteEvent(text_inserted=True))) == []


def test_names_are_asked_for_once_in_a_while_and_after_a_change(session: Session, known: FakeServer) -> None:
    now = 0.0
    names = Names(lambda: session.server, clock=lambda: now)
    assert names.sources() == names.sources()
    assert len(known.requests) == 2
    now = FRESH_SECONDS + 1
    names.sources()
    assert len(known.requests) == 4
    names.forget()
    names.sources()
    assert len(known.requests) == 6


def test_a_server_that_refuses_leaves_the_keywords(session: Session, server: FakeServer) -> None:
    server.statements = {text: Refusal("no") for text in ("SHOW STREAMS;", "SHOW TABLES;", "SHOW FUNCTIONS;")}
    assert "ORDER" in offered(session, "SELECT ORD")
