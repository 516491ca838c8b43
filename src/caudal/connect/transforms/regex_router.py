"""RegexRouter: another topic, made by a regular expression that matches the whole name of the old one.

Java's expressions and replacements (`$1`, `${name}`, `\\$`). As in Kafka Connect the first match within the name is
replaced, which is the whole of it in all but odd expressions (`a|ab`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import R, Transform
from caudal.connect.errors import ConfigError
from caudal.connect.transforms.part import PerSchema, java_names, with_topic
from caudal.ksql.functions.java_patterns import compiled


def check_pattern(name: str, value: Any) -> None:
    compiled_pattern(value)


def compiled_pattern(pattern: str) -> re.Pattern[str]:
    try:
        return compiled(pattern)
    except (re.error, ValueError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}.") from None


class RegexRouter(Transform[Any]):
    aliases = java_names("RegexRouter")

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(
                name="regex",
                importance=Importance.HIGH,
                doc="The expression, which must match the whole topic.",
                validator=check_pattern,
            ),
            Key(name="replacement", importance=Importance.HIGH, doc="The new topic; $1 is the first group."),
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._pattern = compiled_pattern(config["regex"])
        try:
            self._parts = replacement_parts(config["replacement"], self._pattern)
        except ValueError as error:
            raise ConfigError(f"`replacement`: {error}", "replacement") from None
        self._topics: dict[str, str] = {}

    def apply(self, record: R) -> R | None:
        topic = record.topic
        new = self._topics.get(topic)
        if new is None:
            if len(self._topics) >= PerSchema.MOST:
                self._topics.clear()
            new = self._topics[topic] = self._routed(topic)
        return record if new == topic else with_topic(record, new)

    def _routed(self, topic: str) -> str:
        if self._pattern.fullmatch(topic) is None:
            return topic
        return self._pattern.sub(self._expanded, topic, count=1)

    def _expanded(self, match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in self._parts)


_REFERENCE = re.compile(
    r"[^$\\]+|\\(?P<escaped>.)|\$(?P<number>[0-9]+)|\$\{(?P<name>[A-Za-z][A-Za-z0-9]*)\}", re.DOTALL
)


def replacement_parts(replacement: str, pattern: re.Pattern[str]) -> list[str | int]:
    """Texts, and numbers of groups. As many digits belong to a number as there are groups for it.

    >>> replacement_parts("$12-$1", re.compile("(a)(b)"))
    [1, '2', '-', 1]
    """
    parts: list[str | int] = []
    at = 0
    while at < len(replacement):
        found = _REFERENCE.match(replacement, at)
        if found is None:
            raise ValueError(
                f"{replacement!r} has a {replacement[at]} that escapes or names nothing: write \\{replacement[at]}."
            )
        at = found.end()
        if found["escaped"] is not None:
            parts.append(found["escaped"])
        elif found["name"] is not None:
            if found["name"] not in pattern.groupindex:
                raise ValueError(f"the expression has no group {found['name']}.")
            parts.append(pattern.groupindex[found["name"]])
        elif found["number"] is not None:
            digits = found["number"]
            length = 1
            while length < len(digits) and int(digits[: length + 1]) <= pattern.groups:
                length += 1
            if int(digits[:length]) > pattern.groups:
                raise ValueError(f"the expression has no group {digits[:length]}.")
            parts.append(int(digits[:length]))
            if digits[length:]:
                parts.append(digits[length:])
        else:
            parts.append(found[0])
    return parts
