"""ReplaceField: drops fields and renames them. A null key or value passes.

`exclude` weighs more than `include`; both mean names before the renaming.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converter import Transform
from caudal.connect.data import Field, Schema
from caudal.connect.records import Record
from caudal.connect.transforms.part import (
    Converted,
    Defaults,
    OnKey,
    OnPart,
    OnValue,
    PerSchema,
    defaults_of,
    java_names,
    picker,
    struct_like,
)
from caudal.connect.transforms.properties import REPLACE_NULL, REPLACE_NULL_KEY


def renames_of(pairs: list[str]) -> dict[str, str]:
    """
    >>> renames_of(["a:b"])
    {'a': 'b'}
    """
    renames: dict[str, str] = {}
    for pair in pairs:
        parts = pair.split(":")
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"{pair!r} is no renaming: write old:new, several with commas between them.")
        renames[parts[0]] = parts[1]
    return renames


def _check_renames(name: str, value: Any) -> None:
    renames_of(value)


class ReplaceField(OnPart, Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="exclude", type=Type.LIST, default=[], importance=Importance.MEDIUM, doc="Fields to drop."),
            Key(
                name="include",
                type=Type.LIST,
                default=[],
                importance=Importance.MEDIUM,
                doc="Fields to keep: if there are any, only these.",
            ),
            Key(
                name="renames",
                type=Type.LIST,
                default=[],
                importance=Importance.MEDIUM,
                doc="Fields to rename: old:new, several with commas between them.",
                validator=_check_renames,
            ),
            REPLACE_NULL_KEY,
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._exclude = frozenset(config["exclude"])
        self._include = frozenset(config["include"])
        self._renames = renames_of(config["renames"])
        self._replace_null: bool = config[REPLACE_NULL]
        self._plans = PerSchema(self._compile)

    def convert(self, schema: Schema | None, value: Any, record: Record) -> Converted:
        if value is None:
            return schema, None
        if schema is None:
            new, exclude, include = self._renames.get, self._exclude, self._include
            fields = self.require_map(value).items()
            if include:
                return None, {new(name, name): each for name, each in fields if name in include and name not in exclude}
            return None, {new(name, name): each for name, each in fields if name not in exclude}
        new_schema, pick, defaults = self._plans(schema)
        made = pick(value if value.__class__ is dict else self.require_struct(schema, value))
        for name, default in defaults:
            if made[name] is None:
                made[name] = default
        return new_schema, made

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _compile(self, schema: Schema) -> tuple[Schema, Callable[[dict[str, Any]], dict[str, Any]], Defaults]:
        self.require_struct(schema, {})
        kept = [one for one in schema.fields if self._keeps(one.name)]
        names = [(one.name, self._renames.get(one.name, one.name)) for one in kept]
        fields = tuple(Field(new, one.schema) for one, (_, new) in zip(kept, names, strict=True))
        made = struct_like(schema, fields)
        return made, picker(names), defaults_of(made, self._replace_null)


class ReplaceFieldKey(OnKey, ReplaceField):
    aliases = java_names("ReplaceField$Key")


class ReplaceFieldValue(OnValue, ReplaceField):
    aliases = java_names("ReplaceField$Value")
