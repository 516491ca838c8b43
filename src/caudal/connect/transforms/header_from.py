"""HeaderFrom: fields of the key or value are moved or copied to headers, with their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converter import R, Transform
from caudal.connect.data import Schema
from caudal.connect.errors import ConfigError, DataError
from caudal.connect.records import Header, Headers, Record
from caudal.connect.transforms.part import (
    Defaults,
    OnPart,
    PerSchema,
    defaults_of,
    filled,
    java_names,
    struct_like,
    with_key,
    with_value,
)
from caudal.connect.transforms.properties import REPLACE_NULL, REPLACE_NULL_KEY, non_empty_list

_Plan = tuple[Schema, Defaults, tuple[tuple[str, str, Schema, Any], ...]]


class HeaderFrom(OnPart, Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(
                name="fields",
                type=Type.LIST,
                importance=Importance.HIGH,
                doc="The fields that become headers.",
                validator=non_empty_list,
            ),
            Key(
                name="headers",
                type=Type.LIST,
                importance=Importance.HIGH,
                doc="The names of the headers, in the order of `fields`.",
                validator=non_empty_list,
            ),
            Key(
                name="operation",
                choices=("move", "copy"),
                importance=Importance.HIGH,
                doc="`move` takes the fields away from the key or value, `copy` leaves them there.",
            ),
            REPLACE_NULL_KEY,
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        fields, headers = config["fields"], config["headers"]
        if len(fields) != len(headers):
            raise ConfigError(
                f"`fields` has {len(fields)} names and `headers` {len(headers)}: each field needs its header.",
                "headers",
            )
        self._pairs: list[tuple[str, str]] = list(zip(fields, headers, strict=True))
        self._moves: bool = config["operation"].lower() == "move"
        self._replace_null: bool = config[REPLACE_NULL]
        self._plans = PerSchema(self._compile)

    def _split(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any, Headers]:
        """The new schema, value and headers."""
        if schema is None:
            fields = self.require_map(value)
            added = [Header(header, fields.get(name)) for name, header in self._pairs]
            if self._moves:
                value = fields.copy()
                for name, _ in self._pairs:
                    value.pop(name, None)
        else:
            new_schema, defaults, taken = self._plans(schema)
            fields = value if value.__class__ is dict else self.require_struct(schema, value)
            schema = new_schema
            added = []
            for name, header, field_schema, default in taken:
                found = fields.get(name)
                added.append(Header(header, default if found is None else found, field_schema))
            if self._moves:
                value = filled(fields, defaults)
                for name, *_ in taken:
                    value.pop(name, None)
        return schema, value, (*record.headers, *added)

    def _compile(self, schema: Schema) -> _Plan:
        self.require_struct(schema, {})
        taken = []
        for name, header in self._pairs:
            found = schema.field(name)
            if found is None:
                raise DataError(f"{type(self).__name__}: the {self.part} has no field {name}: correct `fields`.")
            default = found.schema.default if self._replace_null else None
            taken.append((name, header, found.schema, default))
        if not self._moves:
            return schema, (), tuple(taken)
        names = {name for name, _ in self._pairs}
        left = struct_like(schema, tuple(one for one in schema.fields if one.name not in names))
        return left, defaults_of(left, self._replace_null), tuple(taken)


class HeaderFromKey(HeaderFrom):
    aliases = java_names("HeaderFrom$Key")
    part = "key"

    def apply(self, record: R) -> R | None:
        schema, key, headers = self._split(record.key_schema, record.key, record)
        return with_key(record, schema, key, headers)


class HeaderFromValue(HeaderFrom):
    aliases = java_names("HeaderFrom$Value")
    part = "value"

    def apply(self, record: R) -> R | None:
        schema, value, headers = self._split(record.value_schema, record.value, record)
        return with_value(record, schema, value, headers)
