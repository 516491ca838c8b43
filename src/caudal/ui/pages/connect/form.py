"""A plugin's form in the page: a control for each field, what is wrong beside it while somebody types.

Every change is followed by a validation of the whole configuration by Connect, a moment after the last one. What is
wrong with a field that nobody has touched is shown only when the form is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from nicegui import ui

from caudal.ui.components import card, guarded
from caudal.ui.services.connect_form import Control, Field, Form
from caudal.ui.services.connect_secrets import HIDDEN
from caudal.ui.words import t

VALIDATION_SECONDS = 0.6  # after the last key


@dataclass(slots=True)
class _Place:
    """Where fields stand: a box, perhaps one that folds."""

    box: ui.element
    fold: ui.expansion | None = None
    fields: list[Field] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.fold is None or bool(self.fold.value)


class FormView:
    """`values` are what was filled in, by name; HIDDEN is a password that stays as it is stored."""

    def __init__(self, form: Form, values: Mapping[str, str], changed: Callable[[], Any]) -> None:
        self.form = form
        self.values: dict[str, Any] = dict(values)
        self._changed = changed
        self._touched: set[str] = set(values)
        self._all_shown = False
        self._controls: dict[str, Any] = {}
        self._boxes: dict[str, ui.element] = {}
        self._places: dict[str, _Place] = {}
        self._groups: dict[str, _Place] = {}  # where a group's further fields go
        self._offered: dict[str, ui.html] = {}
        self._timer: ui.timer | None = None
        self._root = ui.element("div").classes("connect-form")
        self._draw()

    def _draw(self) -> None:
        """The first group is open; the framework's groups and what is seldom needed are folded."""
        with self._root:
            for group, fields in self.form.groups.items():
                title = group or t("Connector")
                plain = [one for one in fields if not one.is_advanced]
                rest = [one for one in fields if one.is_advanced]
                if group == next(iter(self.form.groups)) or (plain and any(one.required for one in plain)):
                    with card(title):
                        self._put(_Place(ui.element("div").classes("connect-fields")), group, plain)
                        if rest:
                            self._folded(t("More of {group} ({n})", group=title, n=len(rest)), group, rest)
                else:
                    self._folded(f"{title} ({len(fields)})", group, [*plain, *rest])

    def _folded(self, title: str, group: str, fields: list[Field]) -> None:
        """Built when it is opened: there are dozens of fields that nobody looks at."""
        fold = ui.expansion(title, value=any(one.name in self.values for one in fields)).classes("w-full")
        with fold:
            place = _Place(ui.element("div").classes("connect-fields"), fold)
        fold.on_value_change(lambda event: self._build(place) if event.value else None)
        self._put(place, group, fields)

    def _put(self, place: _Place, group: str, fields: list[Field]) -> None:
        self._groups[group] = place
        for one in fields:
            self._places[one.name] = place
            place.fields.append(one)
        if place.is_open:
            self._build(place)

    def _build(self, place: _Place) -> None:
        for one in place.fields:
            if one.name not in self._controls:
                with place.box:
                    self._control(one)

    def _add_new(self) -> None:
        """What a validation has brought along goes to its group; what is there stays as it is, under the fingers."""
        for group, fields in self.form.groups.items():
            new = [one for one in fields if one.name not in self._places]
            if new and group in self._groups:
                self._put(self._groups[group], group, new)
            elif new:
                with self._root:
                    self._folded(f"{group or t('Connector')} ({len(new)})", group, new)

    # -- one field -----------------------------------------------------------------------------------------------------

    def _control(self, one: Field) -> None:
        with ui.element("div").classes("connect-field") as box:
            self._boxes[one.name] = box
            control = self._made(one)
            self._controls[one.name] = control
            control.props(f'data-field="{escape(one.name)}"')
            ui.html(_about(one), sanitize=False).classes("about")
        box.set_visibility(one.visible)

    def _made(self, one: Field) -> Any:
        label = f"{one.title} *" if one.required else one.title
        value = self.values.get(one.name)

        def take(event: Any) -> None:
            self._take(one, event.value)

        if one.control is Control.SWITCH:
            given = value if value is not None else one.default
            return ui.switch(label, value=str(given).lower() == "true", on_change=take)
        if one.control is Control.PASSWORD:
            hint = t("Stored, and not shown. Type to replace it.") if value == HIDDEN else ""
            made = ui.input(label, placeholder=hint, password=True, on_change=take)
            if hint:
                made.props("stack-label")
                with made.add_slot("append"):
                    self._remove_button(one, made)
            return made.props('outlined dense autocomplete="new-password"').classes("w-full")
        made = ui.input(label, value=value or "", placeholder=one.default or "", on_change=take)
        made.props("outlined dense").classes("w-full")
        if one.default:
            made.props("stack-label")
        if one.control is Control.NUMBER:
            made.props('inputmode="numeric"')
        # The browser's own list, under the id that NiceGUI's input looks for; its own suggestions take the Tab key.
        offered = ui.html(_options(one), sanitize=False, tag="datalist")
        self._offered[one.name] = offered.props(f'id="{made.html_id}-datalist"')
        return made

    def _remove_button(self, one: Field, made: ui.input) -> None:
        def remove() -> None:
            self.values[one.name] = ""
            made.props(f'placeholder="{escape(t("Removed when saved."))}"')
            self.soon()

        label = t("Remove the stored value")
        ui.button(icon="close", color=None, on_click=remove).props(f'flat dense size="sm" aria-label="{escape(label)}"')

    def _take(self, one: Field, value: Any) -> None:
        self._touched.add(one.name)
        stored = one.control is Control.PASSWORD and self.values.get(one.name) == HIDDEN
        if not (stored and not value):
            self.values[one.name] = value
        self.soon()

    # -- validation ----------------------------------------------------------------------------------------------------

    def soon(self) -> None:
        """A validation when nobody has typed for a moment."""
        if self._timer is not None:
            self._timer.cancel()
        with self._root:
            self._timer = ui.timer(VALIDATION_SECONDS, guarded(self._changed), once=True)

    def show_all(self) -> None:
        """The form was sent: every field says what is wrong with it."""
        self._all_shown = True
        self.show_answer()

    def show_answer(self) -> None:
        """What the last validation said, beside the fields."""
        self._add_new()
        for one in self.form.fields.values():
            wrong = one.errors if self._all_shown or one.name in self._touched else ()
            if wrong and one.name in self._places:
                self._unfold(one)
            control = self._controls.get(one.name)
            if control is None:
                continue
            self._boxes[one.name].set_visibility(one.visible or bool(wrong))
            if one.name in self._offered and self._offered[one.name].content != _options(one):
                self._offered[one.name].content = _options(one)
            if isinstance(control, ui.input):
                message = " ".join(wrong) or None
                if control.error != message:
                    control.error = message

    def _unfold(self, one: Field) -> None:
        place = self._places[one.name]
        if not place.is_open and place.fold is not None:
            place.fold.set_value(True)
        self._build(place)

    def focus_first_error(self) -> None:
        for one in self.form.fields.values():
            control = self._controls.get(one.name)
            if one.errors and isinstance(control, ui.input):
                control.run_method("focus")
                return


def _options(one: Field) -> str:
    """What is recommended; others may be typed as well."""
    return "".join(f'<option value="{escape(value)}"></option>' for value in one.recommended)


def _about(one: Field) -> str:
    """Its words, its key and what holds without it."""
    parts = [escape(one.about)] if one.about else []
    known = f"<code>{escape(one.name)}</code>" if one.title != one.name else ""
    kind = escape(one.type.lower())
    holds = t("default {value}", value=one.default) if one.default and one.control is not Control.PASSWORD else ""
    some = t("one of {values}", values=", ".join(one.recommended)) if 0 < len(one.recommended) <= 8 else ""
    more = " · ".join(part for part in (known, kind, escape(holds), escape(some)) if part)
    return " ".join([*parts, f'<span class="meta">{more}</span>'])
