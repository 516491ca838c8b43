"""The page of users and ACLs, where there are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from .conftest import RunningPlatform


def test_an_open_cluster_is_said_with_what_that_means(
    platform: RunningPlatform, browser_page: Page, axe: Callable[[Page], None], shot: Callable[..., Path]
) -> None:
    browser_page.goto(f"{platform.url}/security")
    expect(browser_page.get_by_role("heading", name="This cluster lets everybody in")).to_be_visible()
    expect(browser_page.get_by_text("whoever reaches its port may read")).to_be_visible()
    axe(browser_page)
    shot(browser_page, "security-light")
    browser_page.goto(f"{platform.url}/security?lang=es&theme=dark")
    expect(browser_page.get_by_role("heading", name="Este clúster deja entrar a todo el mundo")).to_be_visible()
    axe(browser_page)
    shot(browser_page, "security-dark")
