"""Avro's bytes to columns: all values of a batch at once, field by field, by numpy.

The values lie behind each other in one buffer, and an array says where in each the next field begins. A field of all
values is then a handful of array operations, whatever their number; texts are cut out by Arrow. It knows records of
plain values, optional or not, and Connect's logical types. For anything else, and for bytes that are not as they should
be, there is no answer (NotThisWay): `avro_codec.py` reads those one by one, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from caudal.connect.arrow_columns import arrow_columns
from caudal.connect.columns import NotThisWay
from caudal.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Kind, Schema
from caudal.serde.wire_format import HEAD_BYTES

Array = Any  # of numpy
DAYS = (datetime(1, 1, 1).toordinal() - datetime(1970, 1, 1).toordinal(),
         datetime(9999, 12, 31).toordinal() - datetime(1970, 1, 1).toordinal())  # fmt: skip
INSTANTS = (round(datetime(1, 1, 2, tzinfo=UTC).timestamp() * 1000),
             round(datetime(9999, 12, 30, tzinfo=UTC).timestamp() * 1000))  # fmt: skip
_RANGES = {"int": (-(1 << 31), (1 << 31) - 1), "long": (-(1 << 63), (1 << 63) - 1)}
_LOGICAL_RANGES = {DATE: DAYS, TIME: (0, 86_399_999), TIMESTAMP: INSTANTS}
_PLAIN = {Kind.INT32: "int", Kind.INT64: "long", Kind.FLOAT32: "float", Kind.FLOAT64: "double",
          Kind.BOOLEAN: "boolean", Kind.STRING: "string", Kind.BYTES: "bytes"}  # fmt: skip
_WIDTHS = {"float": "<f4", "double": "<f8"}


class _Cursor:
    """The bytes of all values, where the next field of each begins, and where each ends. The values at hand are all, or
    those of which an optional field is there."""

    def __init__(self, data: Array, at: Array, ends: Array) -> None:
        self.data = data
        self.at = at
        self.ends = ends

    def longs(self) -> Array:
        data, at = self.data, self.at
        byte = data[at]
        at += 1
        number = (byte & 127).astype(np.uint64)
        more = np.flatnonzero(byte > 127)
        shift = 7
        while more.size:
            byte = data[at[more]]
            at[more] += 1
            if shift > 63 or (shift == 63 and (byte > 1).any()):
                raise NotThisWay
            number[more] |= (byte & 127).astype(np.uint64) << np.uint64(shift)
            more = more[byte > 127]
            shift += 7
        return (number >> np.uint64(1)).view(np.int64) ^ -(number & np.uint64(1)).view(np.int64)

    def spans(self) -> tuple[Array, Array]:
        """Where texts or bytes begin, and their lengths."""
        sizes = self.longs()
        begins = self.at.copy()
        if (sizes < 0).any() or (sizes > self.ends - begins).any():
            raise NotThisWay
        self.at += sizes
        return begins, sizes

    def byte(self) -> Array:
        found = self.data[self.at]
        self.at += 1
        return found

    def fixed(self, type: str) -> Array:
        size = np.dtype(type).itemsize
        places = self.at[:, None] + np.arange(size)
        self.at += size
        return self.data[places].reshape(-1).view(type)


Read = Callable[[_Cursor], Any]  # an Arrow array for the values at hand


class ColumnReader:
    """For one schema: `parsed` is fastavro's form of it. Raises NotThisWay where there can be none."""

    def __init__(self, parsed: Any, schema: Schema) -> None:
        if not isinstance(parsed, dict) or parsed["type"] != "record" or schema.kind is not Kind.STRUCT:
            raise NotThisWay
        self._target = arrow_columns(schema).schema
        types = [field["type"] for field in parsed["fields"]]
        self._fields = [
            _field(avro, one.schema, self._target.field(one.name).type)
            for avro, one in zip(types, schema.fields, strict=True)
        ]

    def read(self, values: Sequence[bytes]) -> Any:
        """A RecordBatch. All values begin with the head of this schema."""
        head = values[0][:HEAD_BYTES]
        data = np.frombuffer(b"".join(values), np.uint8)
        sizes = np.fromiter(map(len, values), np.int64, len(values))
        ends = np.cumsum(sizes)
        at = ends - sizes
        if (sizes <= HEAD_BYTES).any() or (data[at[:, None] + np.arange(HEAD_BYTES)] != list(head)).any():
            raise NotThisWay
        at += HEAD_BYTES
        cursor = _Cursor(data, at, ends)
        try:
            columns = [read(cursor) for read in self._fields]
            if (cursor.at != ends).any():
                raise NotThisWay
            batch = pa.record_batch(columns, schema=self._target)
        except (IndexError, pa.ArrowException):
            raise NotThisWay from None
        return batch


