"""The frame around a page as plain HTML: skip link, navigation, header, the palette and the help dialog.

It is there before any script runs, and nothing in it needs the websocket; `static/caudal.js` brings it to life.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from caudal.ui.platform import platform
from caudal.ui.shell import PageEntry, Visitor
from caudal.ui.words import LANGUAGES, t

STATIC = Path(__file__).parent / "static"
# A stream that widens: three strands of the same water.
LOGO = (
    '<svg class="logo" viewBox="0 0 32 32" width="26" height="26" aria-hidden="true" fill="none" '
    'stroke-linecap="round"><path d="M3 9c6-4 9 4 14 2s6-6 12-4" stroke="var(--accent)" stroke-width="3.4"/>'
    '<path d="M3 17c6-4 9 4 14 2s6-6 12-4" stroke="var(--accent)" stroke-width="3.4" opacity=".65"/>'
    '<path d="M3 25c6-4 9 4 14 2s6-6 12-4" stroke="var(--accent)" stroke-width="3.4" opacity=".35"/></svg>'
)
FAVICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="#0d8077" stroke-width="3.6" '
    'stroke-linecap="round"><path d="M3 9c6-4 9 4 14 2s6-6 12-4"/><path d="M3 17c6-4 9 4 14 2s6-6 12-4" '
    'opacity=".65"/><path d="M3 25c6-4 9 4 14 2s6-6 12-4" opacity=".35"/></svg>'
)


@functools.cache
def static_url(name: str) -> str:
    """With the content's hash in it, so that browsers may keep it for ever."""
    return f"/_caudal/{_fingerprint()}/{name}"


@functools.cache
def _fingerprint() -> str:
    digest = hashlib.sha256()
    for file in sorted(STATIC.iterdir()):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def static_prefix() -> str:
    return f"/_caudal/{_fingerprint()}"


def head_html(visitor: Visitor) -> str:
    """The theme is on the root before the first paint."""
    words = {"copied": t("Copied"), "nothing": t("Nothing found")}
    return (
        f"<script>document.documentElement.dataset.theme={json.dumps(visitor.theme)};"
        f"window.caudalWords={json.dumps(words)};</script>"
        f'<link rel="stylesheet" href="{static_url("caudal.css")}">'
        f'<script defer src="{static_url("caudal.js")}"></script>'
    )


def frame_html(visitor: Visitor, here: PageEntry, entries: Sequence[PageEntry]) -> str:
    return "".join(
        (
            f'<a class="skip-link" href="#main">{escape(t("Skip to content"))}</a>',
            _navigation(visitor, entries),
            _header(visitor, here),
            _palette(),
            _help(entries),
        )
    )


def _navigation(visitor: Visitor, entries: Sequence[PageEntry]) -> str:
    parts = []
    group = None
    for entry in entries:
        if entry.group != group:
            if group is not None:
                parts.append("</ul>")
            if entry.group:
                parts.append(f'<h2 class="nav-group">{escape(t(entry.group))}</h2>')
            parts.append("<ul>")
            group = entry.group
        current = ' aria-current="page"' if is_here(entry.path, visitor.path) else ""
        keys = f' data-go="{escape(entry.shortcut)}"' if entry.shortcut else ""
        parts.append(
            f'<li><a href="{escape(entry.path)}"{current}{keys}>{icon(entry.icon)}'
            f"<span>{escape(t(entry.title))}</span></a></li>"
        )
    if group is not None:
        parts.append("</ul>")
    brand = f'<a class="brand" href="/">{LOGO}<span>Caudal</span></a>'
    return f'<nav class="side" id="side" aria-label="{escape(t("Pages"))}">{brand}{"".join(parts)}</nav>'


def _header(visitor: Visitor, here: PageEntry) -> str:
    other = next(name for name in LANGUAGES if name != visitor.lang)
    url = escape(f"{visitor.path}?{with_language(visitor.query, other)}")
    themes = {"auto": "contrast", "light": "light_mode", "dark": "dark_mode"}
    labels = {"auto": t("Theme: as the system"), "light": t("Theme: light"), "dark": t("Theme: dark")}
    theme_data = escape(json.dumps({name: [themes[name], labels[name]] for name in themes}))
    return (
        '<header class="top">'
        f'<button type="button" class="icon-button only-narrow" data-menu aria-controls="side" aria-expanded="false" '
        f'aria-label="{escape(t("Menu"))}">{icon("menu")}</button>'
        f'<button type="button" class="find" data-palette>{icon("search")}'
        f"<span>{escape(t('Search or jump to…'))}</span><kbd>/</kbd></button>"
        '<span class="spacer"></span>'
        f'<span class="cluster" title="{escape(t("The Kafka cluster that this page shows"))}">{icon("dns")}'
        f"<span>{escape(platform().bootstrap)}</span></span>"
        f'<a class="icon-button text" href="{url}" hreflang="{other}" lang="{other}" '
        f'aria-label="{escape(LANGUAGES[other])}">{other.upper()}</a>'
        f'<button type="button" class="icon-button" data-theme-button data-themes="{theme_data}" '
        f'aria-label="{escape(labels[visitor.theme])}" title="{escape(labels[visitor.theme])}">'
        f"{icon(themes[visitor.theme])}</button>"
        f'<button type="button" class="icon-button" data-help aria-label="{escape(t("Keyboard shortcuts"))}" '
        f'title="{escape(t("Keyboard shortcuts"))}">{icon("keyboard")}</button>'
        "</header>"
    )


def _palette() -> str:
    label = escape(t("Search pages, topics and groups"))
    return (
        f'<dialog class="palette" id="palette" aria-label="{label}">'
        f'<div class="palette-input">{icon("search")}<input type="text" role="combobox" aria-expanded="true" '
        f'aria-controls="palette-list" aria-autocomplete="list" autocomplete="off" spellcheck="false" '
        f'aria-label="{label}" placeholder="{label}"></div>'
        f'<ul id="palette-list" role="listbox" aria-label="{escape(t("Results"))}"></ul></dialog>'
    )


def _help(entries: Sequence[PageEntry]) -> str:
    rows = [("<kbd>/</kbd>", t("Search")), ("<kbd>?</kbd>", t("This help")), ("<kbd>Esc</kbd>", t("Close"))]
    rows += [
        (f"<kbd>g</kbd> <kbd>{escape(entry.shortcut)}</kbd>", t(entry.title)) for entry in entries if entry.shortcut
    ]
    body = "".join(f"<tr><td>{keys}</td><td>{escape(what)}</td></tr>" for keys, what in rows)
    title = escape(t("Keyboard shortcuts"))
    return (
        f'<dialog class="help" id="help" aria-labelledby="help-title"><h2 id="help-title">{title}</h2>'
        f'<table><tbody>{body}</tbody></table><form method="dialog"><button class="plain-button">'
        f"{escape(t('Close'))}</button></form></dialog>"
    )


def icon(name: str) -> str:
    return f'<i class="material-icons" aria-hidden="true">{escape(name)}</i>'


def is_here(entry: str, path: str) -> bool:
    """Whether this entry is the one to mark: its page, or a page below it."""
    return path == entry or (entry != "/" and path.startswith(f"{entry}/"))


def with_language(query: str, lang: str) -> str:
    return urlencode([*(pair for pair in parse_qsl(query) if pair[0] != "lang"), ("lang", lang)])
