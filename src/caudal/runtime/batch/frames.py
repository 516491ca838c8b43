"""From rows of bytes to DataFrames with typed columns, by the serdes of the plan.

| serde | column |
| --- | --- |
| String, Uuid | string |
| Long, Integer, Short | bigint, int, smallint |
| Double, Float | double, float |
| Boolean | boolean |
| Bytes | binary |
| ListOf | array of the element's type |
| TimeWindowed, SessionWindowed (keys) | key, window_start, window_end |
| Json | string (JSON); with a schema, what the schema says |
| any other | as Json: the value that the serde reads, written as JSON |

A schema is Spark's: text such as "user string, amount double", or a type. A value that the serde cannot read stops
the query with a sentence; None is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from caudal.plan.topology import StoreSpec
from caudal.runtime.batch import tables
from caudal.serde import (
    Boolean,
    Bytes,
    Double,
    Float,
    Integer,
    Json,
    ListOf,
    Long,
    Serde,
    SessionWindowed,
    Short,
    String,
    TimeWindowed,
    Uuid,
)

_PLAIN: dict[type, str] = {
    String: "string",
    Long: "bigint",
    Integer: "int",
    Short: "smallint",
    Double: "double",
    Float: "float",
    Boolean: "boolean",
    Bytes: "binary",
}
_ARROW: dict[str, str] = {
    "string": "string",
    "bigint": "int64",
    "int": "int32",
    "smallint": "int16",
    "double": "float64",
    "float": "float32",
    "boolean": "bool_",
    "binary": "binary",
}
WINDOW_COLUMNS = ("window_start", "window_end")

Read = Callable[[bytes], Any]


class Column:
    """How the bytes of one serde become a column."""

    def __init__(self, serde: Serde) -> None:
        self.type, self.read = _reader(serde)
        self.is_json = self.type == "string" and not isinstance(serde, String | Uuid)


def _reader(serde: Serde) -> tuple[str, Read]:
    known = _PLAIN.get(type(serde))
    if known is not None:
        return known, serde.deserialize
    if isinstance(serde, Uuid):
        return "string", lambda data: str(serde.deserialize(data))
    if isinstance(serde, Json):
        return "string", _as_text
    if isinstance(serde, ListOf) and (element := _PLAIN.get(type(serde.element))) is not None:
        return f"array<{element}>", serde.deserialize
    return "string", lambda data: orjson.dumps(serde.deserialize(data), default=repr).decode()


def _as_text(data: bytes) -> str:
    return data.decode()


def arrow_type(spark_type: str) -> Any:
    import pyarrow

    if spark_type.startswith("array<"):
        return pyarrow.list_(arrow_type(spark_type[6:-1]))
    if spark_type == "timestamp":
        return pyarrow.timestamp("us", tz="UTC")
    return getattr(pyarrow, _ARROW[spark_type])()


class Decoding:
    """Rows (key, value, timestamp, more…) of bytes as typed rows. Sent to the workers."""

    def __init__(
        self,
        key: Serde,
        value: Serde,
        *,
        split: tables.Split | None = None,
        timestamp: bool = True,
        more: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """`split` takes a window off the key's bytes; `more` are further columns (name, type), passed on."""
        if split is None and isinstance(key, TimeWindowed | SessionWindowed):
            split, key = tables.window_of_key(key), key.key
        self.key, self.value = Column(key), Column(value)
        self._split = split
        self._timestamp = timestamp
        self._more = more
        self.windowed = split is not None

    def columns(self) -> list[tuple[str, str]]:
        found = [("key", self.key.type)]
        if self.windowed:
            found += [(name, "timestamp") for name in WINDOW_COLUMNS]
        found.append(("value", self.value.type))
        if self._timestamp:
            found.append(("timestamp", "timestamp"))
        return [*found, *self._more]

    def schema(self) -> str:
        return ", ".join(f"`{name}` {kind}" for name, kind in self.columns())

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """What runs in a worker."""
        import pyarrow

        names = [name for name, _ in self.columns()]
        for batch in batches:
            arrays: list[Any] = []
            keys = [None if raw is None else self._key(raw) for raw in batch.column(0).to_pylist()]
            if self.windowed:
                arrays.append(_array([key and key[0] for key in keys], self.key.type))
                arrays += [_times([key and key[place] for key in keys]) for place in (1, 2)]
            else:
                arrays.append(_array(keys, self.key.type))
            read = self.value.read
            values = [None if raw is None else read(raw) for raw in batch.column(1).to_pylist()]
            arrays.append(_array(values, self.value.type))
            if self._timestamp:
                arrays.append(_times(batch.column(2).to_pylist()))
            arrays += [batch.column(3 + number) for number in range(len(self._more))]
            yield pyarrow.RecordBatch.from_arrays(arrays, names)

    def _key(self, raw: bytes) -> Any:
        if self._split is None:
            return self.key.read(raw)
        bare, start, end = self._split(raw)
        return self.key.read(bare), start, end


def _array(values: list[Any], kind: str) -> Any:
    import pyarrow

    return pyarrow.array(values, arrow_type(kind))


def _times(values: list[int | None]) -> Any:
    import pyarrow

    return pyarrow.array([None if value is None else value * 1000 for value in values], arrow_type("timestamp"))


def decoded(frame: Any, decoding: Decoding, key_schema: Any = None, value_schema: Any = None) -> Any:
    """A frame of (key, value, timestamp, more…) with typed columns."""
    from pyspark.sql import functions

    from caudal.runtime.batch.jobs import map_in_arrow
    from caudal.runtime.errors import StreamsError

    typed = map_in_arrow(frame, decoding, decoding.schema())
    for name, column, schema in (("key", decoding.key, key_schema), ("value", decoding.value, value_schema)):
        if schema is not None:
            if not column.is_json:
                raise StreamsError(f"The {name} is {column.type} by its serde: a schema is for JSON.")
            typed = typed.withColumn(name, functions.from_json(name, schema))
    return typed


def table_frame(frame: Any, spec: StoreSpec, key_schema: Any = None, value_schema: Any = None) -> Any:
    """A frame of changelog keys, values and timestamps as the table of a store."""
    decoding = Decoding(spec.key, spec.value, split=tables.window_of(spec), timestamp=tables.has_timestamp(spec))
    return decoded(frame.select("key", "value", "timestamp"), decoding, key_schema, value_schema)
