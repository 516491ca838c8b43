"""Avro's types as objects. A name stands for one object: recursion is a cycle between objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NO_PROPS: Final[Mapping[str, Any]] = MappingProxyType({})


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()  # null is a default like any other, so None cannot say "no default"


@dataclass(slots=True, eq=False)
class Type:
    kind: str
    props: Mapping[str, Any]  # what the specification does not name: logical types, tags, anybody's own


@dataclass(slots=True, eq=False)
class Array(Type):
    items: Type


@dataclass(slots=True, eq=False)
class Map(Type):
    values: Type


@dataclass(slots=True, eq=False)
class Union(Type):
    branches: tuple[Type, ...]


@dataclass(slots=True, eq=False)
class Named(Type):
    name: str
    namespace: str | None
    doc: str | None
    aliases: tuple[str, ...]  # full names

    @property
    def full_name(self) -> str:
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


@dataclass(slots=True, eq=False)
class Fixed(Named):
    size: int


@dataclass(slots=True, eq=False)
class Enum(Named):
    symbols: tuple[str, ...]
    default: str | None


@dataclass(slots=True, eq=False)
class RecordField:
    name: str
    type: Type
    doc: str | None
    default: Any  # JSON, or MISSING
    order: str
    aliases: tuple[str, ...]
    props: Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Record(Named):
    fields: tuple[RecordField, ...]


PLAIN: Final = {kind: Type(kind, NO_PROPS) for kind in PRIMITIVES}


def described(avro_type: Type) -> str:
    """In a word or two, for messages and search: `order.Address`, `array of string`, `null or long`."""
    match avro_type:
        case Named():
            return avro_type.full_name
        case Array(items=items):
            return f"array of {described(items)}"
        case Map(values=values):
            return f"map of {described(values)}"
        case Union(branches=branches):
            more = f" or {len(branches) - 8} more" if len(branches) > 8 else ""
            return (" or ".join(described(branch) for branch in branches[:8]) or "empty union") + more
        case _:
            logical = avro_type.props.get("logicalType")
            return f"{avro_type.kind} ({logical})" if isinstance(logical, str) else avro_type.kind
