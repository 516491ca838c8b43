"""The frame around every page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from .conftest import RunningPlatform


def test_the_overview_is_shown_with_the_navigation(
    platform: RunningPlatform, browser_page: Page, axe: Callable[[Page], None], shot: Callable[..., Path]
) -> None:
    browser_page.goto(platform.url)
    expect(browser_page.get_by_role("heading", level=1)).to_have_text("Overview")
    expect(browser_page.get_by_role("navigation", name="Pages").get_by_role("link", name="Overview")).to_have_attribute(
        "aria-current", "page"
    )
    axe(browser_page)
    shot(browser_page, "overview-light")
