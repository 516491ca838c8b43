"""JSON with a JSON Schema in a registry: the bytes and the schemas of Confluent's JsonSchemaConverter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converter import Decoded
from caudal.connect.converters.json_schema_schemas import ONE_OF, JsonSchemaReader, json_schema_of
from caudal.connect.converters.json_schemas import InexactDecimal, JsonStyle, writing
from caudal.connect.converters.json_schemas import reading as shaped
from caudal.connect.converters.registry import REGISTRY_KEYS, Format, RegistryConverter
from caudal.connect.converters.shaping import Shape
from caudal.connect.data import Schema
from caudal.serde.json_schema import JsonSchema
from caudal.serde.registry_serde import Reading
from caudal.serde.wire_format import HEAD_BYTES


class JsonSchemaConverter(RegistryConverter):
    aliases = ("io.confluent.connect.json.JsonSchemaConverter",)
    serde = JsonSchema

    @classmethod
    def config(cls) -> ConfigDef:
        return REGISTRY_KEYS + config_def(
            Key(
                name="decimal.format",
                default="BASE64",
                choices=("BASE64", "NUMERIC"),
                importance=Importance.LOW,
                doc="How decimals are written: as base64 text, or as numbers. Both are read.",
            ),
            Key(
                name="object.additional.properties",
                type=Type.BOOLEAN,
                default=True,
                doc="Whether the schemas of structs allow further properties.",
            ),
            Key(
                name="use.optional.for.nonrequired",
                type=Type.BOOLEAN,
                default=False,
                doc="Whether properties that a schema does not require are optional fields.",
            ),
            Key(
                name="json.fail.invalid.schema",
                type=Type.BOOLEAN,
                default=False,
                doc="Whether values are checked against the schema, which takes its time.",
            ),
        )

    def __init__(self) -> None:
        super().__init__()
        self._style = JsonStyle(entry_objects=True, union=ONE_OF)

    def configure(self, config: Mapping[str, Any], is_key: bool) -> None:
        super().configure(config, is_key)
        self._style = JsonStyle(config["decimal.format"] == "NUMERIC", entry_objects=True, union=ONE_OF)
        self._settings["validate"] = config["json.fail.invalid.schema"]

    def format_of(self, schema: Schema) -> Format:
        document = json_schema_of(schema, self._style, self.options["object.additional.properties"])
        return Format(orjson.dumps(document).decode(), writing(schema, self._style).shape)

    def decode(self, topic: str, data: bytes | None) -> Decoded:
        try:
            return super().decode(topic, data)
        except InexactDecimal:  # a number whose digits all count
            assert data is not None
            _, schema, shape = self._known[self.head_of(data)]
            assert shape is not None
            return Decoded(schema, shape(json.loads(data[HEAD_BYTES:], parse_float=Decimal)))

    def connect_of(self, reading: Reading, reader: Any, data: bytes) -> tuple[Schema, Shape | None]:
        document, others = reader.documents(reading.seen)
        schema = JsonSchemaReader(document, others, self._style, self.options).schema
        return schema, shaped(schema, self._style).shape
