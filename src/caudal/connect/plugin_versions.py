"""Which version of a plugin is wanted (KIP-891): `connector.plugin.version` and its kin, and whether it is installed.

A requirement is `latest`, a version that must be exactly this one, or ranges as Maven writes them: `[1.0,2.0)`,
`(,1.0],[1.2,)`. Python has one version of a package installed, so a requirement chooses nothing: it is met, or refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from caudal.connect.configuration import Importance, Key
from caudal.connect.errors import ConfigError
from caudal.connect.plugins import Plugin, PluginKind, find

LATEST = "latest"
_RANGE = re.compile(r"\s*([\[(])([^\[\](),]*)(?:(,)([^\[\](),]*))?([\])])\s*")
_PARTS = re.compile(r"[0-9]+|[a-z]+")
# Before the release itself, in this order; all other words come after it.
_BEFORE = ("dev", "alpha", "a", "beta", "b", "milestone", "m", "rc", "cr", "snapshot")
_SAME = {"a": "alpha", "b": "beta", "m": "milestone", "cr": "rc"}


def version_key(name: str, what: str, class_key: str, group: str, order: int, *kinds: PluginKind) -> Key:
    """The property that says which version of the class under `class_key` is wanted."""

    def installed(config: Mapping[str, str]) -> list[Any]:
        try:
            return [find(config.get(class_key) or "", *kinds).version]
        except ConfigError:
            return []

    return Key(
        name=name,
        default=None,
        doc=f"The version of {what}: one, or a range such as [1.0,2.0); without, what is installed.",
        importance=Importance.LOW,
        validator=_readable,
        group=group,
        order=order,
        width="SHORT",
        display_name=name,
        recommender=installed,
    )


def check_version(plugin: Plugin, key: str, requirement: str | None) -> None:
    """Raises ConfigError where the installed plugin is not of the version that `key` asks for."""
    if requirement is None:
        return
    try:
        wanted = Requirement.of(requirement)
    except ValueError as error:
        raise ConfigError(f"Invalid value {requirement} for configuration {key}: {error}", key) from None
    if not wanted.is_met_by(plugin.version):
        raise ConfigError(
            f"Invalid value {requirement} for configuration {key}: {plugin.name} is installed in version "
            f"{plugin.version}, and in no other.",
            key,
        )


def _readable(name: str, value: Any) -> None:
    Requirement.of(value)


@dataclass(frozen=True, slots=True)
class _Range:
    low: str
    high: str
    with_low: bool
    with_high: bool

    def has(self, version: tuple[Any, ...]) -> bool:
        if self.low and not (order(self.low) < version or (self.with_low and order(self.low) == version)):
            return False
        return not self.high or version < order(self.high) or (self.with_high and order(self.high) == version)


@dataclass(frozen=True, slots=True)
class Requirement:
    """Any version, without ranges."""

    ranges: tuple[_Range, ...] = ()

    @classmethod
    def of(cls, text: str) -> Requirement:
        """
        >>> [Requirement.of("[1.0,2.0)").is_met_by(version) for version in ("0.9", "1.0", "1.5.2", "2.0")]
        [False, True, True, False]
        >>> Requirement.of("1.0").is_met_by("1.0.0"), Requirement.of("1.0").is_met_by("1.0.1")
        (True, False)
        """
        text = text.strip()
        if not text:
            raise ValueError("A version must not be empty")
        if text == LATEST:
            return cls()
        if text[0] not in "[(":
            if re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z._+-]*", text) is None:
                raise ValueError("Expected a version, or a range such as [1.0,2.0)")
            return cls((_Range(text, text, True, True),))
        found, at = [], 0
        while at < len(text):
            part = _RANGE.match(text, at)
            if part is None:
                raise ValueError("Expected a range such as [1.0,2.0), or several with commas between them")
            found.append(_range(part))
            at = part.end()
            if at < len(text):
                if text[at] != ",":
                    raise ValueError("Expected a comma between two ranges")
                at += 1
                if not text[at:].strip():
                    raise ValueError("Expected a range behind the last comma")
        return cls(tuple(found))

    def is_met_by(self, version: str) -> bool:
        return not self.ranges or any(each.has(order(version)) for each in self.ranges)


def _range(part: re.Match[str]) -> _Range:
    low, high = part[2].strip(), (part[4] or "").strip()
    with_low, with_high = part[1] == "[", part[5] == "]"
    if part[3] is None:  # [1.0]
        if not low or not (with_low and with_high):
            raise ValueError("A single version is written [1.0]")
        high = low
    elif low and high and order(high) < order(low):
        raise ValueError(f"The range ends ({high}) before it begins ({low})")
    return _Range(low, high, with_low, with_high)


def order(version: str) -> tuple[Any, ...]:
    """What versions are compared by: numbers as numbers, `1.0` is `1.0.0`, `rc1` is before the release.

    >>> order("1.0rc1") < order("1.0") == order("1.0.0") < order("1.0.post1") < order("1.0.1") < order("1.10")
    True
    """
    parts: list[tuple[int, int, str]] = []
    for part in _PARTS.findall(version.lower().removeprefix("v").partition("+")[0]):
        if part.isdigit():
            parts.append((2, int(part), ""))
        elif part in _BEFORE:
            parts.append((-1, _BEFORE.index(_SAME.get(part, part)), part))
        else:
            parts.append((1, 0, part))
    # Zeros at the end of a run of numbers say nothing.
    kept: list[tuple[int, int, str]] = []
    for part in parts:
        if part[0] != 2:
            while kept and kept[-1] == (2, 0, ""):
                kept.pop()
        kept.append(part)
    while kept and kept[-1] == (2, 0, ""):
        kept.pop()
    return (*kept, (0, 0, ""))
