"""What Avro and Protobuf decode to (dicts, lists, Python's own dates and decimals) as SQL values, fields matched by
name as in JSON, and SQL values as what they encode."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from math import isfinite
from typing import Any

from caudal.ksql import types
from caudal.ksql.formats.json_values import Convert, Fields, placed
from caudal.ksql.formats.values import (
    Misfit,
    date_of,
    fitted,
    in_range,
    java_double,
    ms_of_time,
    ms_of_timestamp,
    time_of,
    timestamp_of,
)
from caudal.ksql.types import Base, SqlType

_WIDE = Context(prec=4000)


def reader(type: SqlType, path: str = "") -> Convert:
    """What makes the SQL value of a decoded one, which may be None."""
    return placed(path, _reader(type))


def row_reader(names: list[str], given: list[SqlType]) -> Convert:
    """A decoded record as the tuple of these columns."""
    fields = Fields(names)
    readers = [reader(type, f".{name}") for name, type in zip(names, given, strict=True)]

    def read(record: Any) -> Any:
        if record.__class__ is not dict:
            raise Misfit(f"Can't convert type. sourceType: {_kind(record)}, requiredType: STRUCT")
        return tuple([convert(value) for convert, value in zip(readers, fields(record), strict=True)])

    return read


def _reader(type: SqlType) -> Convert:
    if isinstance(type, types.Decimal):
        return lambda value: _decimal(value, type)
    if isinstance(type, types.Array):
        return _array(type)
    if isinstance(type, types.Map):
        return _map(type)
    if isinstance(type, types.Struct):
        names = [field.name for field in type.fields]
        row = row_reader(names, [field.type for field in type.fields])
        return lambda value: dict(zip(names, row(value), strict=True))
    return _READERS[type.base](type)


def _kind(value: Any) -> str:
    return "record" if isinstance(value, dict) else type(value).__name__


def _wrong(value: Any, type: SqlType) -> Misfit:
    return Misfit(f"Can't convert type. sourceType: {_kind(value)}, requiredType: {type}")


def _only(kind: type) -> Callable[[SqlType], Convert]:
    def of(type: SqlType) -> Convert:
        def read(value: Any) -> Any:
            if value.__class__ is kind:
                return value
            raise _wrong(value, type)

        return read

    return of


def _whole(type: SqlType) -> Convert:
    def read(value: Any) -> Any:
        if value.__class__ is int:
            return in_range(value, type)
        # The column says number, the writer date or time.
        if value.__class__ is datetime and type.base is Base.BIGINT:
            return ms_of_timestamp(_aware(value))
        if value.__class__ is time:
            return ms_of_time(value)
        raise _wrong(value, type)

    return read


def _double(type: SqlType) -> Convert:
    def read(value: Any) -> Any:
        if value.__class__ is float:
            return value
        if value.__class__ is int:
            return float(value)
        raise _wrong(value, type)

    return read


def _text(type: SqlType) -> Convert:
    def read(value: Any) -> Any:
        kind = value.__class__
        if kind is str:
            return value
        if kind is bool:
            return "true" if value else "false"
        if kind is float:
            return java_double(value)
        if isinstance(value, (dict, list, bytes)):
            raise _wrong(value, type)
        return str(value)

    return read


def _decimal(value: Any, type: types.Decimal) -> Decimal:
    if value.__class__ is Decimal:
        return fitted(value, type)
    if value.__class__ is int:
        return fitted(Decimal(value), type)
    if value.__class__ is float and isfinite(value):
        return fitted(Decimal(repr(value)), type)
    if value.__class__ is dict and "value" in value and "scale" in value:  # confluent.type.Decimal
        try:
            unscaled = int.from_bytes(value["value"] or b"\0", "big", signed=True)
            return fitted(Decimal(unscaled).scaleb(-(value["scale"] or 0), context=_WIDE), type)
        except (ArithmeticError, TypeError):
            raise Misfit(f"{value} is not a {type}") from None
    raise _wrong(value, type)


def _aware(value: datetime) -> datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def _day(type: SqlType) -> Convert:
    def read(value: Any) -> Any:
        if value.__class__ is date:
            return value
        if value.__class__ is int:
            return date_of(value)
        if value.__class__ is dict and "year" in value:  # google.type.Date
            try:
                return date(value["year"], value["month"], value["day"])
            except (ValueError, TypeError):
                raise Misfit(f"{value} is not a DATE") from None
        raise _wrong(value, type)

    return read


def _time(type: SqlType) -> Convert:
    def read(value: Any) -> Any:
        if value.__class__ is time:
            return value.replace(microsecond=value.microsecond // 1000 * 1000)
        if value.__class__ is int:
            return time_of(value)
        if value.__class__ is dict and "hours" in value:  # google.type.TimeOfDay
            try:
                return time(value["hours"], value["minutes"], value["seconds"], value["nanos"] // 1_000_000 * 1000)
            except (ValueError, TypeError):
                raise Misfit(f"{value} is not a TIME") from None
        raise _wrong(value, type)

    return read


def _timestamp(type: SqlType) -> Convert:
    def read(value: Any) -> Any:
        if value.__class__ is datetime:
            return timestamp_of(ms_of_timestamp(_aware(value)))
        if value.__class__ is int:
            return timestamp_of(value)
        raise _wrong(value, type)

    return read


_READERS: dict[Base, Callable[[SqlType], Convert]] = {
    Base.BOOLEAN: _only(bool),
    Base.INTEGER: _whole,
    Base.BIGINT: _whole,
    Base.DOUBLE: _double,
    Base.STRING: _text,
    Base.BYTES: _only(bytes),
    Base.DATE: _day,
    Base.TIME: _time,
    Base.TIMESTAMP: _timestamp,
}


def _array(type: types.Array) -> Convert:
    element = _reader(type.element)

    def read(value: Any) -> Any:
        if value.__class__ is not list:
            raise _wrong(value, type)
        try:
            return [None if item is None else element(item) for item in value]
        except Misfit:
            for place, item in enumerate(value):
                reader(type.element, f"[{place}]")(item)
            raise

    return read


def _map(type: types.Map) -> Convert:
    """A map, or a list of entries with key and value, which is how Connect writes maps whose keys may be null."""
    key_of, value_of = reader(type.key, ".key"), reader(type.value, ".value")

    def read(value: Any) -> Any:
        if value.__class__ is list:
            try:
                return {key_of(entry["key"]): value_of(entry["value"]) for entry in value}
            except (TypeError, KeyError):
                raise _wrong(value, type) from None
        if value.__class__ is dict:
            return {key_of(key): value_of(item) for key, item in value.items()}
        raise _wrong(value, type)

    return read


# -- writing -----------------------------------------------------------------------------------------------------------


def writer(type: SqlType, leaf: Callable[[SqlType], Convert | None] = lambda type: None) -> Convert | None:
    """What makes the value to encode: maps are lists of entries, and `leaf` says what becomes of simple types. None: it
    is as it has to be."""
    if isinstance(type, types.Array):
        inner = writer(type.element, leaf)
        return None if inner is None else lambda value: [None if item is None else inner(item) for item in value]
    if isinstance(type, types.Map):
        return _map_writer(type, leaf)
    if isinstance(type, types.Struct):
        return _struct_writer(type, leaf)
    return leaf(type)


def row_writer(names: list[str], given: list[SqlType], leaf: Callable[[SqlType], Convert | None]) -> Convert:
    """A tuple of these columns as a dict."""
    writers = [writer(type, leaf) for type in given]

    def write(row: Any) -> Any:
        return {
            name: value if value is None or convert is None else convert(value)
            for name, convert, value in zip(names, writers, row, strict=True)
        }

    return write


def _map_writer(type: types.Map, leaf: Callable[[SqlType], Convert | None]) -> Convert:
    key_of, value_of = writer(type.key, leaf), writer(type.value, leaf)

    def write(value: Any) -> Any:
        return [
            {
                "key": key if key is None or key_of is None else key_of(key),
                "value": item if item is None or value_of is None else value_of(item),
            }
            for key, item in value.items()
        ]

    return write


def _struct_writer(type: types.Struct, leaf: Callable[[SqlType], Convert | None]) -> Convert | None:
    inner = [(field.name, writer(field.type, leaf)) for field in type.fields]
    if all(convert is None for _, convert in inner):
        return None

    def write(value: Any) -> Any:
        made = {}
        for name, convert in inner:
            item = value[name]
            made[name] = item if item is None or convert is None else convert(item)
        return made

    return write
