"""Records of a topic as columns, in Spark's Python workers: by the connector's own converter, batch by batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from caudal.connect.connector_config import converters_of, worker_settings
from caudal.connect.connectors.spark.columns import METADATA, reading, spark_type
from caudal.connect.converter import Converter
from caudal.connect.data import BYTES, STRING, Field, Kind, Schema
from caudal.connect.errors import DataError

if TYPE_CHECKING:
    import pyarrow

CHANGED = "The schema of the records has changed"  # the query is started again with the wider one
VALUE = "value"


@lru_cache(maxsize=8)
def value_converter(config: str) -> Converter:
    """One for all batches of a worker process: it keeps what it knows of schemas."""
    given = json.loads(config)
    return converters_of(given, worker_settings(given)).value


def as_struct(schema: Schema | None, value: Any) -> Schema:
    """The columns of a value: its fields; one column, where it has none."""
    if schema is not None and schema.kind is Kind.STRUCT:
        return schema
    if schema is None and isinstance(value, dict | list):
        raise DataError(
            "The values have no schema, so their columns are not known: set value.converter to one with schemas (Avro, "
            "or Json with schemas.enable=true), or write them as text with value.converter=String."
        )
    if schema is None:
        schema = BYTES if isinstance(value, bytes) else STRING
    return Schema(Kind.STRUCT, fields=(Field(VALUE, schema),))


def union(one: Schema | None, other: Schema) -> Schema:
    """The fields of both; of two with one name the newer."""
    if one is None:
        return other
    fields = {field.name: field for field in one.fields}
    fields |= {field.name: field for field in other.fields}
    return other.with_fields(tuple(fields.values()))


def with_metadata(struct: Any, metadata: bool) -> Any:
    from pyspark.sql import types

    if not metadata:
        return struct
    kinds = (types.StringType(), types.IntegerType(), types.LongType(), types.TimestampType())
    return types.StructType([*struct.fields, *map(types.StructField, METADATA, kinds)])


Decode = Callable[["Iterator[pyarrow.RecordBatch]"], "Iterator[pyarrow.RecordBatch]"]


def decoder(config: Mapping[str, str], schema: Schema, metadata: bool) -> Decode:
    """For `mapInArrow`. Records without a value (tombstones) have no columns and are left out."""
    text = json.dumps(dict(config))

    def decode(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        target = to_arrow_schema(with_metadata(spark_type(schema), metadata), timezone="UTC")  # the session's
        convert = value_converter(text).decode
        wanted = {field.name: spark_type(field.schema) for field in schema.fields}
        makers = [(field.name, reading(field.schema)) for field in schema.fields]
        fitting: set[int] = set()
        kept: list[Any] = []  # schemas whose id is in `fitting`: an id may be given again once its owner is gone
        for batch in batches:
            rows: list[Any] = []
            places: list[int] = []
            topics = batch.column("topic").to_pylist()
            for at, data in enumerate(batch.column("value").to_pylist()):
                found, value = convert(topics[at], data)
                if value is None:
                    continue
                if id(found) not in fitting or found is None:
                    columns = as_struct(found, value)
                    if any(wanted.get(one.name) != spark_type(one.schema) for one in columns.fields):
                        raise DataError(f"{CHANGED}: it is {[one.name for one in columns.fields]} now.")
                    fitting.add(id(found))
                    kept.append(found)
                rows.append(value if found is not None and found.kind is Kind.STRUCT else {VALUE: value})
                places.append(at)
            arrays = []
            for number, (name, make) in enumerate(makers):
                values = [row.get(name) for row in rows]
                if make is not None:
                    values = [make(value) for value in values]
                arrays.append(pyarrow.array(values, target.field(number).type))
            if metadata:
                taken = batch.take(pyarrow.array(places, pyarrow.int64()))
                for number, name in enumerate(("topic", "partition", "offset", "timestamp"), len(makers)):
                    arrays.append(taken.column(name).cast(target.field(number).type))
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=target)

    return decode
