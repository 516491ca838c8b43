"""The types of SQL, as data, and what stands for their values in Python.

| SQL | Python |
| --- | --- |
| BOOLEAN, INTEGER, BIGINT, DOUBLE | bool, int (32 bits), int (64 bits), float |
| DECIMAL(p, s) | decimal.Decimal with exactly s digits after the point |
| STRING (VARCHAR), BYTES | str, bytes |
| DATE, TIME, TIMESTAMP | date; time without zone, milliseconds; datetime in UTC (aware), milliseconds |
| ARRAY<T>, MAP<K, V> | list, dict |
| STRUCT<...> | dict with every field, in the type's order |

NULL is None everywhere. A NULL literal has type None until something around it says which.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Base(Enum):
    BOOLEAN = "BOOLEAN"
    INTEGER = "INTEGER"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    STRING = "STRING"
    BYTES = "BYTES"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    ARRAY = "ARRAY"
    MAP = "MAP"
    STRUCT = "STRUCT"


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type without parameters, and the base of those that have some."""

    base: Base

    def __str__(self) -> str:
        """As ksqlDB prints it in messages and DESCRIBE; quoted field names keep their quotes."""
        return self.base.value


@dataclass(frozen=True, slots=True)
class Decimal(SqlType):
    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Array(SqlType):
    element: SqlType

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map(SqlType):
    key: SqlType
    value: SqlType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Field:
    name: str  # as it is: upper case unless it was quoted
    type: SqlType

    def __str__(self) -> str:
        return f"{quoted(self.name)} {self.type}"


@dataclass(frozen=True, slots=True)
class Struct(SqlType):
    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(str(field) for field in self.fields)}>"

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)


BOOLEAN = SqlType(Base.BOOLEAN)
INTEGER = SqlType(Base.INTEGER)
BIGINT = SqlType(Base.BIGINT)
DOUBLE = SqlType(Base.DOUBLE)
STRING = SqlType(Base.STRING)
BYTES = SqlType(Base.BYTES)
DATE = SqlType(Base.DATE)
TIME = SqlType(Base.TIME)
TIMESTAMP = SqlType(Base.TIMESTAMP)

# What a type may be called in a statement; DECIMAL, ARRAY, MAP, STRUCT and custom types are the parser's.
SIMPLE_TYPES = {
    "BOOLEAN": BOOLEAN,
    "INT": INTEGER,
    "INTEGER": INTEGER,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "VARCHAR": STRING,
    "STRING": STRING,
    "BYTES": BYTES,
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": TIMESTAMP,
}


def decimal(precision: int, scale: int) -> Decimal:
    return Decimal(Base.DECIMAL, precision, scale)


def array(element: SqlType) -> Array:
    return Array(Base.ARRAY, element)


def mapping(key: SqlType, value: SqlType) -> Map:
    return Map(Base.MAP, key, value)


def struct(*fields: tuple[str, SqlType] | Field) -> Struct:
    """
    >>> str(struct(("A", INTEGER), ("b", array(STRING))))
    'STRUCT<A INTEGER, `b` ARRAY<STRING>>'
    """
    return Struct(Base.STRUCT, tuple(one if isinstance(one, Field) else Field(*one) for one in fields))


def quoted(name: str) -> str:
    """A name as it must be written: in back-quotes where it is not plain upper case.

    >>> quoted("ID"), quoted("id"), quoted("A`B")
    ('ID', '`id`', '`A``B`')
    """
    plain = name.isascii() and name == name.upper() and name.isidentifier()
    return name if plain else "`" + name.replace("`", "``") + "`"
