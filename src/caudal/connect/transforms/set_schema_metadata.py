"""SetSchemaMetadata: another name, another version, or both, for the schema of the key or value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converter import Transform
from caudal.connect.data import Schema
from caudal.connect.errors import ConfigError, DataError
from caudal.connect.records import Record
from caudal.connect.transforms.part import (
    Converted,
    Defaults,
    OnKey,
    OnPart,
    OnValue,
    PerSchema,
    defaults_of,
    filled,
    java_names,
)
from caudal.connect.transforms.properties import REPLACE_NULL, REPLACE_NULL_KEY


class SetSchemaMetadata(OnPart, Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="schema.name", default=None, importance=Importance.HIGH, doc="The new name."),
            Key(name="schema.version", type=Type.INT, default=None, importance=Importance.HIGH, doc="The new version."),
            REPLACE_NULL_KEY,
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._name: str | None = config["schema.name"]
        self._version: int | None = config["schema.version"]
        if self._name is None and self._version is None:
            raise ConfigError(f"{type(self).__name__} changes nothing: give it schema.name or schema.version.")
        self._replace_null: bool = config[REPLACE_NULL]
        self._plans = PerSchema(self._compile)

    def convert(self, schema: Schema | None, value: Any, record: Record) -> Converted:
        if schema is None:
            if value is None:
                return None, None
            raise DataError(
                f"{type(self).__name__} needs a schema, and the {self.part} of the record has none: "
                "use a converter with schemas."
            )
        new_schema, defaults = self._plans(schema)
        # A struct does not know its schema, so nothing else has to be copied.
        return new_schema, filled(value, defaults) if defaults and value is not None else value

    def _compile(self, schema: Schema) -> tuple[Schema, Defaults]:
        name = schema.name if self._name is None else self._name
        version = schema.version if self._version is None else self._version
        return replace(schema, name=name, version=version), defaults_of(schema, self._replace_null)


class SetSchemaMetadataKey(OnKey, SetSchemaMetadata):
    aliases = java_names("SetSchemaMetadata$Key")


class SetSchemaMetadataValue(OnValue, SetSchemaMetadata):
    aliases = java_names("SetSchemaMetadata$Value")
