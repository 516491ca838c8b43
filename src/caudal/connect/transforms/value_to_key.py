"""ValueToKey: some fields of the value, as a struct (or map), become the key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converter import R, Transform
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.transforms.part import Defaults, OnPart, PerSchema, defaults_of, java_names, picker, with_key
from caudal.connect.transforms.properties import REPLACE_NULL, REPLACE_NULL_KEY, non_empty_list


class ValueToKey(OnPart, Transform[Any]):
    aliases = java_names("ValueToKey")
    part = "value"

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(
                name="fields",
                type=Type.LIST,
                importance=Importance.HIGH,
                doc="The fields of the value that make the key.",
                validator=non_empty_list,
            ),
            REPLACE_NULL_KEY,
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._fields: list[str] = list(dict.fromkeys(config["fields"]))
        self._replace_null: bool = config[REPLACE_NULL]
        self._plans = PerSchema(self._compile)

    def apply(self, record: R) -> R | None:
        schema, value = record.value_schema, record.value
        if schema is None:
            get = self.require_map(value).get
            return with_key(record, None, {name: get(name) for name in self._fields})
        key_schema, pick, defaults = self._plans(schema)
        key = pick(value if value.__class__ is dict else self.require_struct(schema, value))
        for name, default in defaults:
            if key[name] is None:
                key[name] = default
        return with_key(record, key_schema, key)

    def _compile(self, schema: Schema) -> tuple[Schema, Callable[[dict[str, Any]], dict[str, Any]], Defaults]:
        self.require_struct(schema, {})
        fields = []
        for name in self._fields:
            found = schema.field(name)
            if found is None:
                raise DataError(f"ValueToKey: the value has no field {name}: correct `fields`.")
            fields.append(Field(name, found.schema))
        key_schema = Schema(Kind.STRUCT, fields=tuple(fields))
        names = [(name, name) for name in self._fields]
        return key_schema, picker(names), defaults_of(key_schema, self._replace_null)
