"""Cards, figures, lists of facts and the empty state: the quiet parts of a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from nicegui import ui

from caudal.ui.words import t


def h2(title: str) -> ui.html:
    """A heading of a section."""
    return ui.html(escape(title), sanitize=False, tag="h2")


def text(content: str, classes: str = "") -> ui.html:
    """A paragraph; what stands between backticks is code."""
    return ui.html(with_code(content), sanitize=False, tag="p").classes(classes)


def with_code(content: str) -> str:
    """As HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(content))


def card(title: str = "", classes: str = "") -> ui.element:
    """A surface with a heading; use it in a `with`."""
    surface = ui.element("section").classes(f"card {classes}")
    if title:
        with surface:
            h2(title)
    return surface


def grid(minimum: str = "14rem") -> ui.element:
    """Children beside each other, as many as fit with this width."""
    return ui.element("div").classes("grid").style(f"--min: {minimum}")


class Stat:
    """A figure with its name; `set` changes it."""

    def __init__(self, label: str, value: str, hint: str, tone: str, href: str) -> None:
        tag = "a" if href else "div"
        self._element = ui.element(tag).classes("stat")
        if href:
            self._element.props["href"] = href
        with self._element:
            ui.html(escape(label), sanitize=False, tag="span").classes("stat-label")
            self._value = ui.html("", sanitize=False, tag="span").classes("stat-value")
            self._hint = ui.html("", sanitize=False, tag="span").classes("stat-hint")
        self._tone = ""
        self.set(value, hint, tone)

    def set(self, value: str, hint: str = "", tone: str = "") -> None:
        """`tone` is good, warn or bad, or nothing."""
        self._value.content = escape(value)
        self._hint.content = escape(hint)
        if tone != self._tone:
            self._value.classes(add=tone, remove=self._tone)
            self._tone = tone


def stat(label: str, value: str = "–", hint: str = "", *, tone: str = "", href: str = "") -> Stat:
    return Stat(label, value, hint, tone, href)


def facts(pairs: Iterable[tuple[str, str]]) -> ui.html:
    """Names and values below each other (a definition list)."""
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs)
    return ui.html(rows, sanitize=False, tag="dl").classes("facts")


def empty_state(
    icon: str, title: str, message: str = "", action: str = "", on_action: Callable[[], Any] | None = None
) -> ui.element:
    """There is nothing here, and what to do about it."""
    with ui.element("div").classes("empty-state") as box:
        ui.html(f'<i class="material-icons" aria-hidden="true">{escape(icon)}</i>', sanitize=False)
        h2(title)
        if message:
            text(message, "muted")
        if action and on_action:
            ui.button(action, on_click=on_action).props("unelevated no-caps").classes("primary")
    return box


def missing_server(name: str, flag: str) -> ui.element:
    """The page needs a server that this control center was not told of."""
    return empty_state(
        "cloud_off",
        t("{server} is not connected", server=name),
        t("Start it with `caudal up`, or give its address: `caudal ui {flag} URL`", flag=flag),
    )
