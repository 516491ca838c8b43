"""Connect's schemas as Spark's, and back; values of records as columns of Arrow, and rows as values.

Decimals, dates, times of day and timestamps keep their meaning; a time of day has no type in Spark and becomes
milliseconds. Unsigned numbers, unions and intervals do not occur.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from caudal.connect.data import (
    BOOLEAN,
    BYTES,
    DATE,
    DATE_SCHEMA,
    DECIMAL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_SCHEMA,
    Field,
    Kind,
    Schema,
    array,
    decimal,
    map_of,
)
from caudal.connect.errors import ConfigError, DataError

METADATA = ("kafka_topic", "kafka_partition", "kafka_offset", "kafka_timestamp")


def spark_type(schema: Schema) -> Any:
    from pyspark.sql import types

    if schema.name == DECIMAL:
        precision = int(schema.parameters.get("connect.decimal.precision", "38"))
        return types.DecimalType(min(precision, 38), int(schema.parameters.get("scale", "0")))
    if schema.name == DATE:
        return types.DateType()
    if schema.name == TIMESTAMP:
        return types.TimestampType()
    if schema.name == TIME:
        return types.IntegerType()
    if schema.kind is Kind.ARRAY:
        return types.ArrayType(spark_type(_part(schema.values)), containsNull=True)
    if schema.kind is Kind.MAP:
        return types.MapType(spark_type(_part(schema.keys)), spark_type(_part(schema.values)))
    if schema.kind is Kind.STRUCT:
        # All may be null: a later version of the schema may lack the field.
        return types.StructType([types.StructField(one.name, spark_type(one.schema)) for one in schema.fields])
    plain: dict[Kind, Any] = {
        Kind.INT8: types.ByteType(), Kind.INT16: types.ShortType(), Kind.INT32: types.IntegerType(),
        Kind.INT64: types.LongType(), Kind.FLOAT32: types.FloatType(), Kind.FLOAT64: types.DoubleType(),
        Kind.BOOLEAN: types.BooleanType(), Kind.STRING: types.StringType(), Kind.BYTES: types.BinaryType(),
    }  # fmt: skip
    return plain[schema.kind]


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("A schema of an array or a map does not say what is in it.")
    return schema


def connect_schema(spark: Any, name: str | None = None) -> Schema:
    """Of a Spark type; every field is optional, as Spark says of nearly all."""
    from pyspark.sql import types

    if isinstance(spark, types.StructType):
        fields = tuple(Field(one.name, connect_schema(one.dataType, one.name).as_optional()) for one in spark.fields)
        return Schema(Kind.STRUCT, name=name, fields=fields)
    if isinstance(spark, types.DecimalType):
        return decimal(spark.scale, spark.precision)
    if isinstance(spark, types.ArrayType):
        return array(connect_schema(spark.elementType, name).as_optional())
    if isinstance(spark, types.MapType):
        return map_of(connect_schema(spark.keyType, name), connect_schema(spark.valueType, name).as_optional())
    plain: tuple[tuple[type[Any], Schema], ...] = (
        (types.ByteType, INT8), (types.ShortType, INT16), (types.IntegerType, INT32), (types.LongType, INT64),
        (types.FloatType, FLOAT32), (types.DoubleType, FLOAT64), (types.BooleanType, BOOLEAN),
        (types.StringType, STRING), (types.VarcharType, STRING), (types.CharType, STRING), (types.BinaryType, BYTES),
        (types.DateType, DATE_SCHEMA), (types.TimestampType, TIMESTAMP_SCHEMA),
        (types.TimestampNTZType, TIMESTAMP_SCHEMA),
    )  # fmt: skip
    for kind, schema in plain:
        if isinstance(spark, kind):
            return schema
    raise ConfigError(f"the type {spark.simpleString()} of the column {name} has no counterpart in a topic; cast it")


def reading(schema: Schema) -> Callable[[Any], Any] | None:
    """What makes a Connect value fit for Arrow; None where it is."""
    if schema.name == TIME:
        return lambda value: None if value is None else _milliseconds(value)
    if schema.kind is Kind.MAP:
        inner = reading(_part(schema.values)) or (lambda value: value)
        return lambda value: None if value is None else [(key, inner(part)) for key, part in value.items()]
    if schema.kind is Kind.ARRAY and (part := reading(_part(schema.values))) is not None:
        return lambda value: None if value is None else [part(one) for one in value]
    if schema.kind is Kind.STRUCT:
        parts = [(one.name, made) for one in schema.fields if (made := reading(one.schema)) is not None]
        if parts:
            return lambda value: (
                None if value is None else {**value, **{name: made(value.get(name)) for name, made in parts}}
            )
    return None


def _milliseconds(value: datetime.time | int) -> int:
    if isinstance(value, int):
        return value
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def from_arrow(schema: Schema) -> Callable[[Any], Any] | None:
    """What makes a Connect value of what Arrow gives; None where it is one."""
    if schema.name == TIMESTAMP:
        return lambda value: None if value is None else _aware(value)
    if schema.kind is Kind.MAP:
        inner = from_arrow(_part(schema.values)) or (lambda value: value)
        return lambda value: None if value is None else {key: inner(part) for key, part in _pairs(value)}
    if schema.kind is Kind.ARRAY and (part := from_arrow(_part(schema.values))) is not None:
        return lambda value: None if value is None else [part(one) for one in value]
    if schema.kind is Kind.STRUCT:
        parts = [(one.name, made) for one in schema.fields if (made := from_arrow(one.schema)) is not None]
        if parts:
            return lambda value: (
                None if value is None else {**value, **{name: made(value.get(name)) for name, made in parts}}
            )
    return None


def _aware(value: datetime.datetime) -> datetime.datetime:
    if value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    return value.astimezone(datetime.UTC)


def _pairs(value: Any) -> Sequence[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, dict) else value
