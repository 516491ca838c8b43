"""Flatten: structs (maps, where there is no schema) within the key or value are dissolved into it.

The names on the way are joined by a delimiter. Arrays stay as they are, and maps that have a schema are refused. What
is in an optional struct becomes optional, and the default of a struct becomes that of its fields. Null passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import Transform
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.records import Record
from caudal.connect.transforms.part import Converted, OnKey, OnPart, OnValue, PerSchema, java_names, struct_like


class _Level:
    """A struct: its own fields with their new names and defaults, and the structs in it."""

    __slots__ = ("fields", "structs")

    def __init__(self) -> None:
        self.fields: list[tuple[str, str, Any]] = []
        self.structs: list[tuple[str, _Level]] = []


class Flatten(OnPart, Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(
                name="delimiter",
                default=".",
                importance=Importance.MEDIUM,
                doc="What stands between the names of the fields on the way.",
            )
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._delimiter: str = config["delimiter"]
        self._plans = PerSchema(self._compile)

    def convert(self, schema: Schema | None, value: Any, record: Record) -> Converted:
        if value is None:
            return schema, None
        made: dict[str, Any] = {}
        if schema is None:
            self._dissolve(self.require_map(value), "", made)
            return None, made
        new_schema, level = self._plans(schema)
        _collect(level, self.require_struct(schema, value), made)
        return new_schema, made

    def _dissolve(self, value: dict[Any, Any], before: str, made: dict[str, Any]) -> None:
        for name, each in value.items():
            if each.__class__ is dict:
                self._dissolve(each, f"{before}{name}{self._delimiter}", made)
            else:
                made[f"{before}{name}"] = each

    def _compile(self, schema: Schema) -> tuple[Schema, _Level]:
        self.require_struct(schema, {})
        fields: list[Field] = []
        level = self._level(schema, "", schema.optional, schema.default, fields)
        return struct_like(schema, tuple(fields)), level

    def _level(self, schema: Schema, before: str, optional: bool, default: Any, fields: list[Field]) -> _Level:
        level = _Level()
        for one in schema.fields:
            name = before + one.name
            is_optional = optional or one.schema.optional
            own = one.schema.default
            if own is None and default is not None:
                own = default.get(one.name)
            if one.schema.kind is Kind.STRUCT:
                within = self._level(one.schema, name + self._delimiter, is_optional, own, fields)
                level.structs.append((one.name, within))
            elif one.schema.kind is Kind.MAP:
                raise DataError(
                    f"{type(self).__name__}: the field {name} is a map, whose entries are not known before."
                )
            else:
                has_default = own is not None
                fields.append(
                    Field(name, replace(one.schema, optional=is_optional, default=own, has_default=has_default))
                )
                level.fields.append((one.name, name, one.schema.default))
        return level


def _collect(level: _Level, value: Any, made: dict[str, Any]) -> None:
    get = {}.get if value is None else value.get
    for name, new, default in level.fields:
        found = get(name)
        made[new] = found if found is not None or value is None else default
    for name, within in level.structs:
        _collect(within, get(name), made)


class FlattenKey(OnKey, Flatten):
    aliases = java_names("Flatten$Key")


class FlattenValue(OnValue, Flatten):
    aliases = java_names("Flatten$Value")
