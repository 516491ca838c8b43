"""What forms share: dialogs with a heading, fields that show what is wrong beside them, buttons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from caudal.ui.components.buttons import button
from caudal.ui.words import t

Fields = Mapping[str, ValidationElement[Any]]

STYLE = """
.form-dialog { width: min(40rem, 94vw); max-width: 94vw !important; padding: 1.1rem 1.25rem; gap: 0.7rem; }
.form-dialog .q-field { width: 100%; }
.form-dialog .pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 0.5rem 0.75rem;
  width: 100%; }
.form-dialog textarea { font-family: var(--mono); font-size: 0.82rem; line-height: 1.45; }
.form-foot { display: flex; justify-content: flex-end; gap: 0.5rem; width: 100%; padding-top: 0.25rem; }
.form-note { color: var(--muted); font-size: 0.82rem; }
"""


@contextmanager
def form_dialog(title: str) -> Iterator[ui.dialog]:
    """A dialog for a form, open from the start; it is gone from the page when it is closed."""
    ui.add_css(STYLE)
    dialog = ui.dialog(value=True)
    dialog.on("hide", dialog.delete)
    with dialog, ui.card().classes("dialog-card form-dialog"):
        heading = ui.label(title).classes("dialog-title").props('role="heading" aria-level="2"')
        dialog.props(f'aria-labelledby="c{heading.id}"')
        heading.props(f'id="c{heading.id}"')
        yield dialog


def foot(dialog: ui.dialog, action: str, on_action: Callable[[], Any], *, danger: bool = False) -> ui.button:
    """Cancel, and what the form is for."""
    with ui.element("div").classes("form-foot"):
        button(t("Cancel"), dialog.close, look="").props("flat")
        return button(action, on_action, look="danger" if danger else "primary")


def show_problems(fields: Fields, problems: Mapping[str, str]) -> bool:
    """Puts each sentence beside its field, and the cursor into the first; whether there was one."""
    wrong = [name for name in fields if problems.get(name)]
    for name, field in fields.items():
        field.error = problems.get(name) or None
    if wrong:
        fields[wrong[0]].run_method("focus")
    return bool(wrong)


def text_field(label: str, value: str = "", *, hint: str = "") -> ui.input:
    field = ui.input(label, value=value).props("outlined dense hide-bottom-space")
    if hint:
        field.props["hint"] = hint
    return field
