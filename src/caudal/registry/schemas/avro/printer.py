"""From types to the text that Avro's Java library prints, which is what Confluent's registry stores and compares.

The order of attributes is fixed, white space goes, a name has its namespace in an attribute of its own and is written
in full only where the namespace around it differs. Types of references are written as names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from caudal.registry.schemas.avro.types import MISSING, Array, Enum, Fixed, Map, Named, Record, RecordField, Type, Union
from caudal.registry.schemas.json_text import dump, with_sorted_keys

# Printed before the other properties of a normalised logical type.
_LOGICAL: Final = ("logicalType", "precision", "scale")


def printed(avro_type: Type, known: Iterable[str] = (), *, normal: bool = False) -> str:
    """`known`: full names that need no definition. `normal`: the order of properties and aliases does not show."""
    return dump(_Printer(set(known), normal).value(avro_type, None))


class _Printer:
    __slots__ = ("_known", "_normal")

    def __init__(self, known: set[str], normal: bool) -> None:
        self._known = known
        self._normal = normal

    def value(self, avro_type: Type, space: str | None) -> Any:
        match avro_type:
            case Named():
                return self._named(avro_type, space)
            case Union(branches=branches):
                return [self.value(branch, space) for branch in branches]
            case Array(items=items):
                return {"type": "array", "items": self.value(items, space), **self._props(avro_type.props)}
            case Map(values=values):
                return {"type": "map", "values": self.value(values, space), **self._props(avro_type.props)}
            case _:
                if not avro_type.props:
                    return avro_type.kind
                return {"type": avro_type.kind, **self._props(avro_type.props, logical=True)}

    def _named(self, named: Named, space: str | None) -> Any:
        if named.full_name in self._known:
            return named.name if named.namespace in (None, space) else named.full_name
        self._known.add(named.full_name)
        result: dict[str, Any] = {"type": named.kind, "name": named.name}
        if named.namespace != space:
            result["namespace"] = named.namespace or ""
        if named.doc is not None and (named.doc or not self._normal):
            result["doc"] = named.doc
        match named:
            case Record():
                result["fields"] = [self._field(field, named.namespace) for field in named.fields]
            case Enum():
                result["symbols"] = list(named.symbols)
                if named.default is not None:
                    result["default"] = named.default
            case Fixed():
                result["size"] = named.size
        result.update(self._props(named.props, logical=isinstance(named, Fixed)))
        if named.aliases:
            result["aliases"] = [_relative(alias, named.namespace) for alias in self._ordered(named.aliases)]
        return result

    def _field(self, field: RecordField, space: str | None) -> dict[str, Any]:
        result: dict[str, Any] = {"name": field.name, "type": self.value(field.type, space)}
        if field.doc is not None:
            result["doc"] = field.doc
        if field.default is not MISSING:
            result["default"] = field.default
        if field.order != "ascending":
            result["order"] = field.order
        if field.aliases:
            result["aliases"] = list(self._ordered(field.aliases))
        result.update(self._props(field.props))
        return result

    def _ordered(self, names: tuple[str, ...]) -> Iterable[str]:
        return sorted(names) if self._normal else names

    def _props(self, props: Mapping[str, Any], *, logical: bool = False) -> dict[str, Any]:
        if not self._normal:
            return dict(props)
        first = [key for key in _LOGICAL if key in props] if logical and "logicalType" in props else []
        rest = sorted(key for key in props if key not in first)
        return {key: with_sorted_keys(props[key]) for key in (*first, *rest)}


def _relative(full_name: str, space: str | None) -> str:
    prefix, _, name = full_name.rpartition(".")
    return name if prefix == (space or "") else full_name
