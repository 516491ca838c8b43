"""Dialogs that ask before something is done: plainly, or by typing the name of what would be lost."""

from __future__ import annotations

from nicegui import ui

from caudal.ui.words import t


async def confirm(title: str, message: str, action: str, *, danger: bool = False) -> bool:
    """Whether the visitor pressed `action`."""
    with ui.dialog() as dialog, _surface(title):
        ui.label(message)
        _buttons(dialog, action, danger)
    return await _answer(dialog)


async def confirm_by_name(name: str, what: str, action: str = "") -> bool:
    """Whether the visitor typed the name of what is lost. `what` says in a sentence what will happen."""
    title = t("Are you sure?")
    with ui.dialog() as dialog, _surface(title):
        ui.label(what)
        typed = ui.input(t("Type {name} to confirm", name=name)).classes("w-full").props("autofocus outlined dense")
        typed.props('data-testid="confirm-name"')
        button = _buttons(dialog, action or t("Delete"), danger=True)
        button.bind_enabled_from(typed, "value", backward=lambda value: value == name)
        typed.on("keydown.enter", lambda: dialog.submit(True) if typed.value == name else None)
    return await _answer(dialog)


def _surface(title: str) -> ui.card:
    with ui.card().classes("dialog-card") as surface:
        ui.label(title).classes("dialog-title").props('role="heading" aria-level="2"')
    surface.props["role"] = "alertdialog"
    surface.props["aria-label"] = title
    return surface


def _buttons(dialog: ui.dialog, action: str, danger: bool) -> ui.button:
    with ui.row().classes("w-full justify-end gap-2"):
        ui.button(t("Cancel"), on_click=lambda: dialog.submit(False)).props("flat no-caps")
        button = ui.button(action, on_click=lambda: dialog.submit(True)).props("unelevated no-caps")
        button.classes("danger" if danger else "primary")
    return button


async def _answer(dialog: ui.dialog) -> bool:
    answer = await dialog
    dialog.delete()
    return answer is True
