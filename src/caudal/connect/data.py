"""Schemas and values, as they travel between a source, a topic and a sink.

Values are plain Python: int, float, bool, str, bytes, list, dict; a struct is a dict by field name. Logical types have
their own Python types, whatever the bytes of the converter are: `decimal.Decimal`, `datetime.date`, `datetime.time`,
`datetime.datetime` (aware, UTC). None is null. A schema of None means that nothing is known: the value is what it is.

A schema is immutable, and compared and hashed once: converters keep what they made of it under the schema itself, so a
source should use the same object for all records of a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

DECIMAL = "org.apache.kafka.connect.data.Decimal"  # kind BYTES; parameters scale and connect.decimal.precision
DATE = "org.apache.kafka.connect.data.Date"  # kind INT32
TIME = "org.apache.kafka.connect.data.Time"  # kind INT32, milliseconds
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"  # kind INT64, milliseconds


class Kind(StrEnum):
    """Kafka Connect's types, by the names of its JSON converter."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, eq=False)
class Schema:
    kind: Kind
    optional: bool = False
    name: str | None = None  # of a struct, or of a logical type
    version: int | None = None
    doc: str | None = None
    default: Any = None
    has_default: bool = False  # None is a default too
    parameters: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    fields: tuple[Field, ...] = ()  # of a struct
    keys: Schema | None = None  # of a map
    values: Schema | None = None  # of a map or an array

    def field(self, name: str) -> Field | None:
        return self._by_name.get(name)

    def as_optional(self) -> Schema:
        return self if self.optional else replace(self, optional=True)

    def with_fields(self, fields: tuple[Field, ...]) -> Schema:
        return replace(self, fields=fields)

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {one.name: one for one in self.fields}

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        default = repr(self.default) if self.has_default else None
        return (
            self.kind, self.optional, self.name, self.version, self.doc, default,
            tuple(sorted(self.parameters.items())), self.fields, self.keys, self.values,
        )  # fmt: skip

    @cached_property
    def _hash(self) -> int:
        return hash(self._identity)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Schema) and self._hash == other._hash and self._identity == other._identity


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    schema: Schema


def struct(name: str | None, /, **fields: Schema) -> Schema:
    """
    >>> [one.name for one in struct("order", id=INT64, note=STRING.as_optional()).fields]
    ['id', 'note']
    """
    return Schema(Kind.STRUCT, name=name, fields=tuple(Field(name, schema) for name, schema in fields.items()))


def array(values: Schema) -> Schema:
    return Schema(Kind.ARRAY, values=values)


def map_of(keys: Schema, values: Schema) -> Schema:
    return Schema(Kind.MAP, keys=keys, values=values)


def decimal(scale: int, precision: int | None = None) -> Schema:
    parameters = {"scale": str(scale)}
    if precision is not None:
        parameters["connect.decimal.precision"] = str(precision)
    return Schema(Kind.BYTES, name=DECIMAL, version=1, parameters=parameters)


INT8 = Schema(Kind.INT8)
INT16 = Schema(Kind.INT16)
INT32 = Schema(Kind.INT32)
INT64 = Schema(Kind.INT64)
FLOAT32 = Schema(Kind.FLOAT32)
FLOAT64 = Schema(Kind.FLOAT64)
BOOLEAN = Schema(Kind.BOOLEAN)
STRING = Schema(Kind.STRING)
BYTES = Schema(Kind.BYTES)
DATE_SCHEMA = Schema(Kind.INT32, name=DATE, version=1)
TIME_SCHEMA = Schema(Kind.INT32, name=TIME, version=1)
TIMESTAMP_SCHEMA = Schema(Kind.INT64, name=TIMESTAMP, version=1)
