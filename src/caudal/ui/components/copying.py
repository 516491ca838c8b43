"""Buttons that put something on the clipboard: a text, or the link to this page as it is."""

from __future__ import annotations

import json

from nicegui import ui

from caudal.ui.words import t


def copy_button(text: str, label: str = "") -> ui.button:
    """Copies the text, in the browser."""
    name = label or t("Copy")
    button = ui.button(icon="content_copy").props(f'flat dense size="sm" aria-label="{name}"').classes("copy-button")
    return button.tooltip(name).on("click", js_handler=f"() => window.caudal.copy({json.dumps(text)})")


def copy_link() -> ui.button:
    """Copies the address of the page with its filters and tab."""
    name = t("Copy link to this view")
    button = ui.button(icon="link").props(f'flat dense aria-label="{name}"')
    return button.tooltip(name).on("click", js_handler="() => window.caudal.copy(location.href)")
