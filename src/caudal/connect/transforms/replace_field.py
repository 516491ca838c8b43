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
from caudal.connect.transforms.part import Converted, OnKey, OnPart, OnValue, PerSchema, java_names, struct_like
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
            new = self._renames.get
            keeps = self._keeps
            return None, {new(name, name): each for name, each in self.require_map(value).items() if keeps(name)}
        new_schema, build = self._plans(schema)
        return new_schema, build(self.require_struct(schema, value))

    def _keeps(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _compile(self, schema: Schema) -> tuple[Schema, Callable[[dict[str, Any]], dict[str, Any]]]:
        self.require_struct(schema, {})
        kept = [one for one in schema.fields if self._keeps(one.name)]
        new_schema = struct_like(
            schema, tuple(Field(self._renames.get(one.name, one.name), one.schema) for one in kept)
        )
        names = [(one.name, self._renames.get(one.name, one.name)) for one in kept]
        defaults = [
            (self._renames.get(one.name, one.name), one.schema.default)
            for one in kept
            if self._replace_null and one.schema.default is not None
        ]

        def build(value: dict[str, Any]) -> dict[str, Any]:
            get = value.get
            made = {new: get(old) for old, new in names}
            for name, default in defaults:
                if made[name] is None:
                    made[name] = default
            return made

        return new_schema, build


class ReplaceFieldKey(OnKey, ReplaceField):
    aliases = java_names("ReplaceField$Key")


class ReplaceFieldValue(OnValue, ReplaceField):
    aliases = java_names("ReplaceField$Value")
