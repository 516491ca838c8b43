"""The frame around every page: navigation, theme, language, shortcuts, the palette, and who is let in."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from playwright.sync_api import Browser, BrowserContext, Page, expect

from .conftest import WINDOW, RunningPlatform

Axe = Callable[[Page], None]
Shot = Callable[..., Path]


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def theme(page: Page) -> str:
    return str(page.evaluate("document.documentElement.dataset.theme"))


def test_the_navigation_marks_the_page_and_the_skip_link_leads_past_it(
    platform: RunningPlatform, browser_page: Page
) -> None:
    browser_page.goto(f"{platform.url}/brokers")
    navigation = browser_page.get_by_role("navigation", name="Pages")
    expect(navigation.get_by_role("link", name="Brokers")).to_have_attribute("aria-current", "page")
    expect(navigation.get_by_role("link", name="Overview")).not_to_have_attribute("aria-current", "page")
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Brokers")
    browser_page.keyboard.press("Tab")
    skip = browser_page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    browser_page.keyboard.press("Enter")
    expect(browser_page.locator("main")).to_be_focused()


def test_the_theme_follows_the_system_until_one_is_chosen_and_is_remembered(
    platform: RunningPlatform, chromium: Browser
) -> None:
    context = chromium.new_context(viewport=WINDOW, color_scheme="dark")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{platform.url}/security")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    dark = background(page)
    page.get_by_role("button", name="Theme: as the system").click()
    page.get_by_role("button", name="Theme: light").wait_for()
    assert theme(page) == "light" and background(page) != dark
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert theme(page) == "light" and background(page) != dark
    page.get_by_role("button", name="Theme: light").click()
    assert theme(page) == "dark" and background(page) == dark
    expect(page.locator("body.body--dark")).to_have_count(1)
    context.close()


def test_the_language_is_chosen_by_the_url_and_remembered(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(platform.url)
    browser_page.get_by_role("link", name="Español").click()
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Resumen")
    expect(browser_page.locator("html")).to_have_attribute("lang", "es")
    expect(browser_page).to_have_title("Resumen · Caudal")
    browser_page.goto(f"{platform.url}/brokers")
    expect(browser_page.get_by_role("columnheader", name="Dirección")).to_be_visible()
    browser_page.get_by_role("link", name="English").click()
    expect(browser_page.get_by_role("columnheader", name="Address")).to_be_visible()


def test_a_spanish_browser_is_greeted_in_spanish(platform: RunningPlatform, chromium: Browser) -> None:
    context = chromium.new_context(locale="es-ES")
    page = context.new_page()
    page.goto(platform.url)
    expect(page.get_by_role("heading", level=1)).to_have_text("Resumen")
    context.close()


def test_shortcuts_lead_to_pages_and_are_explained(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    browser_page.goto(f"{platform.url}/security")
    expect(browser_page.get_by_role("heading", level=1)).to_be_visible()
    browser_page.keyboard.press("?")
    dialog = browser_page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_contain_text("Brokers")
    axe(browser_page)
    shot(browser_page, "shortcuts", full_page=False)
    browser_page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    browser_page.keyboard.press("g")
    browser_page.keyboard.press("b")
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Brokers")


def test_the_palette_finds_topics_by_keyboard_alone(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    admin = AdminClient({"bootstrap.servers": platform.bootstrap})
    for made in admin.create_topics([NewTopic("palette-orders", 1), NewTopic("palette-payments", 1)]).values():
        made.result(30)
    browser_page.goto(platform.url)
    expect(browser_page.get_by_role("heading", level=1)).to_be_visible()
    browser_page.keyboard.press("/")
    field = browser_page.get_by_role("combobox")
    expect(field).to_be_focused()
    field.press_sequentially("palette-ord")
    option = browser_page.get_by_role("option", name="palette-orders")
    expect(option).to_have_attribute("aria-selected", "true")
    axe(browser_page)
    shot(browser_page, "palette", full_page=False)
    field.press("Enter")
    browser_page.wait_for_url("**/topics/palette-orders")


def test_a_slash_typed_into_a_field_stays_there(platform: RunningPlatform, browser_page: Page) -> None:
    browser_page.goto(f"{platform.url}/brokers/1")
    field = browser_page.get_by_role("searchbox", name="Filter settings")
    field.press_sequentially("log/g?b")
    expect(field).to_have_value("log/g?b")
    expect(browser_page.locator("dialog[open]")).to_have_count(0)
    assert browser_page.url.startswith(f"{platform.url}/brokers/1")


def test_on_a_narrow_window_the_navigation_is_a_menu(
    platform: RunningPlatform, browser_page: Page, axe: Axe, shot: Shot
) -> None:
    browser_page.set_viewport_size({"width": 390, "height": 800})
    browser_page.goto(platform.url)
    link = browser_page.get_by_role("navigation", name="Pages").get_by_role("link", name="Security")
    expect(link).to_be_hidden()
    browser_page.get_by_role("button", name="Menu").click()
    expect(link).to_be_visible()
    axe(browser_page)
    shot(browser_page, "narrow", full_page=False)
    link.click()
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Security")
    assert browser_page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_page_that_does_not_exist_says_so(platform: RunningPlatform, browser_page: Page, axe: Axe) -> None:
    answer = browser_page.goto(f"{platform.url}/nowhere")
    assert answer is not None and answer.status == 404
    expect(browser_page.get_by_text("There is no page /nowhere")).to_be_visible()
    expect(browser_page.get_by_role("navigation", name="Pages")).to_be_visible()
    axe(browser_page)


def test_health_and_metrics_are_for_programs(platform: RunningPlatform) -> None:
    with urllib.request.urlopen(f"{platform.url}/health") as answer:
        assert json.load(answer)["status"] == "ok"
    with urllib.request.urlopen(f"{platform.url}/metrics") as answer:
        assert b"process_resident_memory_bytes" in answer.read()


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_requests_of_strangers_are_refused(platform: RunningPlatform, headers: dict[str, str]) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(platform.url, headers=headers))
    assert refused.value.code == 403


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [("{us}", "http://{us}", b"101"), ("{us}", "http://evil.example", b"403"), ("evil.example", "", b"403")],
)
def test_websockets_of_strangers_are_refused(platform: RunningPlatform, host: str, origin: str, status: bytes) -> None:
    us = platform.url.removeprefix("http://")
    lines = [
        "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1",
        f"Host: {host.format(us=us)}",
        *([f"Origin: {origin.format(us=us)}"] if origin else []),
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    name, port = us.split(":")
    with socket.create_connection((name, int(port)), 10) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert connection.recv(64).split()[1] == status


def test_the_frame_is_there_without_scripts(platform: RunningPlatform, chromium: Browser) -> None:
    context: BrowserContext = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(platform.url)
    expect(page.get_by_role("navigation", name="Pages").get_by_role("link", name="Brokers")).to_be_visible()
    context.close()
