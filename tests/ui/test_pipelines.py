"""A person watches pipelines: the list, the drawing with its moving rates, pause, resume and stop."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from caudal.pipelines import reporter as reporters
from caudal.pipelines.records import Order

from .conftest import RunningPlatform
from .pipeline_app import InProcessPipeline

SOURCE_RATE = '[data-rate^="topic:orders→"]'


@pytest.fixture(scope="module")
def pipeline(platform: RunningPlatform) -> Iterator[InProcessPipeline]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reporters, "BEAT_SECONDS", 0.5)
        with InProcessPipeline(platform.bootstrap) as running:
            yield running


def test_the_list_shows_it_and_leads_to_it(
    platform: RunningPlatform, pipeline: InProcessPipeline, browser_page: Page, axe: Callable[[Page], None], shot: Any
) -> None:
    browser_page.goto(platform.url + "/pipelines")
    row = browser_page.get_by_role("row", name=re.compile("orders-by-user"))
    expect(row).to_contain_text("Running")
    expect(row).to_contain_text(re.compile(r"\d/s"))
    axe(browser_page)
    shot(browser_page, "pipelines-list")
    row.get_by_role("link", name="orders-by-user").click()
    expect(browser_page).to_have_url(re.compile("/pipelines/orders-by-user$"))
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("orders-by-user")


def test_the_topology_is_drawn_and_its_rates_move(
    platform: RunningPlatform, pipeline: InProcessPipeline, browser_page: Page, axe: Callable[[Page], None]
) -> None:
    browser_page.goto(platform.url + "/pipelines/orders-by-user")
    drawing = browser_page.get_by_role("region", name=re.compile("Topology of orders-by-user"))
    expect(drawing.get_by_text("Sub-topology 0")).to_be_visible()
    expect(drawing.get_by_text("Sub-topology 1")).to_be_visible()
    expect(drawing.locator(".t-store")).to_have_count(3)
    expect(drawing.get_by_text("amount > 0", exact=True)).to_be_visible()
    for topic in ("orders", "customers", "orders-enriched"):
        link = drawing.get_by_role("link", name=f"Topic {topic}", exact=True)
        expect(link).to_have_attribute("href", f"/topics/{topic}")
    rate = drawing.locator(SOURCE_RATE)
    expect(rate).to_have_text(re.compile(r"^1[0-9]{2}/s$"))  # 160 each second
    total = browser_page.locator(".stat", has_text="In").first.locator(".stat-hint")
    before = total.inner_text()
    expect(total).not_to_have_text(before)
    assert drawing.locator(".t-flowing").count() > 3
    axe(browser_page)


def test_pause_and_resume_are_seen_in_the_figures(
    platform: RunningPlatform, pipeline: InProcessPipeline, browser_page: Page
) -> None:
    browser_page.goto(platform.url + "/pipelines/orders-by-user")
    browser_page.get_by_role("button", name="Pause").click()
    state = browser_page.get_by_test_id("state")
    expect(state).to_have_text("Paused")
    expect(browser_page.locator(SOURCE_RATE)).to_have_text("")
    assert pipeline.state == "PAUSED"
    browser_page.get_by_role("button", name="Resume").press("Enter")  # the keyboard does it too
    expect(state).to_have_text("Running")
    expect(browser_page.locator(SOURCE_RATE)).to_have_text(re.compile(r"\d/s$"))
    assert pipeline.orders[-2:] == [Order.PAUSE, Order.RESUME]


def test_tasks_and_details(
    platform: RunningPlatform, pipeline: InProcessPipeline, browser_page: Page, axe: Callable[[Page], None], shot: Any
) -> None:
    browser_page.goto(platform.url + "/pipelines/orders-by-user?tab=tasks")
    tasks = browser_page.get_by_role("table", name="Tasks")
    expect(tasks.get_by_role("row")).to_have_count(9)  # four sub-topologies, two partitions, and the heading
    axe(browser_page)
    shot(browser_page, "pipelines-tasks")
    browser_page.get_by_role("link", name="Details").click()
    expect(browser_page.get_by_text("exactly_once runs in the task lane")).to_be_visible()
    expect(browser_page.get_by_role("table", name="Stores").get_by_role("row")).to_have_count(4)
    expect(browser_page.get_by_text("Sub-topology: 0")).to_be_visible()
    spark = browser_page.get_by_role("link", name="Spark UI")
    expect(spark).to_have_attribute("href", "http://worker-1:4040")
    axe(browser_page)
    shot(browser_page, "pipelines-details")


@pytest.mark.parametrize(("theme", "lang"), [("light", "en"), ("dark", "en"), ("light", "es"), ("dark", "es")])
def test_light_and_dark_english_and_spanish(
    platform: RunningPlatform,
    pipeline: InProcessPipeline,
    browser_page: Page,
    axe: Callable[[Page], None],
    shot: Callable[..., Path],
    theme: str,
    lang: str,
) -> None:
    browser_page.goto(f"{platform.url}/pipelines/orders-by-user?theme={theme}&lang={lang}")
    expect(browser_page.get_by_text({"en": "Stream time", "es": "Hora del flujo"}[lang]).first).to_be_visible()
    expect(browser_page.locator(SOURCE_RATE)).to_have_text(re.compile(r"^1[0-9]{2}/s$"))
    axe(browser_page)
    shot(browser_page, f"pipelines-{theme}-{lang}")


def test_one_that_is_not_there_is_said(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(platform.url + "/pipelines/nobody")
    expect(browser_page.get_by_text("There is no pipeline nobody")).to_be_visible()


def test_stop_asks_first_and_ends_it(platform: RunningPlatform, browser_page: Page) -> None:
    with InProcessPipeline(platform.bootstrap, "short-lived") as short:
        browser_page.goto(platform.url + "/pipelines/short-lived")
        browser_page.get_by_role("button", name="Stop").click()
        dialog = browser_page.get_by_role("alertdialog")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
        assert short.orders == []
        browser_page.get_by_role("button", name="Stop").click()
        browser_page.get_by_role("alertdialog").get_by_role("button", name="Stop").click()
        expect(browser_page.get_by_test_id("state")).to_have_text("Stopped")
        assert short.orders == [Order.STOP]


def test_a_ksql_query_is_terminated_by_its_name(platform: RunningPlatform, browser_page: Page) -> None:
    origin = {"kind": "ksql", "query": "CTAS_N_1", "sql": "CREATE TABLE n AS SELECT 1;"}
    with InProcessPipeline(platform.bootstrap, "ksql-query", **origin) as query:
        browser_page.goto(platform.url + "/pipelines/ksql-query")
        browser_page.get_by_role("button", name="Terminate").click()
        dialog = browser_page.get_by_role("alertdialog")
        expect(dialog.get_by_text("The query CTAS_N_1 is terminated")).to_be_visible()
        confirm = dialog.get_by_role("button", name="Terminate")
        expect(confirm).to_be_disabled()
        dialog.get_by_test_id("confirm-name").fill("CTAS_N_1")
        confirm.click()
        expect(browser_page.get_by_test_id("state")).to_have_text("Stopped")
        assert query.orders == [Order.STOP]


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_ksql_query_on_real_spark_is_seen_paused_resumed_and_terminated(
    full_platform: RunningPlatform, browser_page: Page, shot: Callable[..., Path]
) -> None:
    def ask(text: str) -> Any:
        answer = httpx.post(f"{full_platform.ksql}/ksql", json={"ksql": text}, timeout=120)
        assert answer.status_code == 200, answer.text
        return answer.json()

    columns = "(k STRING KEY, page STRING)"
    ask(f"CREATE STREAM clicks {columns} WITH (kafka_topic='clicks', value_format='json', partitions=2);")
    made = ask("CREATE TABLE pages AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;")
    query = made[0]["commandStatus"]["queryId"]
    browser_page.goto(full_platform.url + "/pipelines")
    link = browser_page.get_by_role("link", name=query, exact=True)
    expect(link).to_be_visible(timeout=60_000)
    link.click()
    state = browser_page.get_by_test_id("state")
    expect(state).to_have_text("Running", timeout=120_000)
    ask("".join(f"INSERT INTO clicks VALUES ('k{number}', 'page{number % 3}');" for number in range(60)))
    expect(browser_page.locator(".stat", has_text="State rows").locator(".stat-value")).to_have_text(
        "3", timeout=60_000
    )
    expect(browser_page.locator('[data-rate^="topic:clicks→"]')).to_have_text(re.compile(r"/s$"))
    shot(browser_page, "pipelines-ksql")

    def told() -> str:
        queries = ask("SHOW QUERIES;")[0]["queries"]
        return str(next(one["state"] for one in queries if one["id"] == query))

    browser_page.get_by_role("button", name="Pause").click()
    expect(state).to_have_text("Paused", timeout=60_000)
    assert told() == "PAUSED"  # not only the pipeline: the catalog has it, as if PAUSE had been typed
    browser_page.get_by_role("button", name="Resume").click()
    expect(state).to_have_text("Running", timeout=60_000)
    assert told() == "RUNNING"
    browser_page.get_by_role("button", name="Terminate").click()
    dialog = browser_page.get_by_role("alertdialog")
    dialog.get_by_test_id("confirm-name").fill(query)
    dialog.get_by_role("button", name="Terminate").click()
    expect(state).to_have_text("Stopped", timeout=60_000)
    assert ask("SHOW QUERIES;")[0]["queries"] == []
