"""InsertHeader: the same header for every record, with the type that its literal looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import R, Transform
from caudal.connect.records import Header
from caudal.connect.transforms.literals import parse
from caudal.connect.transforms.part import java_names, with_headers


class InsertHeader(Transform[Any]):
    aliases = java_names("InsertHeader")

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="header", importance=Importance.HIGH, doc="The name of the header."),
            Key(
                name="value.literal",
                importance=Importance.HIGH,
                doc="Its value: null, true, a number, a time in ISO 8601, [an array], {a map}; all else is a text.",
            ),
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        schema, value = parse(config["value.literal"])
        self._header = (Header(config["header"], value, schema),)

    def apply(self, record: R) -> R | None:
        return with_headers(record, record.headers + self._header)
