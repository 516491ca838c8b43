"""KSQL's pages as a person uses them. Most need no Spark: push and pull queries run beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from caudal.ksql.engine.engine import Engine
from caudal.ksql.engine.settings import EngineSettings
from tests.ksql.running_server import Client, running_server
from tests.ui.conftest import RunningPlatform, started_ui

Shot = Callable[..., Path]
ORDERS = """
CREATE STREAM orders (id BIGINT KEY, product VARCHAR, price DOUBLE, address STRUCT<city VARCHAR, zip VARCHAR>)
  WITH (KAFKA_TOPIC='orders', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE SOURCE TABLE stock (product VARCHAR PRIMARY KEY, pieces INT)
  WITH (KAFKA_TOPIC='stock', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO orders (id, product, price) VALUES (1, 'tea', 2.5);
INSERT INTO orders (id, product, price) VALUES (2, 'mate', 4.0);
"""


class NoSpark:
    """A host for an engine without persistent queries."""

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def server(_broker: Any, _registry: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A KSQL server with a stream of two orders and a table of stock."""
    host: Any = NoSpark()
    settings = EngineSettings(
        bootstrap=_broker.bootstrap,
        service_id="ui_",
        state_dir=str(tmp_path_factory.mktemp("state")),
        registry=_registry,
    )
    with running_server(Engine(settings, host=host)) as url:
        Client(url).ksql(ORDERS)
        yield url


@pytest.fixture(scope="module")
def center(_broker: Any, _registry: str, server: str) -> Iterator[RunningPlatform]:
    with started_ui(_broker.bootstrap, "--registry", _registry, "--ksql", server) as process:
        yield RunningPlatform(_broker, process.url, _registry, process.facts["pid"], None, server)


def editor(page: Page) -> Locator:
    """When it is ready: highlighted, and able to run."""
    found = page.get_by_role("textbox", name="KSQL statements")
    expect(found).to_be_visible()
    return found


def write(page: Page, text: str) -> None:
    editor(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def result(page: Page) -> Locator:
    return page.locator(".ksql-result")


def test_a_push_query_shows_rows_as_they_come_until_it_is_stopped(
    center: RunningPlatform, browser_page: Page, server: str, axe: Callable[[Page], None], shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{center.url}/ksql?offset=earliest")
    write(page, "SELECT id, product, price FROM orders EMIT CHANGES;")
    page.keyboard.press("Control+Enter")
    rows = page.get_by_role("region", name="Rows of the query").locator("tbody tr")
    expect(rows.filter(has_text="tea")).to_be_visible()
    expect(rows.filter(has_text="mate")).to_be_visible()
    Client(server).ksql("INSERT INTO orders (id, product, price) VALUES (3, 'coffee', 3.25);")
    expect(rows.first).to_contain_text("coffee")
    expect(result(page)).to_contain_text("3 rows")
    axe(page)
    shot(page, "ksql-push-light")
    page.locator(".ksql-bar").get_by_role("button", name="Stop").focus()
    page.keyboard.press("Enter")
    expect(result(page).get_by_text("Stopped")).to_be_visible()
    running = Client(server).ksql("SHOW QUERIES;")[0]["queries"]
    assert running == []
    assert "sql=SELECT" in page.url
    assert "offset=earliest" in page.url


def test_a_link_brings_the_statement_and_does_not_run_it(
    center: RunningPlatform, browser_page: Page, server: str
) -> None:
    browser_page.goto(f"{center.url}/ksql?sql=DROP%20STREAM%20orders%3B")
    expect(editor(browser_page)).to_contain_text("DROP STREAM orders;")
    expect(result(browser_page)).to_have_count(0)
    assert Client(server).ksql("SHOW STREAMS;")[0]["streams"] != []


def test_several_statements_answer_in_tables_and_a_pull_query_ends(
    center: RunningPlatform, browser_page: Page, server: str, axe: Callable[[Page], None], shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{center.url}/ksql")
    write(page, "INSERT INTO orders (id, product) VALUES (9, 'sugar');\nSHOW STREAMS;\nSELECT product FROM orders;")
    page.get_by_role("button", name="Run").click()
    expect(result(page)).to_have_count(3)
    expect(result(page).nth(1).get_by_role("cell", name="ORDERS", exact=True)).to_be_visible()
    expect(result(page).nth(2)).to_contain_text("sugar")
    expect(result(page).nth(2).get_by_text("Complete")).to_be_visible()
    axe(page)
    shot(page, "ksql-statements-light")


def test_a_topic_is_printed_and_what_was_set_holds(center: RunningPlatform, browser_page: Page) -> None:
    page = browser_page
    page.goto(f"{center.url}/ksql")
    write(page, "DEFINE what = 'orders';\nPRINT '${what}' FROM BEGINNING LIMIT 2;")
    page.keyboard.press("Control+Enter")
    expect(result(page).nth(1)).to_contain_text("mate")
    expect(result(page).nth(1).get_by_text("Complete")).to_be_visible()
    expect(page.locator(".ksql-bar")).to_contain_text("what = orders")


def test_what_is_wrong_is_marked_and_the_suggestion_is_said(
    center: RunningPlatform, browser_page: Page, shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{center.url}/ksql")
    write(page, "SHOW TABLES;\nSELECT *\n  FROM ordrs EMIT CHANGES;")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Line 3, column 8")
    expect(page.get_by_role("alert")).to_contain_text("Did you mean 'ORDERS'?")
    expect(page.locator(".kq-wrong")).to_have_text("ordrs")
    shot(page, "ksql-error-light")
    page.get_by_role("button", name="Write ORDERS").click()
    expect(page.locator(".kq-wrong")).to_have_count(0)
    expect(editor(page)).to_contain_text("FROM ORDERS EMIT CHANGES;")


def test_completion_offers_columns_functions_and_keywords_to_the_keyboard(
    center: RunningPlatform, browser_page: Page, shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{center.url}/ksql")
    expect(page.locator(".ksql-panel")).to_contain_text(re.compile(r"Functions \([0-9]{3}\)"))
    write(page, "SELECT  FROM orders o EMIT CHANGES;")
    page.keyboard.press("Home")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    page.keyboard.type("uc")
    offered = page.get_by_role("listbox")
    expect(offered.get_by_role("option").first).to_contain_text("UCASE")
    expect(offered.get_by_role("option").first).to_contain_text("STRING")
    shot(page, "ksql-completion-light")
    page.keyboard.press("Enter")
    page.keyboard.type("o.pro")
    expect(page.get_by_role("option").first).to_contain_text("PRODUCT")
    page.get_by_role("option").first.click()
    expect(editor(page)).to_contain_text("SELECT ucase(o.product")


def test_a_plan_is_drawn_as_a_graph_and_written_as_text(
    center: RunningPlatform, browser_page: Page, axe: Callable[[Page], None], shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{center.url}/ksql")
    write(page, "EXPLAIN SELECT product, COUNT(*) FROM orders GROUP BY product EMIT CHANGES;")
    page.keyboard.press("Control+Enter")
    drawing = result(page).get_by_role("img")
    expect(drawing.locator("svg .cluster")).to_have_count(2)
    expect(drawing).to_contain_text("ORDERS")
    expect(result(page)).to_contain_text("Sub-topology 0 reads orders")
    axe(page)
    shot(page, "ksql-explain-light")
    result(page).get_by_role("button", name="Text").click()
    expect(result(page).locator("pre")).to_contain_text("Sub-topology: 1")


def test_names_of_the_panel_go_into_the_editor_and_what_ran_can_be_taken_again(
    center: RunningPlatform, browser_page: Page
) -> None:
    page = browser_page
    page.goto(f"{center.url}/ksql")
    write(page, "SHOW QUERIES;")
    page.keyboard.press("Control+Enter")
    expect(result(page)).to_contain_text("There are no queries.")
    page.get_by_label("Find a name").fill("stock")
    page.locator("summary", has_text="STOCK").click()
    page.get_by_role("button", name="Query STOCK").click()
    expect(editor(page)).to_contain_text("SELECT * FROM STOCK EMIT CHANGES;")
    page.locator("summary", has_text="Run before").click()
    page.get_by_role("button", name="SHOW QUERIES;").click()
    expect(editor(page)).to_have_text("SHOW QUERIES;")


def test_a_stream_is_described(
    center: RunningPlatform, browser_page: Page, axe: Callable[[Page], None], shot: Shot
) -> None:
    page = browser_page
    page.goto(f"{center.url}/ksql?source=ORDERS")
    page.get_by_role("link", name="Describe ORDERS").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("ORDERS")
    expect(page.locator("dl").first).to_contain_text("BIGINT · key")
    expect(page.get_by_role("link", name="orders", exact=True)).to_be_visible()
    axe(page)
    shot(page, "ksql-source-light")


@pytest.mark.parametrize(
    ("name", "query", "width"), [("dark", "theme=dark", 1280), ("spanish", "lang=es", 1280), ("narrow", "", 420)]
)
def test_every_look_of_it_passes(
    center: RunningPlatform,
    browser_page: Page,
    axe: Callable[[Page], None],
    shot: Shot,
    name: str,
    query: str,
    width: int,
) -> None:
    page = browser_page
    page.set_viewport_size({"width": width, "height": 900})
    sql = "EXPLAIN SELECT product, COUNT(*) FROM orders GROUP BY product EMIT CHANGES; SELECT * FROM orders;"
    page.goto(f"{center.url}/ksql?sql={sql}&source=ORDERS&{query}")
    expect(page.locator(".cm-content[aria-label]")).to_be_visible()
    page.locator(".ksql-bar button").first.click()
    expect(page.locator(".rows-table tbody tr").first).to_contain_text("tea")
    expect(page.locator(".graph svg")).to_be_visible()
    axe(page)
    shot(page, f"ksql-editor-{name}")
    for what, path in (("source", "/ksql/sources/ORDERS?"), ("queries", "/ksql/queries?")):
        page.goto(f"{center.url}{path}{query}")
        expect(page.locator("main h1")).to_be_visible()
        axe(page)
        shot(page, f"ksql-{what}-{name}")


def test_without_ksql_the_page_says_so_kindly(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{platform.url}/ksql")
    expect(browser_page.get_by_text("KSQL is not connected")).to_be_visible()


def test_a_server_that_is_away_is_a_sentence(platform: RunningPlatform, browser_page: Page) -> None:
    with started_ui(platform.bootstrap, "--ksql", "http://127.0.0.1:1") as process:
        browser_page.goto(f"{process.url}/ksql")
        expect(browser_page.get_by_role("alert")).to_contain_text("does not answer")


def test_a_query_that_is_not_there_is_said(center: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{center.url}/ksql/queries/CTAS_NONE_1")
    expect(browser_page.get_by_text("There is no query CTAS_NONE_1")).to_be_visible()


@pytest.mark.spark
@pytest.mark.timeout(400)
def test_a_persistent_query_starts_is_explained_paused_and_terminated(
    full_platform: RunningPlatform, browser_page: Page, axe: Callable[[Page], None], shot: Shot
) -> None:
    """The real server, with Spark."""
    page = browser_page
    assert full_platform.ksql is not None
    client = Client(full_platform.ksql)
    client.ksql("CREATE STREAM s (k VARCHAR KEY, v INT) WITH (KAFKA_TOPIC='ui_s', PARTITIONS=1, VALUE_FORMAT='JSON');")
    page.goto(f"{full_platform.url}/ksql")
    write(page, "CREATE TABLE counts AS SELECT v, COUNT(*) AS n FROM s GROUP BY v;")
    page.keyboard.press("Control+Enter")
    expect(result(page).get_by_role("status")).to_contain_text(re.compile("CREATED|STARTING|RUNNING"))
    expect(result(page).get_by_role("status")).to_contain_text("RUNNING", timeout=180_000)
    result(page).get_by_role("link", name=re.compile("Query CTAS_COUNTS")).click()
    expect(page.locator(".graph svg .cluster")).to_have_count(2)
    expect(page.locator(".status")).to_contain_text("RUNNING")
    axe(page)
    shot(page, "ksql-query-light")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".status")).to_contain_text("PAUSED")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".status")).to_contain_text("RUNNING", timeout=60_000)
    page.get_by_role("link", name="Text").click()
    expect(page.locator("pre").nth(1)).to_contain_text("Sub-topology: 1")
    name = page.get_by_role("heading", level=1).inner_text()
    page.get_by_role("button", name="Terminate").click()
    page.get_by_test_id("confirm-name").fill(name)
    page.get_by_role("alertdialog").get_by_role("button", name="Terminate").click()
    expect(page).to_have_url(re.compile("/ksql/queries$"), timeout=90_000)
    assert httpx.post(f"{full_platform.ksql}/ksql", json={"ksql": "SHOW QUERIES;"}).json()[0]["queries"] == []