def _field(avro: Any, schema: Schema, type: Any) -> Read:
    if not isinstance(avro, list):
        return _plain(avro, schema, type)
    if len(avro) != 2 or avro.count("null") != 1 or not schema.optional:
        raise NotThisWay
    there = 1 - avro.index("null")
    inner = _plain(avro[there], schema, type)

    def optional(cursor: _Cursor) -> Any:
        branches = cursor.byte()  # 0 or 1, doubled, as Avro writes numbers that may be negative
        if ((branches != 0) & (branches != 2)).any():
            raise NotThisWay
        is_there = branches == 2 * there
        if is_there.all():
            return inner(cursor)
        some = np.flatnonzero(is_there)
        part = _Cursor(cursor.data, cursor.at[some], cursor.ends[some])
        found = inner(part)
        cursor.at[some] = part.at
        return found.take(pa.array(np.cumsum(is_there) - 1, mask=~is_there))

    return optional


def _plain(avro: Any, schema: Schema, type: Any) -> Read:
    kind = avro["type"] if isinstance(avro, dict) else avro
    if kind != _PLAIN.get(schema.kind):
        raise NotThisWay
    if schema.name == DECIMAL:
        if not isinstance(avro, dict) or avro.get("logicalType") != "decimal":
            raise NotThisWay
        return _decimal(type)
    if schema.name is not None and schema.name not in _LOGICAL_RANGES:
        raise NotThisWay
    if kind in _RANGES:
        low, high = _LOGICAL_RANGES.get(schema.name or "", _RANGES[kind])

        def whole(cursor: _Cursor) -> Any:
            numbers = cursor.longs()
            if numbers.size and (numbers.min() < low or numbers.max() > high):
                raise NotThisWay
            return pa.array(numbers if kind == "long" else numbers.astype(np.int32)).view(type)

        return whole
    if kind in _WIDTHS:
        return lambda cursor: pa.array(cursor.fixed(_WIDTHS[kind]))
    if kind == "boolean":
        return _boolean
    return lambda cursor: _texts(cursor, type)


def _boolean(cursor: _Cursor) -> Any:
    found = cursor.byte()
    if (found > 1).any():
        raise NotThisWay
    return pa.array(found.view(np.bool_))


def _texts(cursor: _Cursor, type: Any) -> Any:
    begins, sizes = cursor.spans()
    count = len(begins)
    if not count:
        return pa.array([], type)
    # One array over the whole buffer, in which every other element is one of the texts; then only those.
    edges = np.empty(2 * count, np.int32 if len(cursor.data) < 1 << 31 else np.int64)
    edges[::2] = begins
    edges[1::2] = begins + sizes
    if edges.dtype != np.int32:
        raise NotThisWay
    whole = pa.BinaryArray.from_buffers(
        pa.binary(), 2 * count - 1, [None, pa.py_buffer(edges), pa.py_buffer(cursor.data)]
    )
    found = whole.take(pa.array(np.arange(0, 2 * count, 2)))
    return found if type == pa.binary() else found.cast(type)  # which checks that they are UTF-8


def _decimal(type: Any) -> Read:
    if not pa.types.is_decimal128(type):
        raise NotThisWay
    limit = 10 ** min(type.precision, 18)

    def decimals(cursor: _Cursor) -> Any:
        begins, sizes = cursor.spans()
        if not sizes.size:
            return pa.array([], type)
        longest = int(sizes.max())
        if longest > 8 or sizes.min() < 1:
            raise NotThisWay
        numbers = cursor.data[begins].view(np.int8).astype(np.int64)
        last = len(cursor.data) - 1
        for place in range(1, longest):
            byte = cursor.data[np.minimum(begins + place, last)]
            numbers = np.where(sizes > place, (numbers << 8) | byte, numbers)
        if numbers.min() <= -limit or numbers.max() >= limit:
            raise NotThisWay
        return decimals_of(numbers, type)

    return decimals


def decimals_of(unscaled: Array, type: Any) -> Any:
    """An Arrow array of decimals from whole numbers: 128 bits each, the upper 64 only the sign."""
    both = np.empty((len(unscaled), 2), np.int64)
    both[:, 0] = unscaled
    both[:, 1] = unscaled >> 63
    return pa.Array.from_buffers(type, len(unscaled), [None, pa.py_buffer(both)])
