"""The panel's HTML: names that go into the editor as SQL writes them, and nothing of them that a browser would run."""

from __future__ import annotations

from caudal.ui.pages.ksql.panel import history_html, panel_html
from caudal.ui.services.ksql_catalog import Catalog
from caudal.ui.services.ksql_completion import Column, Function
from caudal.ui.services.ksql_entities import Query, Source


def source(name: str, *columns: Column) -> Source:
    return Source(name, False, "topic", "KAFKA", "JSON", "", columns, (), (), "")


def test_a_name_is_inserted_as_sql_writes_it() -> None:
    shown = panel_html(Catalog([source("mixed Case", Column("ID", "BIGINT", True))]))
    assert 'data-insert="`mixed Case`"' in shown
    assert 'data-insert="ID"' in shown
    assert "SELECT * FROM `mixed Case` EMIT CHANGES;" in shown
    assert 'href="/ksql/sources/mixed%20Case"' in shown


def test_a_function_is_inserted_with_its_parenthesis_and_says_its_result() -> None:
    shown = panel_html(Catalog(functions=(Function("LEN", ("(text STRING) → INTEGER",), "How long it is."),)))
    assert 'data-insert="LEN("' in shown
    assert "<span>INTEGER</span>" in shown
    assert "How long it is." in shown


def test_a_persistent_query_can_be_opened_and_a_push_query_only_named() -> None:
    queries = [
        Query("CTAS_A_1", "CREATE …", "PERSISTENT", "RUNNING", ("A",)),
        Query("push_1", "SELECT …", "PUSH", "", ()),
    ]
    shown = panel_html(Catalog(queries=queries))
    assert 'href="/ksql/queries/CTAS_A_1"' in shown
    assert 'href="/ksql/queries/push_1"' not in shown
    assert 'data-insert="push_1"' in shown


def test_the_source_of_the_url_is_open() -> None:
    catalog = Catalog([source("A"), source("B")])
    assert panel_html(catalog, "B").count("<details data-find") == 2
    assert 'data-find="b" open' in panel_html(catalog, "B")


def test_names_and_statements_cannot_be_markup() -> None:
    evil = '"><script>alert(1)</script>'
    assert "<script>" not in panel_html(Catalog([source(evil, Column(evil, evil))], types=[(evil, evil)]))
    assert "<script>" not in history_html([evil])


def test_without_a_past_there_is_no_history() -> None:
    assert history_html([]) == ""
