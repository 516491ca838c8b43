"""Columns of a table or query, as schema and as a function from the driver's value.

PostgreSQL's driver gives values that are right as they come, but for the time zone. SQLite keeps what it was given,
whatever the column's type says, and other drivers differ: there every value is checked, and one that does not fit its
column raises DataError.
"""

from __future__ import annotations

import datetime
import json
import re
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

from sqlalchemy import types
from sqlalchemy.dialects import postgresql

from caudal.connect import data
from caudal.connect.connectors.sql.database import Unreadable
from caudal.connect.data import Kind, Schema
from caudal.connect.errors import DataError

Reader = Callable[[Any], Any]
UTC = datetime.UTC
FREE_SCALE = 18  # of a NUMERIC that says nothing: what needs more digits behind the point is refused, never rounded
_EXACT = Context(prec=1000, traps=[Inexact, InvalidOperation])


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    schema: Schema
    read: Reader | None  # None: right as it comes
    type: types.TypeEngine[Any] | None = None

    @property
    def is_nullable(self) -> bool:
        return self.schema.optional


@dataclass(frozen=True, slots=True)
class Mapping:
    """How a database's types become schemas."""

    is_postgres: bool
    is_sqlite: bool
    numeric: str  # numeric.mapping
    zone: datetime.tzinfo

    def column(
        self, name: str, type: types.TypeEngine[Any], nullable: bool, default: str | None = None, doc: str | None = None
    ) -> Column:
        schema, read = self.schema(type)
        if doc:
            schema = replace(schema, doc=doc)
        if nullable:
            schema = schema.as_optional()
        elif default is not None:
            # Of columns that may be null it is left out: converters put a default in the place of null.
            found, value = literal_default(default, schema)
            if found:
                schema = replace(schema, default=value, has_default=True)
        return Column(name, schema, read, type)

    def schema(self, type: types.TypeEngine[Any]) -> tuple[Schema, Reader | None]:
        checked = not self.is_postgres
        match type:
            case postgresql.DOMAIN():
                return self.schema(type.data_type)
            case types.ARRAY():
                element, read = self.schema(type.item_type)
                return data.array(element.as_optional()), _list_of(read)
            case types.Boolean():
                return data.BOOLEAN, _boolean if checked else None
            case types.Integer():
                schema = data.INT32
                if self.is_sqlite or isinstance(type, (types.BigInteger, postgresql.OID)):
                    schema = data.INT64
                elif isinstance(type, types.SmallInteger):
                    schema = data.INT16
                return schema, _integer if checked else None
            case types.Float():
                # SQLAlchemy's Float is a Numeric too: it has to be asked for first.
                single = isinstance(type, types.REAL) and not self.is_sqlite
                return (data.FLOAT32 if single else data.FLOAT64), _float if checked else None
            case types.Numeric():
                return self._numeric(type.precision, type.scale, checked)
            case types.DateTime():
                aware = bool(type.timezone) and self.is_postgres
                return data.TIMESTAMP_SCHEMA, self.instant_reader(aware)
            case types.Date():
                return data.DATE_SCHEMA, _date if checked else None
            case types.Time():
                if self.is_postgres and type.timezone:
                    return data.STRING, None
                return data.TIME_SCHEMA, _time if checked else None
            case types.LargeBinary():
                return data.BYTES, _bytes if checked else None
            case types.NullType() if self.is_sqlite:
                return data.STRING, _loose_text
        return data.STRING, _text if checked else None

    def instant_reader(self, aware: bool) -> Reader | None:
        if self.is_postgres and aware:
            return None
        zone = self.zone
        if self.is_postgres and zone is UTC:
            return _as_utc

        def in_zone(value: Any) -> datetime.datetime:
            instant = _datetime(value)
            return (instant if instant.tzinfo is not None else instant.replace(tzinfo=zone)).astimezone(UTC)

        return in_zone

    def _numeric(self, precision: int | None, scale: int | None, checked: bool) -> tuple[Schema, Reader | None]:
        if precision is not None and scale is None:
            scale = 0
        if precision is not None and scale is not None:
            whole = scale <= 0
            if self.numeric != "none" and whole and precision < 19:
                sizes = ((3, data.INT8), (5, data.INT16), (10, data.INT32), (19, data.INT64))
                return next(schema for limit, schema in sizes if precision < limit), _integer
            if not whole and (
                self.numeric == "best_fit_eager_double" or (self.numeric == "best_fit" and precision < 19)
            ):
                return data.FLOAT64, _float
            schema = data.decimal(scale, precision)
            return schema, _decimal(scale) if checked or scale < 0 else None
        return data.decimal(FREE_SCALE), _decimal(FREE_SCALE)


