"""What one configuration property is: its name, type, default, limits, scope and documentation.

A `ConfigDef` turns text into a typed value and back. Which properties exist stands in the tables beside this file
(`topic_table.py`, `broker_tables/`); which value is in force is decided by `BrokerConfig`. Rules that look at more
than one property at a time are not here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Final

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1


class ConfigError(Exception):
    """A property or value that cannot be accepted; the message is one sentence for the person who set it."""


class ConfigType(IntEnum):
    """Value types; the numbers are those of the DescribeConfigs response."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Scope(Enum):
    """Whether a broker property can change while the broker runs, and for whom."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition on a typed value, with the words that describe it to a person."""

    holds: Callable[[Any], bool]
    words: str


def at_least(low: float) -> Limit:
    return Limit(lambda value: value >= low, f"at least {low}")


def between(low: float, high: float) -> Limit:
    return Limit(lambda value: low <= value <= high, f"between {low} and {high}")


def one_of(*choices: str) -> Limit:
    return Limit(lambda value: value in choices, "one of " + ", ".join(choices))


def items_of(*choices: str, allow_empty: bool = False) -> Limit:
    def holds(value: list[str]) -> bool:
        return (allow_empty or bool(value)) and set(value) <= set(choices) and len(set(value)) == len(value)

    return Limit(holds, "a list, without repeats, out of " + ", ".join(choices))


def not_empty() -> Limit:
    return Limit(bool, "not empty")


_INTEGER_RANGES: Final[Mapping[ConfigType, tuple[int, int]]] = {
    ConfigType.SHORT: (-(2**15), 2**15 - 1),
    ConfigType.INT: (-(2**31), INT_MAX),
    ConfigType.LONG: (-(2**63), LONG_MAX),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDef:
    """One property. `synonyms` names the broker properties a topic property falls back to, each with the factor that
    turns its value into this property's unit, most preferred first. `acted_on=False` marks a property that is
    accepted, stored and described so that existing files and tools work, but changes nothing here."""

    name: str
    type: ConfigType
    default: Any
    importance: Importance = Importance.MEDIUM
    limit: Limit | None = None
    scope: Scope = Scope.READ_ONLY
    synonyms: tuple[tuple[str, int], ...] = ()
    acted_on: bool = True
    internal: bool = False
    doc: str = ""

    @property
    def sensitive(self) -> bool:
        return self.type is ConfigType.PASSWORD

    @property
    def documentation(self) -> str:
        if self.acted_on:
            return self.doc
        return f"{self.doc} Accepted so that existing configurations work; Caudal does not act on it."

    def parse(self, text: str) -> Any:
        """The typed value of `text`; ConfigError when it has the wrong type or breaks the limit."""
        try:
            value = self._convert(text.strip() if self.type is not ConfigType.PASSWORD else text)
        except ValueError:
            raise ConfigError(
                f"Invalid value {self._shown(text)} for configuration {self.name}: "
                f"Not a valid {self.type.name.lower()}."
            ) from None
        if self.limit is not None and not self.limit.holds(value):
            raise ConfigError(
                f"Invalid value {self._shown(text)} for configuration {self.name}: Value must be {self.limit.words}."
            )
        return value

    def _shown(self, text: str) -> str:
        return "[hidden]" if self.sensitive else (text or "''")

    def _convert(self, text: str) -> Any:
        if self.type in _INTEGER_RANGES:
            # int() alone would let "1_000" and non-ASCII digits through, which Kafka's parser refuses.
            digits = text[1:] if text[:1] in "+-" else text
            if not (digits.isascii() and digits.isdigit()):
                raise ValueError
            number = int(text)
            low, high = _INTEGER_RANGES[self.type]
            if not low <= number <= high:
                raise ValueError
            return number
        if self.type is ConfigType.BOOLEAN:
            lowered = text.lower()
            if lowered not in ("true", "false"):
                raise ValueError
            return lowered == "true"
        if self.type is ConfigType.DOUBLE:
            return float(text)
        if self.type is ConfigType.LIST:
            return [item.strip() for item in text.split(",")] if text else []
        return text

    def format(self, value: Any) -> str | None:
        """The text of a typed value, as DescribeConfigs shows it (None stands for "not set")."""
        if value is None:
            return None
        if self.type is ConfigType.BOOLEAN:
            return "true" if value else "false"
        if self.type is ConfigType.LIST:
            return ",".join(value)
        if self.type is ConfigType.DOUBLE:
            return repr(value).replace("e+", "E").replace("e", "E")  # as Java writes exponents
        return str(value)


def table(definitions: Iterable[ConfigDef]) -> dict[str, ConfigDef]:
    """Definitions by name; a name defined twice is a mistake in the tables and is refused."""
    by_name: dict[str, ConfigDef] = {}
    for definition in definitions:
        if definition.name in by_name:
            raise ValueError(f"{definition.name} is defined twice")
        by_name[definition.name] = definition
    return by_name


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " Did you mean x?" for the closest known names, or nothing when none is close."""
    close = difflib.get_close_matches(name, list(known), n=2, cutoff=0.75)
    return f" Did you mean {' or '.join(close)}?" if close else ""
