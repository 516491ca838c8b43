"""A connector's configuration as a form: the plugin's keys as fields, in their groups, with what a validation said.

Pure: keys and validations are Connect's answers, given. A field that is left empty is not sent, so that the plugin's
default holds also when it changes. What belongs to no field (transforms, converters' own keys) is kept beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from caudal.ui.services.errors import UiError
from caudal.ui.words import t

CLASS, NAME, VERSION = "connector.class", "name", "connector.plugin.version"
_APART = (NAME, CLASS, VERSION)  # asked for before the form
# The groups that Kafka Connect gives to every connector, by their names there.
_FRAMEWORK = ("Common", "Transforms", "Predicates", "Error Handling", "Topic Creation", "Exactly Once Support")
_ORDER = {"HIGH": 0, "MEDIUM": 1, "LOW": 2}


class Control(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"  # one of the recommended values, or another one
    LIST = "list"
    PASSWORD = "password"


@dataclass(slots=True)
class Field:
    name: str
    type: str
    required: bool
    default: str | None
    importance: str
    about: str
    group: str
    order: int
    title: str
    recommended: tuple[str, ...] = ()
    visible: bool = True
    errors: tuple[str, ...] = ()

    @property
    def control(self) -> Control:
        if self.type == "PASSWORD":
            return Control.PASSWORD
        if self.type == "BOOLEAN":
            return Control.SWITCH
        if self.type == "LIST":
            return Control.LIST
        if self.recommended:
            return Control.CHOICE
        if self.type in ("INT", "SHORT", "LONG", "DOUBLE"):
            return Control.NUMBER
        return Control.TEXT

    @property
    def is_advanced(self) -> bool:
        return self.importance == "LOW" and not self.required


@dataclass(slots=True)
class Form:
    plugin: str
    fields: dict[str, Field]
    general: list[str] = field(default_factory=list)  # errors of properties that no field has
    checked: bool = False

    @property
    def groups(self) -> dict[str, list[Field]]:
        """The connector's own fields first, the framework's groups behind them; each in its order."""
        found: dict[str, list[Field]] = {}
        for one in sorted(self.fields.values(), key=lambda one: _ORDER.get(one.importance, 1)):
            if one.name not in _APART:
                found.setdefault(one.group, []).append(one)
        own = {group: fields for group, fields in found.items() if _is_own(group)}
        return {**own, **{group: fields for group, fields in found.items() if group not in own}}

    @property
    def passwords(self) -> set[str]:
        return {one.name for one in self.fields.values() if one.type == "PASSWORD"}

    @property
    def wrong(self) -> int:
        return len(self.general) + sum(bool(one.errors) for one in self.fields.values())

    def answered(self, answer: Mapping[str, Any]) -> None:
        """What `/config/validate` says: errors beside their fields, recommended values, which fields mean something.

        A field that the answer brings along is new: a converter that was chosen has keys of its own.
        """
        self.general = []
        self.checked = True
        for one in answer.get("configs") or ():
            value, definition = one.get("value") or {}, one.get("definition")
            name = str(value.get("name", ""))
            errors = tuple(_said(str(error), name) for error in value.get("errors") or ())
            if name not in self.fields and definition:
                self.fields[name] = field_of(definition)
            known = self.fields.get(name)
            if known is None or name in (CLASS, VERSION):
                self.general += [f"{name}: {error}" for error in errors]
            else:
                known.errors = errors
                known.visible = bool(value.get("visible", True))
                known.recommended = tuple(str(each) for each in value.get("recommended_values") or ())


def form_of(plugin: str, keys: Iterable[Mapping[str, Any]]) -> Form:
    fields = [field_of(key) for key in keys]
    return Form(plugin, {one.name: one for one in fields})


def field_of(key: Mapping[str, Any]) -> Field:
    default = key.get("default_value")
    return Field(
        name=str(key["name"]),
        type=str(key.get("type", "STRING")),
        required=bool(key.get("required")),
        default=None if default is None else str(default),
        importance=str(key.get("importance", "MEDIUM")),
        about=str(key.get("documentation") or ""),
        group=str(key.get("group") or ""),
        order=int(key.get("order", -1)),
        title=str(key.get("display_name") or key["name"]),
    )


def _is_own(group: str) -> bool:
    """Whether a group is the connector's and not the framework's."""
    return group not in _FRAMEWORK


def _said(error: str, name: str) -> str:
    """Beside its field an error need not name it again.

    >>> _said("Invalid value x for configuration max.interval: Not a number of type LONG", "max.interval")
    'Not a number of type LONG'
    """
    start, _, reason = error.partition(f" for configuration {name}: ")
    return reason if reason and start.startswith("Invalid value") else error


# -- configurations ----------------------------------------------------------------------------------------------------


def config_of(values: Mapping[str, Any], form: Form, stored: Mapping[str, str]) -> dict[str, str]:
    """What is sent: what was filled in. A default that was written down before stays written."""
    config = dict(stored)
    for name, value in values.items():
        text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value).strip()
        known = form.fields.get(name)
        if text == "" or (known is not None and not known.required and text == known.default and name not in stored):
            config.pop(name, None)
        else:
            config[name] = text
    config.setdefault(CLASS, form.plugin)
    return config


def parsed_config(text: str) -> dict[str, str]:
    """A configuration that was written as JSON: an object of properties, or `{"name": …, "config": {…}}`."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise UiError(t("This is not JSON: {reason} at line {line}.", reason=error.msg, line=error.lineno)) from None
    if isinstance(found, dict) and isinstance(found.get("config"), dict):
        found = {**({NAME: found[NAME]} if NAME in found else {}), **found["config"]}
    if not isinstance(found, dict):
        raise UiError(t("A configuration is a JSON object of properties and their values."))
    for name, value in found.items():
        if value is None or isinstance(value, dict | list):
            raise UiError(t("The value of {name} must be text, a number, true or false.", name=name))
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in found.items()}


def shown_config(config: Mapping[str, str]) -> str:
    """As JSON, the name and the class first."""
    first = {name: config[name] for name in _APART if name in config}
    return json.dumps({**first, **{name: config[name] for name in sorted(config) if name not in first}}, indent=2,
                      ensure_ascii=False)  # fmt: skip


def written(config: Mapping[str, str]) -> dict[str, str]:
    """What a form is filled with: all but what is asked for before it. Properties that no field has are kept along."""
    return {name: value for name, value in config.items() if name not in _APART}
