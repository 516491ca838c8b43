"""InsertField: topic, partition, offset, timestamp of the record, or a constant, as new fields of the key or value.

A name may end with `!` (the field is required) or `?` (optional, as without). A null key or value passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, config_def
from caudal.connect.converter import Transform
from caudal.connect.data import INT32, INT64, STRING, TIMESTAMP_SCHEMA, Field, Schema
from caudal.connect.errors import ConfigError, DataError
from caudal.connect.records import Record, SinkRecord
from caudal.connect.transforms.part import (
    Converted,
    Defaults,
    OnKey,
    OnPart,
    OnValue,
    PerSchema,
    defaults_of,
    java_names,
    struct_like,
)
from caudal.connect.transforms.properties import REPLACE_NULL, REPLACE_NULL_KEY

_SUFFIX = "A name that ends with ! makes a required field; with ?, or without either, it is optional."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS = {
    "topic.field": STRING,
    "partition.field": INT32,
    "offset.field": INT64,
    "timestamp.field": TIMESTAMP_SCHEMA,
    "static.field": STRING,
}
_WORDS = {
    "topic.field": "The field for the topic.",
    "partition.field": "The field for the partition.",
    "offset.field": "The field for the offset; only for sinks.",
    "timestamp.field": "The field for the timestamp of the record.",
    "static.field": "The field for `static.value`.",
}


class InsertField(OnPart, Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            [
                Key(name=name, default=None, importance=Importance.MEDIUM, doc=f"{doc} {_SUFFIX}")
                for name, doc in _WORDS.items()
            ],
            Key(name="static.value", default=None, importance=Importance.MEDIUM, doc="The value of `static.field`."),
            REPLACE_NULL_KEY,
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        wanted = {name: config[name] for name in _KINDS if config[name] is not None}
        if not wanted:
            raise ConfigError(f"{type(self).__name__} inserts nothing: give it one of {', '.join(_KINDS)}.")
        self._static: str | None = config["static.value"]
        if "static.field" in wanted and self._static is None:
            raise ConfigError("`static.field` has no value: give it `static.value`.", "static.value")
        names = {name: spec[:-1] if spec[-1:] in ("!", "?") else spec for name, spec in wanted.items()}
        if empty := [name for name, field in names.items() if not field]:
            raise ConfigError(f"`{empty[0]}` has no name: {wanted[empty[0]]!r}.", empty[0])
        self._fields = tuple(
            Field(names[name], _KINDS[name] if spec.endswith("!") else _KINDS[name].as_optional())
            for name, spec in wanted.items()
        )
        readers: dict[str, Callable[[Record], Any]] = {
            "topic.field": lambda record: record.topic,
            "partition.field": _partition,
            "offset.field": self._offset,
            "static.field": lambda record: self._static,
        }
        self._with_schema = [(names[name], readers.get(name, _moment)) for name in wanted]
        self._without_schema = [(names[name], readers.get(name, _milliseconds)) for name in wanted]
        self._replace_null: bool = config[REPLACE_NULL]
        self._plans = PerSchema(self._compile)

    def convert(self, schema: Schema | None, value: Any, record: Record) -> Converted:
        if value is None:
            return schema, None
        if schema is None:
            made = self.require_map(value).copy()
            for name, read in self._without_schema:
                found = read(record)
                if found is not None:
                    made[name] = found
            return None, made
        new_schema, defaults = self._plans(schema)
        made = (value if value.__class__ is dict else self.require_struct(schema, value)).copy()
        for name, default in defaults:
            if made.get(name) is None:
                made[name] = default
        for name, read in self._with_schema:
            made[name] = read(record)
        return new_schema, made

    def _compile(self, schema: Schema) -> tuple[Schema, Defaults]:
        self.require_struct(schema, {})
        return struct_like(schema, schema.fields + self._fields), defaults_of(schema, self._replace_null)

    def _offset(self, record: Record) -> int:
        if isinstance(record, SinkRecord):
            return record.offset
        raise DataError("A source's record has no offset yet: leave out `offset.field`, which is for sinks.")


def _partition(record: Record) -> int | None:
    return record.partition if isinstance(record, SinkRecord) else record.kafka_partition


def _milliseconds(record: Record) -> int | None:
    return record.timestamp


def _moment(record: Record) -> datetime | None:
    return None if record.timestamp is None else _EPOCH + timedelta(0, 0, 0, record.timestamp)


class InsertFieldKey(OnKey, InsertField):
    aliases = java_names("InsertField$Key")


class InsertFieldValue(OnValue, InsertField):
    aliases = java_names("InsertField$Value")
