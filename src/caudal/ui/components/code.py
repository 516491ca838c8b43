"""Text in a fixed width: JSON laid out and coloured, and plain code. Coloured here, so that no library is loaded."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from nicegui import ui

from caudal.ui.components.copying import copy_button

_TOKEN = re.compile(
    r'(?P<key>"(?:\\.|[^"\\])*")(?=\s*:)|(?P<string>"(?:\\.|[^"\\])*")|(?P<word>\btrue\b|\bfalse\b|\bnull\b)'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
)


def json_view(value: Any, *, copy: bool = True) -> ui.element:
    """A value as indented JSON; text that is JSON is laid out too."""
    if isinstance(value, str | bytes):
        try:
            value = json.loads(value)
        except ValueError:
            return code_view(value.decode("utf-8", "replace") if isinstance(value, bytes) else value, copy=copy)
    return _view(json.dumps(value, indent=2, ensure_ascii=False, default=str), coloured=True, copy=copy)


def code_view(text: str, *, copy: bool = True) -> ui.element:
    return _view(text, coloured=False, copy=copy)


def json_html(text: str) -> str:
    """JSON text with its tokens in spans, safe to show."""
    parts = []
    end = 0
    for match in _TOKEN.finditer(text):
        parts.append(escape(text[end : match.start()]))
        parts.append(f'<span class="j-{match.lastgroup}">{escape(match[0])}</span>')
        end = match.end()
    parts.append(escape(text[end:]))
    return "".join(parts)


def _view(text: str, coloured: bool, copy: bool) -> ui.element:
    with ui.element("div").classes("code-view") as box:
        content = json_html(text) if coloured else escape(text)
        ui.html(f"<code>{content}</code>", sanitize=False, tag="pre").props('tabindex="0"')
        if copy:
            copy_button(text)
    return box
