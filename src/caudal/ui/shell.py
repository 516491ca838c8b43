"""`@page`: what every page has around its content, and how a page comes to exist.

A file in `pages/` with a function under `@page("/topics", title="Topics", icon="topic", order=10)` is a page: it has a
URL, a place in the navigation, a shortcut and the visitor's language and theme. Query parameters of the URL are the
function's parameters. An error that a service raises is shown in place of the content. The frame itself (navigation,
header, dialogs) is plain HTML, made in `frame.py`.
"""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import logging
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from nicegui import ui
from starlette.requests import Request
from starlette.responses import Response

from caudal.ui import words
from caudal.ui.components.errors import error_panel
from caudal.ui.services.errors import UiError
from caudal.ui.words import t

LANGUAGE_COOKIE, THEME_COOKIE = "caudal_lang", "caudal_theme"
THEMES = ("auto", "light", "dark")
# A page waits for its brokers: longer than they may take, so that their silence is shown as a sentence.
BUILD_SECONDS = 20.0
# Where a page stands in the navigation when it names no group: below the first bound that is above its order.
GROUPS = ((10, ""), (40, "Data"), (70, "Processing"), (90, "Cluster"))
LAST_GROUP = "Learn"
NOT_FOUND = "Not found"

log = logging.getLogger("caudal.ui")

Build = TypeVar("Build", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A page in the navigation. Title and group are English; they are translated when shown."""

    path: str
    title: str
    icon: str
    order: int
    nav: bool
    group: str
    shortcut: str


@dataclass(frozen=True, slots=True)
class Visitor:
    """What the frame needs to know of who looks at it."""

    lang: str
    theme: str
    path: str
    query: str


_entries: dict[str, PageEntry] = {}


def page(
    path: str,
    *,
    title: str,
    icon: str = "",
    order: int = 100,
    nav: bool = True,
    group: str | None = None,
    shortcut: str = "",
    wide: bool = False,
) -> Callable[[Build], Build]:
    """Make a page of the function (or coroutine) that builds its content.

    `order` 0–9 is the overview, 10–39 Data, 40–69 Processing, 70–89 Cluster, from 90 on Learn. `shortcut` is the letter
    after `g`. A page with `nav=False` (one topic) belongs to the entry whose path begins its own. `wide` uses the whole
    width of the window.
    """
    entry = PageEntry(path, title, icon, order, nav, _group_of(order) if group is None else group, shortcut)

    def register(build: Build) -> Build:
        _entries[path] = entry
        signature = inspect.signature(build, eval_str=True)
        hand_over = "request" in signature.parameters

        @functools.wraps(build)
        async def show(request: Request, **query: Any) -> Response | None:
            _furnish(request, entry, wide)
            if hand_over:
                query["request"] = request
            try:
                result = build(**query)
                if inspect.isawaitable(result):
                    result = await result
            except UiError as error:
                error_panel(error.message)
                return None
            except Exception:
                log.exception("the page %s failed", request.url.path)
                error_panel(t("This page failed; the log of the control center says why."))
                return None
            return result if isinstance(result, Response) else None

        asked = [parameter for name, parameter in signature.parameters.items() if name != "request"]
        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)
        show.__signature__ = inspect.Signature([request, *asked])  # type: ignore[attr-defined]
        ui.page(path, response_timeout=BUILD_SECONDS)(show)
        return build

    return register


def entries() -> list[PageEntry]:
    """What the navigation shows, in order."""
    return sorted((entry for entry in _entries.values() if entry.nav), key=lambda entry: (entry.order, entry.title))


def load_pages() -> None:
    """Import every file of `pages/`, which makes them pages."""
    from caudal.ui import pages

    for module in pkgutil.iter_modules(pages.__path__):
        importlib.import_module(f"{pages.__name__}.{module.name}")


def visitor_of(request: Request) -> Visitor:
    """The language and theme that the URL asks for, else those remembered, else the browser's language and auto."""
    lang = request.query_params.get("lang") or request.cookies.get(LANGUAGE_COOKIE) or _accepted(request)
    theme = request.query_params.get("theme") or request.cookies.get(THEME_COOKIE) or "auto"
    return Visitor(
        lang if lang in words.LANGUAGES else words.DEFAULT,
        theme if theme in THEMES else "auto",
        request.url.path,
        request.url.query,
    )


async def not_found(request: Request) -> Response:
    """In place of a page that there is not."""
    from nicegui import Client

    from caudal.ui.components.cards import empty_state

    entry = PageEntry(request.url.path, title=NOT_FOUND, icon="", order=0, nav=False, group="", shortcut="")
    with Client(ui.page(""), request=request) as client:
        _furnish(request, entry, wide=False)
        empty_state(
            "explore_off",
            t("There is no page {path}", path=request.url.path),
            t("Press `/` to search pages, topics and groups."),
        )
    return client.build_response(request, 404)


def page_heading(title: str, subtitle: str = "") -> ui.element:
    """The page's h1. Use it in a `with` to put actions at its right."""
    with ui.element("div").classes("page-heading"):
        with ui.element("div"):
            ui.element("h1").props["innerHTML"] = _escaped(title)
            if subtitle:
                ui.element("p").classes("muted").props["innerHTML"] = _escaped(subtitle)
        return ui.element("div").classes("actions")


def _furnish(request: Request, entry: PageEntry, wide: bool) -> None:
    from caudal.ui.frame import frame_html, head_html

    visitor = visitor_of(request)
    client = ui.context.client
    words.speak(visitor.lang)
    # NiceGUI keeps these per page; ours are the visitor's.
    client.page = copy.copy(client.page)
    client.page.dark = {"light": False, "dark": True}.get(visitor.theme)
    client.page.language = "es" if visitor.lang == "es" else "en-US"
    ui.page_title(f"{t(entry.title)} · Caudal")
    ui.add_head_html(head_html(visitor))
    ui.add_body_html(frame_html(visitor, entry, entries()))
    client.content.classes(add="page wide" if wide else "page")
    main = client.content.parent_slot
    if main is not None:
        main.parent.props('id="main" tabindex="-1"')


def _group_of(order: int) -> str:
    return next((name for bound, name in GROUPS if order < bound), LAST_GROUP)


def _accepted(request: Request) -> str:
    first = request.headers.get("accept-language", "").split(",")[0]
    return first.split(";")[0].split("-")[0].strip().lower()


def _escaped(text: str) -> str:
    import html

    return html.escape(text)
