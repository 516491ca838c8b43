"""A button in one of our looks, whose failures are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from caudal.ui.components.errors import guarded


def button(
    label: str, action: Callable[..., Any] | None = None, *, icon: str = "", look: str = "secondary"
) -> ui.button:
    """`look` is primary, secondary or danger."""
    made = ui.button(label, icon=icon or None, color=None, on_click=guarded(action) if action is not None else None)
    return made.props("unelevated no-caps").classes(look)
