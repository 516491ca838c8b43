"""Coloured words: badges and status dots. The colour never says it alone; the word does."""

from __future__ import annotations

from html import escape

from nicegui import ui

TONES = ("", "good", "warn", "bad", "info")


def badge(text: str, tone: str = "") -> ui.html:
    return ui.html(escape(text), sanitize=False, tag="span").classes(f"badge {_checked(tone)}")


def status_dot(text: str, tone: str = "") -> ui.html:
    content = f'<span class="dot" aria-hidden="true"></span>{escape(text)}'
    return ui.html(content, sanitize=False, tag="span").classes(f"status {_checked(tone)}")


def _checked(tone: str) -> str:
    if tone not in TONES:
        raise ValueError(f"'{tone}' is not a tone: {', '.join(TONES[1:])}")
    return tone
