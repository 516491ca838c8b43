"""HoistField: the key or value becomes the only field of a struct (of a map, where there is no schema)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import Transform
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.records import Record
from caudal.connect.transforms.part import Converted, OnKey, OnPart, OnValue, PerSchema, java_names


class HoistField(OnPart, Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(Key(name="field", importance=Importance.MEDIUM, doc="The name of the only field."))

    def configure(self, config: Mapping[str, Any]) -> None:
        self._field: str = config["field"]
        self._schemas = PerSchema(lambda schema: Schema(Kind.STRUCT, fields=(Field(self._field, schema),)))

    def convert(self, schema: Schema | None, value: Any, record: Record) -> Converted:
        if schema is None:
            return None, {self._field: value}
        if value is None and not schema.optional and schema.default is None:
            raise DataError(f"The {self.part} of the record is null, and its schema does not allow that.")
        return self._schemas(schema), {self._field: value}


class HoistFieldKey(OnKey, HoistField):
    aliases = java_names("HoistField$Key")


class HoistFieldValue(OnValue, HoistField):
    aliases = java_names("HoistField$Value")
