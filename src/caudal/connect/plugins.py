"""Where connectors, converters, transforms and predicates are found: the modules of our own packages, and entry points.

A plugin is named by its class name (`FileStreamSource`), by its full Python name, or by one of its aliases (the Java
class names). Modules are imported only when a plugin of theirs is asked for or when all are listed; one that cannot be
imported (an extra is missing) is listed with the reason and hurts nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

ENTRY_POINTS = "caudal.connect"  # one group for all kinds; the class says what it is


class PluginKind(StrEnum):
    SOURCE = "source"
    SINK = "sink"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"


@dataclass(frozen=True, slots=True)
class Plugin:
    name: str  # the short one, `FileStreamSource`
    kind: PluginKind
    version: str
    cls: type[Any]
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BrokenPlugin:
    module: str
    reason: str


def plugins(*kinds: PluginKind) -> list[Plugin]:
    """All, or all of these kinds, by name."""
    raise NotImplementedError


def broken_plugins() -> list[BrokenPlugin]:
    raise NotImplementedError


def find(name: str, *kinds: PluginKind) -> Plugin:
    """Raises ConfigError with the nearest names ("did you mean …")."""
    raise NotImplementedError
