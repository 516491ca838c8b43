"""What a connector, converter or transform can be told: keys with type, default, importance, validator and words.

Values come as texts (REST, files) or as JSON values; `parse` gives them their types, `validate` answers as
`/connector-plugins/{p}/config/validate` does: every key with its value and every error, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


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
        raise NotImplementedError

    def validate(self, given: Mapping[str, Any]) -> list[ConfigValue]:
        """All keys with all errors. Never raises."""
        raise NotImplementedError


def config_def(*keys: Key | Iterable[Key]) -> ConfigDef:
    """Keys, and lists of keys, in order."""
    flat: list[Key] = []
    for one in keys:
        flat.extend([one] if isinstance(one, Key) else one)
    return ConfigDef(tuple(flat))
