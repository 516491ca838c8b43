"""Flatten: structs (maps, where there is no schema) within the key or value are dissolved into it.

The names on the way are joined by a delimiter. Arrays stay as they are, and maps that have a schema are refused. What
is in an optional struct becomes optional, and the default of a struct becomes that of its fields. Null passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import Transform
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.records import Record
from caudal.connect.transforms.part import (
    Converted,
    Defaults,
    OnKey,
    OnPart,
    OnValue,
    PerSchema,
    java_names,
    path_picker,
    picker,
    struct_like,
)

_Pick = Callable[[dict[str, Any]], dict[str, Any]]


class _Level(NamedTuple):
    """A struct: its own fields under their new names, their defaults, and the structs in it."""

    names: list[tuple[str, str]]
    pick: _Pick
    defaults: Defaults
    structs: list[tuple[str, _Level]]


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
        if schema is None:
            made: dict[str, Any] = {}
            self._dissolve(self.require_map(value), "", made)
            return None, made
        new_schema, level, pick = self._plans(schema)
        fields = value if value.__class__ is dict else self.require_struct(schema, value)
        if pick is not None:
            try:
                return new_schema, pick(fields)
            except (KeyError, TypeError):  # a field is missing, or a struct is null
                pass
        return new_schema, _collected(level, fields)

    def _dissolve(self, value: dict[Any, Any], before: str, made: dict[str, Any]) -> None:
        for name, each in value.items():
            if each.__class__ is dict:
                self._dissolve(each, f"{before}{name}{self._delimiter}", made)
            else:
                made[f"{before}{name}"] = each

    def _compile(self, schema: Schema) -> tuple[Schema, _Level, _Pick | None]:
        self.require_struct(schema, {})
        fields: list[Field] = []
        level = self._level(schema, "", schema.optional, schema.default, fields)
        pick = None if _has_defaults(level) else path_picker(list(_paths(level, ())))
        return struct_like(schema, tuple(fields)), level, pick

    def _level(self, schema: Schema, before: str, optional: bool, default: Any, fields: list[Field]) -> _Level:
        names: list[tuple[str, str]] = []
        defaults: list[tuple[str, Any]] = []
        structs: list[tuple[str, _Level]] = []
        for one in schema.fields:
            name = before + one.name
            is_optional = optional or one.schema.optional
            own = one.schema.default
            if own is None and default is not None:
                own = default.get(one.name)
            if one.schema.kind is Kind.STRUCT:
                within = self._level(one.schema, name + self._delimiter, is_optional, own, fields)
                structs.append((one.name, within))
            elif one.schema.kind is Kind.MAP:
                raise DataError(
                    f"{type(self).__name__}: the field {name} is a map, whose entries are not known before."
                )
            else:
                has_default = own is not None
                fields.append(
                    Field(name, replace(one.schema, optional=is_optional, default=own, has_default=has_default))
                )
                names.append((one.name, name))
                if one.schema.default is not None:
                    defaults.append((name, one.schema.default))
        return _Level(names, picker(names), tuple(defaults), structs)


def _has_defaults(level: _Level) -> bool:
    return bool(level.defaults) or any(_has_defaults(within) for _, within in level.structs)


def _paths(level: _Level, way: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for old, new in level.names:
        yield (*way, old), new
    for name, within in level.structs:
        yield from _paths(within, (*way, name))


def _collected(level: _Level, value: Any) -> dict[str, Any]:
    """All fields of a struct and of those in it. One that is null has fields that are null, whatever their defaults."""
    if value is None:
        made = level.pick({})
        for _, within in level.structs:
            made |= _collected(within, None)
        return made
    if not isinstance(value, dict):
        raise DataError(f"Flatten: a struct was expected as the schema says, and {value!r} found.")
    made = level.pick(value)
    for name, default in level.defaults:
        if made[name] is None:
            made[name] = default
    for name, within in level.structs:
        made |= _collected(within, value.get(name))
    return made


class FlattenKey(OnKey, Flatten):
    aliases = java_names("Flatten$Key")


class FlattenValue(OnValue, Flatten):
    aliases = java_names("Flatten$Value")
