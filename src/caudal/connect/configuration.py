"""What a connector, converter or transform can be told: keys with type, default, importance, validator and words.

Values come as texts (REST, files) or as JSON values; `parse` gives them their types, `validate` answers as
`/connector-plugins/{p}/config/validate` does: every key with its value and every error, by name. Texts are read, and
refused, as Kafka's ConfigDef does it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from caudal.connect.errors import ConfigError

HIDDEN = "[hidden]"


class Type(StrEnum):
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"  # commas
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # never shown back


class Importance(StrEnum):
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()
# Given the name and the typed value; raises ValueError with a sentence that does not repeat the name.
Validator = Callable[[str, Any], None]
# Given the whole configuration as texts; the values that make sense for the key.
Recommender = Callable[[Mapping[str, str]], list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One property. Without `default` it is required."""

    name: str
    type: Type = Type.STRING
    default: Any = REQUIRED
    importance: Importance = Importance.MEDIUM
    doc: str
    validator: Validator | None = None
    choices: tuple[Any, ...] = ()  # in any case of letters, for texts
    minimum: float | None = None
    maximum: float | None = None
    group: str | None = None
    order: int = -1
    width: str = "NONE"
    display_name: str | None = None
    depends_on: tuple[str, ...] = ()
    recommender: Recommender | None = None


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One line of a validation's answer."""

    key: Key
    value: str | None  # as given or by default; a password is "[hidden]"
    errors: tuple[str, ...] = ()
    recommended: tuple[str, ...] = ()
    visible: bool = True


@dataclass(frozen=True, slots=True)
class ConfigDef:
    """Immutable; `+` joins two. Properties that no key names are no error (transforms and converters have theirs)."""

    keys: tuple[Key, ...] = field(default=())

    def __add__(self, other: ConfigDef) -> ConfigDef:
        return ConfigDef(self.keys + other.keys)

    def key(self, name: str) -> Key | None:
        return next((key for key in self.keys if key.name == name), None)

    def parse(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every key with its typed value or default. Raises ConfigError that names the first wrong property."""
        return {key.name: _parsed(key, given.get(key.name)) for key in self.keys}

    def validate(self, given: Mapping[str, Any]) -> list[ConfigValue]:
        """All keys with all errors. Never raises."""
        values: dict[str, Any] = {}
        errors: dict[str, list[str]] = {}
        for key in self.keys:
            try:
                values[key.name] = _parsed(key, given.get(key.name))
            except ConfigError as error:
                errors.setdefault(key.name, []).append(str(error))
        texts = {name: text for name, value in given.items() if (text := as_text(value)) is not None}
        lines = []
        for key in self.keys:
            wrong = errors.get(key.name, [])
            recommended: list[Any] = list(key.choices)
            if key.recommender is not None:
                try:
                    recommended = list(key.recommender(texts))
                except Exception as error:
                    wrong.append(_invalid(key, given.get(key.name), str(error)))
            lines.append(
                ConfigValue(
                    key,
                    self._shown(key, given.get(key.name)),
                    tuple(wrong),
                    tuple(text for each in recommended if (text := as_text(each)) is not None),
                    all(self._holds(name, values) for name in key.depends_on),
                )
            )
        return lines

    def dependents(self, name: str) -> list[str]:
        """The keys that mean something only together with this one."""
        return [key.name for key in self.keys if name in key.depends_on]

    def _shown(self, key: Key, given: Any) -> str | None:
        if given is None:
            given = None if key.default is REQUIRED else key.default
        text = as_text(given)
        return HIDDEN if key.type is Type.PASSWORD and text is not None else text

    def _holds(self, name: str, values: Mapping[str, Any]) -> bool:
        """Whether what a key depends on is switched on, or given. One that is wrong hides nothing."""
        return self.key(name) is None or name not in values or values[name] not in (None, False, "", [])


def config_def(*keys: Key | Iterable[Key]) -> ConfigDef:
    """Keys, and lists of keys, in order."""
    flat: list[Key] = []
    for one in keys:
        flat.extend([one] if isinstance(one, Key) else one)
    return ConfigDef(tuple(flat))


class Password(str):
    """The text of a password that does not show when a configuration is printed or logged.

    >>> {"password": Password("geheim")}
    {'password': '[hidden]'}
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(HIDDEN)


def as_text(value: Any) -> str | None:
    """A value as a properties file has it.

    >>> as_text(True), as_text(["a", "b"]), as_text(3)
    ('true', 'a,b', '3')
    """
    if value is None or isinstance(value, str):
        return value if value is None else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(text for each in value if (text := as_text(each)) is not None)
    if isinstance(value, Mapping):
        return json.dumps(value)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    return str(value)


def matches(pattern: str, what: str) -> Validator:
    """A validator: the whole text has this form; `what` says in words what is expected."""
    compiled = re.compile(pattern)

    def validator(name: str, value: Any) -> None:
        if value is not None and compiled.fullmatch(value) is None:
            raise ValueError(f"Expected {what}")

    return validator


def valid_regex(name: str, value: Any) -> None:
    """A validator: the text is a regular expression."""
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"It is not a regular expression: {error}") from None


