"""The documentation behind /docs: the built site, or where to find it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from .conftest import RunningPlatform, started_ui


def test_a_built_site_is_served(platform: RunningPlatform, browser_page: Page, tmp_path: Path) -> None:
    (tmp_path / "guide").mkdir()
    (tmp_path / "index.html").write_text('<h1>The first hour</h1><a href="guide/">guide</a>')
    (tmp_path / "guide" / "index.html").write_text("<h1>A guide</h1>")
    with started_ui(platform.bootstrap, "--docs", str(tmp_path)) as ui:
        browser_page.goto(f"{ui.url}/docs")
        expect(browser_page.get_by_role("heading", level=1)).to_have_text("The first hour")
        browser_page.get_by_role("link", name="guide").click()
        expect(browser_page.get_by_role("heading", level=1)).to_have_text("A guide")


def test_without_a_site_the_page_says_how_to_build_it(
    platform: RunningPlatform, browser_page: Page, tmp_path: Path, axe: Callable[[Page], None]
) -> None:
    browser_page.goto(f"{platform.url}/docs")
    if browser_page.url.endswith("/docs/site/"):
        return  # this installation has its site; the other test looks at it
    expect(browser_page.get_by_text("make docs")).to_be_visible()
    axe(browser_page)
