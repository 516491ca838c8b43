"""DropHeaders: removes all headers of some names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converter import R, Transform
from caudal.connect.transforms.part import java_names, with_headers
from caudal.connect.transforms.properties import non_empty_list


class DropHeaders(Transform[Any]):
    aliases = java_names("DropHeaders")

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(
                name="headers",
                type=Type.LIST,
                importance=Importance.HIGH,
                doc="The names of the headers to remove.",
                validator=non_empty_list,
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._names = frozenset(config["headers"])

    def apply(self, record: R) -> R | None:
        headers = record.headers
        if not headers:
            return record
        names = self._names
        kept = tuple([header for header in headers if header.key not in names])
        return record if len(kept) == len(headers) else with_headers(record, kept)
