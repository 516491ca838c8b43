"""JSON's values to columns: each value parsed, then column by column checked by type and made by Arrow.

It knows structs of plain values, optional or not, and Connect's timestamps, dates and decimals as numbers. A number
that is a decimal was read as a float; that is exact as long as no number of the batch has more than 15 digits. For
anything else there is no answer (NotThisWay): `json.py` reads those one by one, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from caudal.connect.arrow_columns import arrow_columns
from caudal.connect.columns import NotThisWay
from caudal.connect.converters.avro_columns import DAYS, INSTANTS, decimals_of
from caudal.connect.data import DATE, DECIMAL, TIMESTAMP, Kind, Schema

_NOTHING = type(None)
_TYPES: dict[Kind, set[type[Any]]] = {
    Kind.INT32: {int},
    Kind.INT64: {int},
    Kind.FLOAT64: {float, int},
    Kind.BOOLEAN: {bool},
    Kind.STRING: {str},
}
_EXACT_DIGITS = 15
_TOO_LONG = b"0" * (_EXACT_DIGITS + 1)
# Digits and points become zeros, all else spaces: a long number is a long run of zeros.
_DIGITS = bytes(48 if chr(byte) in "0123456789." else 32 for byte in range(256))

Column = Callable[[list[Any]], Any]


class ColumnReader:
    """For one schema. Raises NotThisWay where there can be none."""

    def __init__(self, schema: Schema) -> None:
        if schema.kind is not Kind.STRUCT or schema.optional or not schema.fields:
            raise NotThisWay
        self._target = arrow_columns(schema).schema
        self._columns = [
            (one.name, itemgetter(one.name), _column(one.schema, self._target.field(one.name).type))
            for one in schema.fields
        ]
        self._has_decimals = any(one.schema.name == DECIMAL for one in schema.fields)

    def read(self, payloads: Sequence[Any]) -> Any:
        """A RecordBatch."""
        if self._has_decimals and _TOO_LONG in b" ".join(payloads).translate(_DIGITS):
            raise NotThisWay
        rows = list(map(orjson.loads, payloads))
        if set(map(type, rows)) != {dict}:
            raise NotThisWay
        columns = []
        for name, getter, make in self._columns:
            try:
                values = list(map(getter, rows))
            except KeyError:
                values = [row.get(name) for row in rows]
            columns.append(make(values))
        try:
            return pa.record_batch(columns, schema=self._target)
        except pa.ArrowException:
            raise NotThisWay from None


def _column(schema: Schema, type_: Any) -> Column:
    if schema.has_default:  # which may stand in for null
        raise NotThisWay
    limits = None
    match schema.name:
        case None if schema.kind in _TYPES:
            allowed = _TYPES[schema.kind]
        case name if name == TIMESTAMP and schema.kind is Kind.INT64:
            allowed, limits = {int}, INSTANTS
        case name if name == DATE and schema.kind is Kind.INT32:
            allowed, limits = {int}, DAYS
        case name if name == DECIMAL and schema.kind is Kind.BYTES and pa.types.is_decimal128(type_):
            return _decimals(type_)
        case _:
            raise NotThisWay
    if schema.optional:
        allowed = allowed | {_NOTHING}

    def column(values: list[Any]) -> Any:
        if not set(map(type, values)) <= allowed:
            raise NotThisWay
        try:
            array = pa.array(values, type_)
        except (pa.ArrowException, OverflowError):
            raise NotThisWay from None
        if limits is not None:
            ends = pc.min_max(array.view(pa.int64() if schema.kind is Kind.INT64 else pa.int32())).as_py()
            if ends["min"] is not None and not limits[0] <= ends["min"] <= ends["max"] <= limits[1]:
                raise NotThisWay
        return array

    return column


def _decimals(type_: Any) -> Column:
    power, limit = 10**type_.scale, 10 ** min(type_.precision, _EXACT_DIGITS)
    if not 0 <= type_.scale <= _EXACT_DIGITS:
        raise NotThisWay

    def column(values: list[Any]) -> Any:
        if not set(map(type, values)) <= {float, int}:  # base64 text, or null
            raise NotThisWay
        numbers = np.array(values, np.float64)
        unscaled = np.rint(numbers * power)
        # The same number, and not one with more digits behind the point.
        if (unscaled / power != numbers).any() or (np.abs(unscaled) >= limit).any():
            raise NotThisWay
        return decimals_of(unscaled.astype(np.int64), type_)

    return column