def zone_of(name: str) -> datetime.tzinfo:
    """Raises ValueError for a name that is none."""
    if name.upper() in ("UTC", "Z", "GMT", "ETC/UTC"):
        return UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name} is no time zone: use a name such as Europe/Berlin") from None


_LITERAL = re.compile(r"\(*(?:'((?:[^']|'')*)'|([-+]?[\d.]+(?:e[-+]?\d+)?))\)*(?:::[\w \"().\[\],]+)?")


def literal_default(sql: str, schema: Schema) -> tuple[bool, Any]:
    """The value of a DEFAULT that is a literal of the column's type; anything computed is none.

    >>> literal_default("'new'::character varying", data.STRING)
    (True, 'new')
    >>> literal_default("nextval('orders_id_seq'::regclass)", data.INT64)
    (False, None)
    """
    sql = sql.strip()
    if schema.kind is Kind.BOOLEAN:
        word = sql.lower().strip("()'")
        return word in ("true", "false", "0", "1"), word in ("true", "1")
    match = _LITERAL.fullmatch(sql)
    if match is None:
        return False, None
    text = match[2] if match[1] is None else match[1].replace("''", "'")
    try:
        if schema.name == data.DECIMAL:
            return True, _EXACT.quantize(Decimal(text), Decimal(1).scaleb(-int(schema.parameters["scale"])))
        if schema.name is not None:
            return False, None
        match schema.kind:
            case Kind.STRING:
                return True, text
            case Kind.INT8 | Kind.INT16 | Kind.INT32 | Kind.INT64:
                return True, int(text)
            case Kind.FLOAT32 | Kind.FLOAT64:
                return True, float(text)
    except (ValueError, InvalidOperation, Inexact):
        pass
    return False, None


def schema_of_value(value: Any) -> tuple[Schema, Reader | None]:
    """For columns of a query of which the driver tells no more than their names."""
    match value:
        case bool():
            return data.BOOLEAN, _boolean
        case int():
            return data.INT64, _integer
        case float():
            return data.FLOAT64, _float
        case Decimal():
            return data.decimal(FREE_SCALE), _decimal(FREE_SCALE)
        case bytes() | bytearray() | memoryview():
            return data.BYTES, _bytes
        case datetime.datetime():
            return data.TIMESTAMP_SCHEMA, _as_utc
        case datetime.date():
            return data.DATE_SCHEMA, _date
        case datetime.time():
            return data.TIME_SCHEMA, _time
    return data.STRING, _loose_text


def refused(value: Any, expected: str) -> DataError:
    shown = repr(value)
    return DataError(f"{shown if len(shown) <= 80 else shown[:77] + '...'} is not {expected}.")


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, (int, float, Decimal)) and value == value and value == int(value):
        return int(value)
    raise refused(value, "a whole number")


def _float(value: Any) -> float:
    if isinstance(value, (float, int, Decimal)):
        return float(value)
    raise refused(value, "a number")


def _boolean(value: Any) -> bool:
    if value in (0, 1) and not isinstance(value, str):
        return bool(value)
    raise refused(value, "a boolean")


def _decimal(scale: int) -> Reader:
    unit = Decimal(1).scaleb(-scale)

    def read(value: Any) -> Decimal:
        try:
            return _EXACT.quantize(value if isinstance(value, Decimal) else Decimal(str(value)), unit)
        except (InvalidOperation, Inexact):
            raise refused(value, f"a decimal number with at most {scale} digits behind the point") from None

    return read


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    if isinstance(value, (bytes, bytearray, Unreadable)):
        raise refused(value, "a text")
    return str(value)


def _loose_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    raise refused(value, "bytes")


def _datetime(value: Any) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    try:
        if isinstance(value, str):
            return datetime.datetime.fromisoformat(value)
        if isinstance(value, int):  # milliseconds, as the JDBC driver of SQLite writes them
            return datetime.datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise refused(value, "a timestamp")


def _as_utc(value: Any) -> datetime.datetime:
    if type(value) is datetime.datetime:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    raise refused(value, "a timestamp")


def _date(value: Any) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    try:
        if isinstance(value, str):
            return datetime.date.fromisoformat(value[:10])
        if isinstance(value, int):
            return datetime.datetime.fromtimestamp(value / 1000, UTC).date()
    except (ValueError, OverflowError, OSError):
        pass
    raise refused(value, "a date")


def _time(value: Any) -> datetime.time:
    if isinstance(value, datetime.time):
        return value
    if isinstance(value, datetime.timedelta):  # MySQL
        return (datetime.datetime.min + value).time()
    try:
        if isinstance(value, str):
            return datetime.time.fromisoformat(value)
    except ValueError:
        pass
    raise refused(value, "a time of day")


def _list_of(read: Reader | None) -> Reader | None:
    if read is None:
        return None

    def reader(value: Any) -> list[Any]:
        return [None if each is None else read(each) for each in value]

    return reader
