"""Where the fields of a value are, whatever the schema's language: what rules that work field by field walk along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Field:
    """A field as rules see it."""

    name: str
    full_name: str  # shop.Customer.email
    tags: frozenset[str] = frozenset()


@dataclass(slots=True)
class Shape:
    """One kind of value; `type_name` as rules call it: STRING, LONG, RECORD, …"""

    type_name: str

    def fits(self, value: Any) -> bool:
        return isinstance(value, _PYTHON.get(self.type_name, object))


@dataclass(slots=True)
class Record(Shape):
    name: str = ""
    fields: dict[str, tuple[Field, Shape]] = field(default_factory=dict, repr=False)  # filled later: types may recur

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict) and value.keys() <= self.fields.keys()


@dataclass(slots=True)
class ListOf(Shape):
    element: Shape

    def fits(self, value: Any) -> bool:
        return isinstance(value, (list, tuple))


@dataclass(slots=True)
class MapOf(Shape):
    value: Shape

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict)


@dataclass(slots=True)
class AnyOf(Shape):
    """A union: the first one that fits."""

    shapes: list[Shape] = field(default_factory=list, repr=False)

    def fits(self, value: Any) -> bool:
        return any(shape.fits(value) for shape in self.shapes)


_NUMBER = (int, float)
_PYTHON: dict[str, Any] = {
    "STRING": str,
    "BYTES": bytes,
    "FIXED": bytes,
    "ENUM": (str, int),
    "INT": int,
    "LONG": int,
    "FLOAT": _NUMBER,
    "DOUBLE": _NUMBER,
    "BOOLEAN": bool,
    "NULL": type(None),
}

Visit = Callable[[Field, str, Any, Any], Any]  # field, type name, value, the record it is in → the new value


def walked(shape: Shape, value: Any, visit: Visit) -> Any:
    """The value with every simple field replaced by what `visit` gives; the given one stays as it is. None is not
    visited: it has nothing to change."""
    return _walk(shape, value, visit, None, None)


def _walk(shape: Shape, value: Any, visit: Visit, inside: Field | None, record: Any) -> Any:
    if value is None:
        return None
    if isinstance(shape, AnyOf):
        return _walk_union(shape, value, visit, inside, record)
    if isinstance(shape, Record):
        if not isinstance(value, dict):
            return value  # it does not fit, which the format says better
        made = dict(value)
        for name, (known, inner) in shape.fields.items():
            if name in value:
                made[name] = _walk(inner, value[name], visit, known, value)
        return made
    if isinstance(shape, ListOf):
        if not isinstance(value, (list, tuple)):
            return value
        return [_walk(shape.element, item, visit, inside, record) for item in value]
    if isinstance(shape, MapOf):
        if not isinstance(value, dict):
            return value
        return {key: _walk(shape.value, item, visit, inside, record) for key, item in value.items()}
    return value if inside is None else visit(inside, shape.type_name, value, record)


def _walk_union(shape: AnyOf, value: Any, visit: Visit, inside: Field | None, record: Any) -> Any:
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):  # (name, value), fastavro's hint
        for one in shape.shapes:
            if isinstance(one, Record) and one.name == value[0]:
                return value[0], _walk(one, value[1], visit, inside, record)
    for one in shape.shapes:
        if one.fits(value):
            return _walk(one, value, visit, inside, record)
    return value
