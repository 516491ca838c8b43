"""ValueToKey: some fields of the value, as a struct (or map), become the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converter import R, Transform
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.transforms.part import OnPart, PerSchema, java_names, with_key
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
        key_schema, fields = self._plans(schema)
        get = self.require_struct(schema, value).get
        key = {}
        for name, default in fields:
            found = get(name)
            key[name] = default if found is None else found
        return with_key(record, key_schema, key)

    def _compile(self, schema: Schema) -> tuple[Schema, list[tuple[str, Any]]]:
        self.require_struct(schema, {})
        fields = []
        for name in self._fields:
            found = schema.field(name)
            if found is None:
                raise DataError(f"ValueToKey: the value has no field {name}: correct `fields`.")
            fields.append(Field(name, found.schema))
        return (
            Schema(Kind.STRUCT, fields=tuple(fields)),
            [(one.name, one.schema.default if self._replace_null else None) for one in fields],
        )
