"""ExtractField: a field of the key or value takes its place. Null stays null."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import Transform
from caudal.connect.data import Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.records import Record
from caudal.connect.transforms.field_path import (
    SYNTAX,
    SYNTAX_KEY,
    field_at,
    read_without_schema,
    reader_by_schema,
    steps_of,
)
from caudal.connect.transforms.part import Converted, OnKey, OnPart, OnValue, PerSchema, java_names
from caudal.connect.transforms.properties import REPLACE_NULL, REPLACE_NULL_KEY


class ExtractField(OnPart, Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="field", importance=Importance.MEDIUM, doc="The field to extract."),
            SYNTAX_KEY,
            REPLACE_NULL_KEY,
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._path: str = config["field"]
        self._steps = steps_of(self._path, config[SYNTAX])
        self._replace_null: bool = config[REPLACE_NULL]
        self._plans = PerSchema(self._compile)

    def convert(self, schema: Schema | None, value: Any, record: Record) -> Converted:
        if schema is None:
            return None, None if value is None else read_without_schema(self.require_map(value), self._steps)
        field_schema, read = self._plans(schema)
        if value is None:
            return field_schema, None
        return field_schema, read(value if value.__class__ is dict else self.require_struct(schema, value))

    def _compile(self, schema: Schema) -> tuple[Schema, Callable[[dict[str, Any]], Any]]:
        found = field_at(schema, self._steps)
        if found is None:
            if schema.kind is not Kind.STRUCT:
                self.require_struct(schema, "")
            raise DataError(f"{type(self).__name__}: the {self.part} has no field {self._path}: correct `field`.")
        return found.schema, reader_by_schema(schema, self._steps, self._replace_null)


class ExtractFieldKey(OnKey, ExtractField):
    aliases = java_names("ExtractField$Key")


class ExtractFieldValue(OnValue, ExtractField):
    aliases = java_names("ExtractField$Value")
