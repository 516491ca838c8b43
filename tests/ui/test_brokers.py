"""The pages of the brokers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from .conftest import RunningPlatform

Axe = Callable[[Page], None]
Shot = Callable[..., Path]


def test_brokers_are_listed_with_what_they_lead_and_keep(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    browser_page.goto(f"{platform.url}/brokers")
    row = browser_page.get_by_role("row", name=platform.bootstrap)
    expect(row).to_contain_text("controller")
    expect(row.get_by_role("cell").last).to_contain_text("B")
    axe(browser_page)
    shot(browser_page, "brokers-light")
    row.get_by_role("link").click()
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Broker 1")


def test_a_brokers_settings_are_filtered_and_the_url_says_so(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    browser_page.goto(f"{platform.url}/brokers/1")
    table = browser_page.get_by_role("table", name="Settings")
    expect(table.get_by_role("row", name="group.initial.rebalance.delay.ms")).to_contain_text("given at the start")
    expect(table.get_by_text("log.retention.ms")).to_have_count(0)
    browser_page.get_by_role("link", name="All settings").click()
    browser_page.get_by_role("searchbox", name="Filter settings").fill("log.retention")
    expect(table.get_by_role("row", name="log.retention.hours")).to_be_visible()
    expect(table.get_by_text("group.initial.rebalance.delay.ms")).to_have_count(0)
    browser_page.wait_for_url("**/brokers/1?show=all&q=log.retention")
    browser_page.reload()
    expect(table.get_by_role("row", name="log.retention.hours")).to_be_visible()
    expect(table.get_by_text("group.initial.rebalance.delay.ms")).to_have_count(0)
    axe(browser_page)
    browser_page.goto(f"{platform.url}/brokers/1?show=all&theme=dark&lang=es")
    expect(browser_page.get_by_role("link", name="Todos los ajustes")).to_have_attribute("aria-current", "page")
    axe(browser_page)
    shot(browser_page, "broker-dark", full_page=False)


def test_long_lists_are_paged_and_sorted_by_the_server(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{platform.url}/brokers/1?show=all&page=2&sort=-name")
    table = browser_page.get_by_role("table", name="Settings")
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(50)
    names = [row.split("\t")[0] for row in rows.all_inner_texts()]
    assert names == sorted(names, reverse=True)
    browser_page.get_by_role("button", name="Previous page").click()
    expect(table.locator("tbody tr").first).to_contain_text("zookeeper")
    assert "page=" not in browser_page.url
    table.get_by_role("button", name="Name").click()
    expect(table.get_by_role("columnheader", name="Name")).to_have_attribute("aria-sort", "ascending")


def test_a_broker_that_is_not_there_is_said(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{platform.url}/brokers/77")
    expect(browser_page.get_by_text("There is no broker 77")).to_be_visible()
