"""HasHeaderKey: true for records that have a header of this name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import Predicate
from caudal.connect.records import Record
from caudal.connect.transforms.part import java_names
from caudal.connect.transforms.properties import non_empty


class HasHeaderKey(Predicate[Any]):
    aliases = java_names("predicates.HasHeaderKey")

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="name", importance=Importance.MEDIUM, doc="The name of the header.", validator=non_empty)
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._name: str = config["name"]

    def test(self, record: Record) -> bool:
        return any(header.key == self._name for header in record.headers)
