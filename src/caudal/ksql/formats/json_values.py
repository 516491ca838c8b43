"""JSON values as SQL values and back, with ksqlDB's coercions: numbers in text, anything as STRING, fields by name in
any case where the column's name is plain upper case.

Numbers arrive as orjson reads them: a float has lost what the text said beyond 17 digits. Where that matters (DECIMAL,
a number for a STRING column) `Reread` is raised, and the document is read again with every fraction as a Decimal.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from operator import itemgetter
from typing import Any

import orjson

from caudal.ksql import types
from caudal.ksql.formats.values import (
    Misfit,
    bytes_of,
    date_of,
    days_of,
    decimal_of,
    double_of,
    double_text,
    fitted,
    in_range,
    integer_of,
    ms_of_time,
    ms_of_timestamp,
    time_of,
    timestamp_of,
)
from caudal.ksql.types import Base, SqlType

Convert = Callable[[Any], Any]
_EXACT_DIGITS = 15  # a double tells numbers with so many digits apart
_SHAPES = 256  # how many sets of field names are remembered


class Reread(Exception):
    """The document has to be read with exact fractions."""


class _Nothing:
    """The key of what is missing: no text equals it."""


_NOTHING = _Nothing()


def exact_loads(data: bytes) -> Any:
    """JSON with fractions as Decimals; ValueError."""
    return json.loads(data, parse_float=Decimal, parse_constant=_no_constant)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


# -- reading -----------------------------------------------------------------------------------------------------------


def reader(type: SqlType) -> Convert:
    """What makes the SQL value of a JSON value that is not null; Misfit where it cannot."""
    if isinstance(type, types.Decimal):
        return lambda value: _decimal(value, type)
    if isinstance(type, types.Array):
        return _array(type)
    if isinstance(type, types.Map):
        return _map(type)
    if isinstance(type, types.Struct):
        return _struct(type)
    return _READERS[type.base](type)


def reader_at(path: str, type: SqlType) -> Convert:
    """The same for a value that may be null, with the place it has in what is around it."""
    return placed(path, reader(type))


def placed(path: str, convert: Convert) -> Convert:
    """`convert` for values that may be None; what does not fit is told with its place."""

    def read(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except Misfit as error:
            error.path = path + error.path
            raise

    return read


class Fields:
    """What takes these fields of an object, as a tuple; a missing one is None. `itemgetter`s are made once for each set
    of names that objects come with: the search without regard to case is done for the first of its kind only."""

    __slots__ = ("names", "shapes")

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.shapes: dict[tuple[str, ...], Convert] = {}

    def __call__(self, document: dict[str, Any]) -> Any:
        get = self.shapes.get(tuple(document))
        return (self.learnt(document) if get is None else get)(document)

    def learnt(self, document: dict[str, Any]) -> Convert:
        if len(self.shapes) >= _SHAPES:
            self.shapes.clear()
        shape = tuple(document)
        get = self.shapes[shape] = _getter(self.names, shape)
        return get


def _getter(names: list[str], shape: tuple[str, ...]) -> Convert:
    upper = {name.upper(): name for name in shape}
    exact = set(shape)
    found: list[Any] = [name if name in exact else upper.get(name, _NOTHING) for name in names]
    if len(found) == 0:
        return lambda document: ()
    if len(found) == 1:
        only = found[0]
        return lambda document: (document.get(only),)
    get = itemgetter(*found)
    if _NOTHING not in found:
        return get

    def sparse(document: dict[Any, Any]) -> Any:
        document[_NOTHING] = None
        return get(document)

    return sparse


def _wrong(value: Any, type: SqlType) -> Misfit:
    kinds = {bool: "boolean", str: "string", list: "array", dict: "object"}
    return Misfit(f"Can't convert type. sourceType: {kinds.get(value.__class__, 'number')}, requiredType: {type}")


def _boolean(type: SqlType) -> Convert:
    def read(value: Any) -> Any:
        if value.__class__ is bool:
            return value
        raise _wrong(value, type)

    return read


def _whole(type: SqlType) -> Convert:
    def read(value: Any) -> Any:
        kind = value.__class__
        if kind is int:
            return in_range(value, type)
        if kind is str:
            return integer_of(value, type)
        if kind is float:
            return in_range(int(value), type)
        if kind is Decimal:
            return in_range(int(value), type) if value.adjusted() < 25 else in_range(10**25, type)
        raise _wrong(value, type)

    return read


def _double(type: SqlType) -> Convert:
    def read(value: Any) -> Any:
        kind = value.__class__
        if kind is float:
            return value
        if kind is int or kind is Decimal:
            try:
                return float(value)
            except OverflowError:
                raise Misfit(f"{str(value)[:40]} is out of the range of DOUBLE") from None
        if kind is str:
            return double_of(value)
        raise _wrong(value, type)

    return read


def text_of(value: Any) -> str:
    """Any JSON value as STRING: objects as JSON, arrays as Java shows lists."""
    kind = value.__class__
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        raise Reread
    if kind is dict:
        if _has_float(value):
            raise Reread
        return orjson.dumps(value, default=_fraction).decode()
    if kind is list:
        return f"[{', '.join('null' if item is None else text_of(item) for item in value)}]"
    return str(value)


def _has_float(value: Any) -> bool:
    if value.__class__ is dict:
        return any(map(_has_float, value.values()))
    return any(map(_has_float, value)) if value.__class__ is list else value.__class__ is float


def _fraction(value: Any) -> Any:
    if value.__class__ is Decimal:
        return orjson.Fragment(str(value))
    raise TypeError(value)


def _decimal(value: Any, type: types.Decimal) -> Decimal:
    kind = value.__class__
    if kind is int:
        return fitted(Decimal(value), type)
    if kind is Decimal:
        return fitted(value, type)
    if kind is float:
        text = repr(value)
        if len(text) > _EXACT_DIGITS and len(Decimal(text).as_tuple().digits) > _EXACT_DIGITS:
            raise Reread
        return fitted(Decimal(text), type)
    if kind is str:
        return decimal_of(value, type)
    raise _wrong(value, type)


def _bytes(type: SqlType) -> Convert:
    def read(value: Any) -> Any:
        if value.__class__ is str:
            return bytes_of(value)
        raise _wrong(value, type)

    return read


def _moment(make: Callable[[int], Any]) -> Callable[[SqlType], Convert]:
    """Dates and times are numbers, or text with a number."""

    def of(type: SqlType) -> Convert:
        def read(value: Any) -> Any:
            kind = value.__class__
            if kind is int:
                return make(value)
            if kind is str:
                return make(integer_of(value, type))
            if kind is float or kind is Decimal:
                return make(int(value) if abs(value) < 1e20 else 10**25)
            raise _wrong(value, type)

        return read

    return of


_READERS: dict[Base, Callable[[SqlType], Convert]] = {
    Base.BOOLEAN: _boolean,
    Base.INTEGER: _whole,
    Base.BIGINT: _whole,
    Base.DOUBLE: _double,
    Base.STRING: lambda type: text_of,
    Base.BYTES: _bytes,
    Base.DATE: _moment(date_of),
    Base.TIME: _moment(time_of),
    Base.TIMESTAMP: _moment(timestamp_of),
}


def _array(type: types.Array) -> Convert:
    element = reader(type.element)

    def read(value: Any) -> Any:
        if value.__class__ is not list:
            raise _wrong(value, type)
        try:
            return [None if item is None else element(item) for item in value]
        except Misfit:
            for place, item in enumerate(value):  # only now the place matters
                reader_at(f"[{place}]", type.element)(item)
            raise

    return read


def _map(type: types.Map) -> Convert:
    convert = reader(type.value)

    def read(value: Any) -> Any:
        if value.__class__ is not dict:
            raise _wrong(value, type)
        try:
            return {key: None if item is None else convert(item) for key, item in value.items()}
        except Misfit:
            for key, item in value.items():
                reader_at(f".{key}.value", type.value)(item)
            raise

    return read


def _struct(type: types.Struct) -> Convert:
    names = [field.name for field in type.fields]
    fields = Fields(names)
    readers = [reader_at(f".{field.name}", field.type) for field in type.fields]

    def read(value: Any) -> Any:
        if value.__class__ is not dict:
            raise _wrong(value, type)
        return {
            name: None if item is None else convert(item)
            for name, convert, item in zip(names, readers, fields(value), strict=True)
        }

    return read


# -- writing -----------------------------------------------------------------------------------------------------------


def writer(type: SqlType) -> Convert | None:
    """What makes JSON for orjson of a SQL value that is not null. None: the value is that already."""
    if isinstance(type, types.Array):
        inner = writer(type.element)
        return inner and _each(inner)
    if isinstance(type, types.Map):
        inner = writer(type.value)
        return inner and _each_value(inner)
    if isinstance(type, types.Struct):
        return _struct_writer(type)
    return _WRITERS.get(type.base)


def number(value: float) -> Any:
    """A DOUBLE: orjson would write null for what is not finite."""
    return value if isfinite(value) else double_text(value)


_WRITERS: dict[Base, Convert] = {
    Base.DOUBLE: number,
    Base.DECIMAL: lambda value: orjson.Fragment(f"{value:f}"),
    Base.BYTES: lambda value: b64encode(value).decode(),
    Base.DATE: days_of,
    Base.TIME: ms_of_time,
    Base.TIMESTAMP: ms_of_timestamp,
}


def _each(inner: Convert) -> Convert:
    return lambda value: [None if item is None else inner(item) for item in value]


def _each_value(inner: Convert) -> Convert:
    return lambda value: {key: None if item is None else inner(item) for key, item in value.items()}


def _struct_writer(type: types.Struct) -> Convert | None:
    inner = [(field.name, writer(field.type)) for field in type.fields]
    if all(convert is None for _, convert in inner):
        return None

    def write(value: Any) -> Any:
        made = {}
        for name, convert in inner:
            item = value[name]
            made[name] = item if item is None or convert is None else convert(item)
        return made

    return write
