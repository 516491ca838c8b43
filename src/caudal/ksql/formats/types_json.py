"""Types and columns as JSON data: what plans, the catalog's commands and serdes' descriptions carry. Lists, so that a
description can hold one as a plain setting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from caudal.ksql import types
from caudal.ksql.schema import Column, Place
from caudal.ksql.types import Base, Field, SqlType


def type_to_json(type: SqlType) -> Any:
    """
    >>> type_to_json(types.mapping(types.STRING, types.array(types.decimal(4, 2))))
    ['MAP', 'STRING', ['ARRAY', ['DECIMAL', 4, 2]]]
    """
    if isinstance(type, types.Decimal):
        return ["DECIMAL", type.precision, type.scale]
    if isinstance(type, types.Array):
        return ["ARRAY", type_to_json(type.element)]
    if isinstance(type, types.Map):
        return ["MAP", type_to_json(type.key), type_to_json(type.value)]
    if isinstance(type, types.Struct):
        return ["STRUCT", [[field.name, type_to_json(field.type)] for field in type.fields]]
    return type.base.value


def type_from_json(data: Any) -> SqlType:
    """
    >>> str(type_from_json(["STRUCT", [["A", "INTEGER"]]]))
    'STRUCT<A INTEGER>'
    """
    if isinstance(data, str):
        return SqlType(Base(data))
    kind, *parameters = data
    if kind == "DECIMAL":
        return types.decimal(*parameters)
    if kind == "ARRAY":
        return types.array(type_from_json(parameters[0]))
    if kind == "MAP":
        return types.mapping(type_from_json(parameters[0]), type_from_json(parameters[1]))
    if kind == "STRUCT":
        return types.struct(*(Field(name, type_from_json(type)) for name, type in parameters[0]))
    raise ValueError(f"There is no type '{kind}'.")


def columns_to_json(columns: Iterable[Column]) -> list[list[Any]]:
    """
    >>> columns_to_json([Column("ID", types.BIGINT, Place.KEY)])
    [['ID', 'BIGINT', 'KEY', None]]
    """
    return [[column.name, type_to_json(column.type), column.place.value, column.header] for column in columns]


def columns_from_json(data: Sequence[Sequence[Any]]) -> tuple[Column, ...]:
    return tuple(Column(name, type_from_json(type), Place(place), header) for name, type, place, header in data)
