"""The schemas that a schema uses, as lines of a form: the name in the text, the subject and the version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nicegui import ui

from caudal.registry.schemas.schema import Reference
from caudal.ui.components.buttons import button
from caudal.ui.words import t


@dataclass(slots=True)
class _Line:
    row: ui.row
    name: ui.input
    subject: ui.input
    version: ui.input


class ReferenceFields:
    def __init__(self, given: Sequence[Reference], on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._lines: list[_Line] = []
        with ui.expansion(t("References to other schemas"), value=bool(given)).classes("w-full"):
            self._box = ui.element("div").classes("stack")
            button(t("Add a reference"), lambda: self._add(), icon="add")
        for reference in given:
            self._add(reference)

    def _add(self, reference: Reference | None = None) -> None:
        with self._box, ui.row().classes("items-start gap-2") as row:
            line = _Line(
                row,
                self._field(t("Name in the text"), reference.name if reference else ""),
                self._field(t("Subject"), reference.subject if reference else ""),
                self._field(t("Version"), str(reference.version) if reference else "1"),
            )
            remove = ui.button(icon="close", color=None, on_click=lambda: self._remove(line)).props("flat dense")
            remove.props["aria-label"] = t("Remove this reference")
        self._lines.append(line)
        self._on_change() if reference is None else None

    def _field(self, label: str, value: str) -> ui.input:
        return ui.input(label, value=value, on_change=self._on_change).props("outlined dense")

    def _remove(self, line: _Line) -> None:
        self._lines.remove(line)
        line.row.delete()
        self._on_change()

    def value(self) -> list[Reference] | None:
        """None where a field is wrong, which then says so."""
        found: list[Reference] | None = []
        for line in self._lines:
            name, subject, version = (field.value.strip() for field in (line.name, line.subject, line.version))
            line.name.error = None if name else t("Needed")
            line.subject.error = None if subject else t("Needed")
            right = version.isascii() and version.isdigit() and int(version) > 0
            line.version.error = None if right else t("A number from 1 on")
            if name and subject and right and found is not None:
                found.append(Reference(name, subject, int(version)))
            else:
                found = None
        return found