def not_empty(name: str, value: Any) -> None:
    """A validator for texts and lists."""
    if not value:
        raise ValueError("List must not be empty" if isinstance(value, list) else "String must be non-empty")


def _parsed(key: Key, given: Any) -> Any:
    if given is None:
        if key.default is REQUIRED:
            raise ConfigError(f'Missing required configuration "{key.name}" which has no default value.', key.name)
        given = key.default
        if given is None:
            return None
    try:
        value = _typed(key.type, given)
        if key.choices:
            value = _chosen(key.choices, value)
        if key.minimum is not None and value < key.minimum:
            raise ValueError(f"Value must be at least {_number(key.minimum)}")
        if key.maximum is not None and value > key.maximum:
            raise ValueError(f"Value must be no more than {_number(key.maximum)}")
        if key.validator is not None:
            key.validator(key.name, value)
    except ConfigError as error:
        raise ConfigError(str(error), error.key or key.name) from None
    except ValueError as error:
        raise ConfigError(_invalid(key, given, str(error)), key.name) from None
    return value


def _invalid(key: Key, given: Any, why: str) -> str:
    text = as_text(given)
    shown = HIDDEN if key.type is Type.PASSWORD and text else "null" if text is None else text
    if key.type is Type.PASSWORD and text:
        why = why.replace(text, HIDDEN)
    return f"Invalid value {shown} for configuration {key.name}: {why}"


def _typed(type: Type, given: Any) -> Any:
    if isinstance(given, str):
        text = given.strip()
    elif type is Type.LIST and isinstance(given, Sequence):
        return [str(as_text(each)) for each in given]
    elif isinstance(given, (Mapping, list, tuple)):
        raise ValueError("Expected a text, a number or a boolean, not an object or a list")
    else:
        text = as_text(given) or ""
    match type:
        case Type.STRING | Type.CLASS:
            return text
        case Type.PASSWORD:
            return Password(text)
        case Type.BOOLEAN:
            folded = text.lower()
            if folded not in ("true", "false"):
                raise ValueError("Expected value to be either true or false")
            return folded == "true"
        case Type.INT | Type.LONG:
            return _integer(type, text)
        case Type.DOUBLE:
            try:
                return float(text)
            except ValueError:
                raise ValueError(f"Not a number of type {type}") from None
        case Type.LIST:
            return re.split(r"\s*,\s*", text) if text else []


def _integer(type: Type, text: str) -> int:
    bits = 32 if type is Type.INT else 64
    if re.fullmatch(r"[+-]?[0-9]{1,20}", text) is None or not -(1 << bits - 1) <= int(text) < 1 << bits - 1:
        raise ValueError(f"Not a number of type {type}")
    return int(text)


def _chosen(choices: tuple[Any, ...], value: Any) -> Any:
    """The choice as it is declared, for each of a list too."""
    if isinstance(value, list):
        return [_chosen(choices, each) for each in value]
    for choice in choices:
        if choice == value or (isinstance(value, str) and str(choice).lower() == value.lower()):
            return choice
    raise ValueError(f"String must be one of (case insensitive): {', '.join(str(choice) for choice in choices)}")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)
