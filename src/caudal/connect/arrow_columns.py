"""Connect's schemas as Arrow's, and values as Arrow columns: each column is made from one list, by pyarrow, in C.

Nullable is what is optional. Decimals have the precision of the schema, or 38; timestamps are milliseconds in UTC, as
in Connect. Default values stand in for missing fields and for null where null is not allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

import pyarrow as pa

from caudal.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Kind, Schema
from caudal.connect.errors import DataError

_PLAIN = {
    Kind.INT8: pa.int8(), Kind.INT16: pa.int16(), Kind.INT32: pa.int32(), Kind.INT64: pa.int64(),
    Kind.FLOAT32: pa.float32(), Kind.FLOAT64: pa.float64(), Kind.BOOLEAN: pa.bool_(),
    Kind.STRING: pa.string(), Kind.BYTES: pa.binary(),
}  # fmt: skip
_LOGICAL = {DATE: pa.date32(), TIME: pa.time32("ms"), TIMESTAMP: pa.timestamp("ms", "UTC")}


def arrow_type(schema: Schema) -> Any:
    if schema.name == DECIMAL:
        scale = int(schema.parameters.get("scale", "0"))
        precision = int(schema.parameters.get("connect.decimal.precision", "38"))
        return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name]
    match schema.kind:
        case Kind.STRUCT:
            return pa.struct([arrow_field(one.name, one.schema) for one in schema.fields])
        case Kind.ARRAY:
            assert schema.values is not None
            return pa.list_(arrow_field("item", schema.values))
        case Kind.MAP:
            assert schema.keys is not None and schema.values is not None
            keys = pa.field("key", arrow_type(schema.keys), nullable=False)
            return pa.map_(keys, arrow_field("value", schema.values))
    return _PLAIN[schema.kind]


def arrow_field(name: str, schema: Schema) -> Any:
    return pa.field(
        name, arrow_type(schema), nullable=schema.optional, metadata={"doc": schema.doc} if schema.doc else None
    )


class ArrowColumns:
    """Made once per schema. A value that is no struct is one column named `value`."""

    def __init__(self, schema: Schema) -> None:
        if schema.kind is Kind.STRUCT:
            if not schema.fields:
                raise DataError("A struct without fields has no columns; Parquet cannot hold it.")
            self._fields = [(one.name, one.schema) for one in schema.fields]
            self._is_struct = True
        else:
            self._fields = [("value", schema)]
            self._is_struct = False
        self.schema = pa.schema([arrow_field(name, each) for name, each in self._fields])
        self._columns = [
            (name, itemgetter(name), each, self.schema.field(name).type, _filling(each)) for name, each in self._fields
        ]

    def batch(self, values: Sequence[Any]) -> Any:
        """A RecordBatch. Raises DataError, which names the column."""
        columns = []
        for name, getter, schema, type, filling in self._columns:
            if self._is_struct:
                try:
                    column = list(map(getter, values))
                except (KeyError, TypeError):
                    column = [_get(value, name) for value in values]
            else:
                column = list(values)
            if filling is not None:
                column = [filling(one) for one in column]
            try:
                array = pa.array(column, type)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise DataError(f"The column {name} cannot be written as {type}: {error}") from None
            if array.null_count and not schema.optional:
                raise DataError(f"The column {name} is null but its schema does not allow that.")
            columns.append(array)
        return pa.record_batch(columns, schema=self.schema)


@lru_cache(256)
def arrow_columns(schema: Schema) -> ArrowColumns:
    return ArrowColumns(schema)


def _get(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        raise DataError(f"A struct was expected, not a {type(value).__name__}.")
    return value.get(name)


def _filling(schema: Schema) -> Callable[[Any], Any] | None:
    """What has to be done to a value before pyarrow takes it: defaults and nulls within structs it does not know."""
    inner: Callable[[Any], Any] | None = None
    match schema.kind:
        case Kind.STRUCT:
            fields = [(one.name, _filling(one.schema) or _nothing, one.schema) for one in schema.fields]

            def inner(value: Any) -> Any:
                if not isinstance(value, dict):
                    raise DataError(f"A struct was expected, not a {type(value).__name__}.")
                made = {}
                for name, filling, of in fields:
                    one = made[name] = filling(value.get(name))
                    if one is None and not of.optional:
                        raise DataError(f"The field {name} is null but its schema does not allow that.")
                return made

        case Kind.ARRAY if schema.values is not None and (filling := _filling(schema.values)) is not None:
            of_items = filling

            def inner(value: Any) -> Any:
                return [of_items(one) for one in value]

        case Kind.MAP if schema.values is not None and (filling := _filling(schema.values)) is not None:
            of_values = filling

            def inner(value: Any) -> Any:
                return {key: of_values(one) for key, one in value.items()}

    if inner is None and not (schema.has_default and schema.default is not None and not schema.optional):
        return None
    apply, default = inner or _nothing, None if schema.optional else schema.default
    return lambda value: default if value is None else apply(value)


def _nothing(value: Any) -> Any:
    return value
