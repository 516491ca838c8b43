"""Connect's schemas and Spark's, both ways."""

from __future__ import annotations

import datetime

import pytest
from pyspark.sql import types

from caudal.connect.connectors.spark.columns import connect_schema, from_arrow, reading, spark_type
from caudal.connect.data import (
    DATE_SCHEMA,
    INT32,
    INT64,
    STRING,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    array,
    decimal,
    map_of,
    struct,
)
from caudal.connect.errors import ConfigError

ORDER = struct(
    "order",
    id=INT64,
    at=TIMESTAMP_SCHEMA,
    day=DATE_SCHEMA,
    price=decimal(2, 10),
    tags=array(STRING),
    parts=map_of(STRING, INT32),
    inner=struct("inner", opens=TIME_SCHEMA),
)


def test_to_spark() -> None:
    assert spark_type(ORDER).simpleString() == (
        "struct<id:bigint,at:timestamp,day:date,price:decimal(10,2),tags:array<string>,parts:map<string,int>,"
        "inner:struct<opens:int>>"
    )


def test_and_back() -> None:
    back = connect_schema(spark_type(ORDER), "order")
    assert [one.name for one in back.fields] == [one.name for one in ORDER.fields]
    assert all(one.schema.optional for one in back.fields)
    assert spark_type(back) == spark_type(ORDER)


def test_a_type_without_counterpart_is_named() -> None:
    with pytest.raises(ConfigError, match=r"interval.* of the column gap"):
        connect_schema(types.StructType([types.StructField("gap", types.DayTimeIntervalType())]))


def test_values_for_arrow() -> None:
    make = reading(ORDER)
    assert make is not None
    made = make({"id": 1, "parts": {"a": 1}, "inner": {"opens": datetime.time(1, 0, 0, 5000)}})
    assert made["parts"] == [("a", 1)]
    assert made["inner"] == {"opens": 3_600_005}
    assert reading(struct("s", id=INT64, name=STRING)) is None


def test_values_from_arrow() -> None:
    make = from_arrow(ORDER)
    assert make is not None
    madrid = datetime.timezone(datetime.timedelta(hours=2))
    made = make({"id": 1, "at": datetime.datetime(2026, 5, 1, 12, tzinfo=madrid), "parts": [("a", 1)], "inner": None})
    assert made["at"] == datetime.datetime(2026, 5, 1, 10, tzinfo=datetime.UTC)
    assert made["at"].tzinfo is datetime.UTC
    assert made["parts"] == {"a": 1}
