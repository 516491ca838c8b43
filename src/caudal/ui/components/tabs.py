"""Tabs that are links: each has its URL, and the browser's back button works."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from nicegui import ui


def link_tabs(tabs: Mapping[str, tuple[str, str]], current: str, label: str) -> ui.html:
    """`tabs` are name → (title, href); `label` names the row for screen readers."""
    links = "".join(
        f'<a href="{escape(href)}"{_current(name == current)}>{escape(title)}</a>'
        for name, (title, href) in tabs.items()
    )
    return ui.html(links, sanitize=False, tag="nav").classes("tabs").props(f'aria-label="{escape(label)}"')


def _current(is_current: bool) -> str:
    return ' aria-current="page"' if is_current else ""
