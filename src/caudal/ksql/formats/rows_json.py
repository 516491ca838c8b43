"""Rows in REST answers and requests: SQL values as the JSON of ksqlDB's /query-stream, and the JSON of /inserts-stream
as SQL values.

Other than in topics, dates and times are ISO 8601 text here, DECIMAL is a number with its digits, BYTES base64.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import orjson

from caudal.ksql import types
from caudal.ksql.formats.json_values import Convert, Reread, exact_loads, reader
from caudal.ksql.formats.values import Misfit, double_text, timestamp_of
from caudal.ksql.schema import Column
from caudal.ksql.types import Base, SqlType


def value_to_json(type: SqlType) -> Convert:
    """What makes JSON for `orjson.dumps` of a value of this type.

    >>> value_to_json(types.TIMESTAMP)(datetime(2026, 1, 31, 10, 30, tzinfo=UTC))
    '2026-01-31T10:30:00.000'
    >>> orjson.dumps(value_to_json(types.decimal(4, 2))(Decimal("1.50")))
    b'1.50'
    """
    convert = _writer(type)
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def row_to_json(given: Iterable[SqlType]) -> Callable[[Sequence[Any]], list[Any]]:
    """A tuple of values as a list for `orjson.dumps`."""
    writers = [_writer(type) for type in given]

    def write(row: Sequence[Any]) -> list[Any]:
        return [
            value if value is None or convert is None else convert(value)
            for convert, value in zip(writers, row, strict=True)
        ]

    return write


def value_from_json(type: SqlType) -> Convert:
    """What makes a SQL value of JSON that orjson or `loads` read; Misfit where it does not fit. Dates and times may be
    ISO 8601 text, or the numbers that topics have."""
    convert = _reader(type)
    return lambda value: None if value is None else convert(value)


def row_from_json(columns: Sequence[Column], given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """An object of /inserts-stream as SQL values by column, and the names that are no columns. Names are taken as SQL
    takes them: exactly, or in upper case."""
    known = {column.name: column for column in columns}
    values: dict[str, Any] = {}
    unknown = []
    for name, value in given.items():
        found = known.get(name) or known.get(name.upper()) or known.get(name.strip("`"))
        if found is None:
            unknown.append(name)
            continue
        try:
            values[found.name] = value_from_json(found.type)(value)
        except Misfit as error:
            raise Misfit(error.cause, f".{found.name}{error.path}") from None
    return values, unknown


def loads(data: bytes | str) -> Any:
    """JSON with every fraction exact: what DECIMAL columns need."""
    return exact_loads(data if isinstance(data, bytes) else data.encode())


# -- writing -----------------------------------------------------------------------------------------------------------


def _timestamp(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}"


def _time(value: time) -> str:
    """As Java's LocalTime: no more than it has to say."""
    if value.microsecond:
        return value.strftime("%H:%M:%S.") + f"{value.microsecond // 1000:03d}"
    return value.strftime("%H:%M:%S" if value.second else "%H:%M")


def _double(value: float) -> Any:
    return value if -float("inf") < value < float("inf") else double_text(value)


_WRITERS: dict[Base, Convert] = {
    Base.DOUBLE: _double,
    Base.DECIMAL: lambda value: orjson.Fragment(f"{value:f}"),
    Base.BYTES: lambda value: b64encode(value).decode(),
    Base.DATE: date.isoformat,
    Base.TIME: _time,
    Base.TIMESTAMP: _timestamp,
}


def _writer(type: SqlType) -> Convert | None:
    if isinstance(type, types.Array):
        inner = _writer(type.element)
        return None if inner is None else lambda value: [None if item is None else inner(item) for item in value]
    if isinstance(type, types.Map):
        of_value = _writer(type.value)
        of_key = _key_text(type.key)
        if of_value is None and of_key is None:
            return None
        return lambda value: {
            (key if of_key is None else of_key(key)): (item if item is None or of_value is None else of_value(item))
            for key, item in value.items()
        }
    if isinstance(type, types.Struct):
        fields = [(field.name, _writer(field.type)) for field in type.fields]
        if all(convert is None for _, convert in fields):
            return None
        return lambda value: {
            name: item if (item := value[name]) is None or convert is None else convert(item)
            for name, convert in fields
        }
    return _WRITERS.get(type.base)


def _key_text(type: SqlType) -> Convert | None:
    """JSON has text as keys only."""
    if type.base is Base.STRING:
        return None
    convert = _WRITERS.get(type.base)

    def text(key: Any) -> str:
        if type.base is Base.DECIMAL:
            return f"{key:f}"
        if key is None:
            return "null"
        made = key if convert is None else convert(key)
        return str(made).lower() if isinstance(made, bool) else str(made)

    return text


# -- reading -----------------------------------------------------------------------------------------------------------


def _reader(type: SqlType) -> Convert:
    if isinstance(type, types.Array):
        element = value_from_json(type.element)
        return lambda value: _each(value, element, type)
    if isinstance(type, types.Struct):
        return _struct(type)
    if isinstance(type, types.Map):
        return _map(type)
    plain = reader(type)
    iso = _ISO.get(type.base)

    def read(value: Any) -> Any:
        if iso is not None and value.__class__ is str:
            try:
                return iso(value)
            except ValueError:
                raise Misfit(f"Can't coerce string to type. targetType: {type}") from None
        try:
            return plain(value)
        except Reread:
            # Read by orjson: its shortest text is the best there is.
            return plain(Decimal(repr(value)) if value.__class__ is float else _exact(value))

    return read


def _exact(value: Any) -> Any:
    return exact_loads(orjson.dumps(value))


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return timestamp_of((aware - datetime(1970, 1, 1, tzinfo=UTC)) // _MS)


_MS = timestamp_of(1) - timestamp_of(0)
_ISO: dict[Base, Callable[[str], Any]] = {
    Base.DATE: date.fromisoformat,
    Base.TIME: time.fromisoformat,
    Base.TIMESTAMP: _moment,
}


def _wrong(value: Any, type: SqlType) -> Misfit:
    return Misfit(f"Can't convert type. sourceType: {value.__class__.__name__}, requiredType: {type}")


def _each(value: Any, element: Convert, type: SqlType) -> list[Any]:
    if value.__class__ is not list:
        raise _wrong(value, type)
    made = []
    for place, item in enumerate(value):
        try:
            made.append(element(item))
        except Misfit as error:
            raise Misfit(error.cause, f"[{place}]{error.path}") from None
    return made


def _map(type: types.Map) -> Convert:
    of_key, of_value = value_from_json(type.key), value_from_json(type.value)

    def read(value: Any) -> Any:
        if value.__class__ is not dict:
            raise _wrong(value, type)
        made = {}
        for key, item in value.items():
            try:
                made[of_key(key)] = of_value(item)
            except Misfit as error:
                raise Misfit(error.cause, f".{key}{error.path}") from None
        return made

    return read


def _struct(type: types.Struct) -> Convert:
    readers = {field.name: value_from_json(field.type) for field in type.fields}

    def read(value: Any) -> Any:
        if value.__class__ is not dict:
            raise _wrong(value, type)
        made = dict.fromkeys(readers)
        for name, item in value.items():
            found = name if name in readers else name.upper()
            if found not in readers:
                raise Misfit(f"{type} has no field '{name}'")
            try:
                made[found] = readers[found](item)
            except Misfit as error:
                raise Misfit(error.cause, f".{found}{error.path}") from None
        return made

    return read
