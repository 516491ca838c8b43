"""TopicNameMatches: true for records whose topic matches a regular expression of Java's as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import Predicate
from caudal.connect.records import Record
from caudal.connect.transforms.part import PerSchema, java_names
from caudal.connect.transforms.properties import non_empty
from caudal.connect.transforms.regex_router import check_pattern, compiled_pattern


def _check(name: str, value: Any) -> None:
    non_empty(name, value)
    check_pattern(name, value)


class TopicNameMatches(Predicate[Any]):
    aliases = java_names("predicates.TopicNameMatches")

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="pattern", importance=Importance.MEDIUM, doc="The expression for the topic.", validator=_check)
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._pattern = compiled_pattern(config["pattern"])
        self._answers: dict[str, bool] = {}

    def test(self, record: Record) -> bool:
        answer = self._answers.get(record.topic)
        if answer is None:
            if len(self._answers) >= PerSchema.MOST:
                self._answers.clear()
            answer = self._answers[record.topic] = self._pattern.fullmatch(record.topic) is not None
        return answer
