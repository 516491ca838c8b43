"""From an Avro schema's JSON to types: every rule of the specification that a schema can break is checked here.

As lenient as Avro's Java parser where that is lenient on purpose: parts of a namespace and field aliases may be any
text, a logical type that does not fit its type is ignored. Stricter in one thing: the default of an enum or fixed must
fit.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from caudal.registry.schemas.avro.types import (
    MISSING,
    NO_PROPS,
    PLAIN,
    Array,
    Enum,
    Fixed,
    Map,
    Named,
    Record,
    RecordField,
    Type,
    Union,
    described,
)
from caudal.registry.schemas.json_text import MAX_DEPTH, pointer, shown
from caudal.registry.schemas.schema import InvalidSchema

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ORDERS: Final = ("ascending", "descending", "ignore")
_OF_SCHEMA: Final = frozenset(
    ("doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases")
)
_OF_ENUM: Final = _OF_SCHEMA | {"default"}
_OF_FIELD: Final = frozenset(("default", "doc", "name", "order", "type", "aliases"))
_INT: Final = range(-(2**31), 2**31)
_LONG: Final = range(-(2**63), 2**63)


class Reader:
    """Reads one schema; `names` holds what its references define and receives what it defines itself."""

    __slots__ = ("_defaults", "names")

    def __init__(self, names: Mapping[str, Named]) -> None:
        self.names: dict[str, Named] = dict(names)
        self._defaults: list[tuple[str, RecordField]] = []

    def read(self, value: Any) -> Type:
        result = self._type(value, None, "")
        # Only now: a default may be of a record whose fields come after it.
        for path, field in self._defaults:
            if (wrong := mismatch(field.type, field.default, 0)) is not None:
                raise InvalidSchema(f"The default of field '{field.name}' at {path} does not fit its type: {wrong}.")
        return result

    def _type(self, value: Any, space: str | None, path: str) -> Type:
        if isinstance(value, str):
            return self._by_name(value, space, path)
        if isinstance(value, list):
            return self._union(value, space, path)
        if not isinstance(value, dict):
            raise InvalidSchema(f"A type at {_at(path)} is {shown(value)}; it must be a name, an object or an array.")
        kind = value.get("type")
        if kind is None:
            raise InvalidSchema(f"The type at {_at(path)} has no attribute 'type'.")
        if not isinstance(kind, str):
            raise InvalidSchema(
                f"The attribute 'type' at {_at(path)} is {shown(kind)}; in a type it must be a name"
                " (write an inner type or a union in place of the object around it)."
            )
        if kind in PLAIN:
            props = _props(value, _OF_SCHEMA)
            return Type(kind, props) if props else PLAIN[kind]
        match kind:
            case "record" | "error":
                return self._record(value, kind, space, path)
            case "enum":
                return self._enum(value, space, path)
            case "fixed":
                return self._fixed(value, space, path)
            case "array":
                items = self._type(_required(value, "items", "array", path), space, f"{path}/items")
                return Array("array", _props(value, _OF_SCHEMA), items)
            case "map":
                values = self._type(_required(value, "values", "map", path), space, f"{path}/values")
                return Map("map", _props(value, _OF_SCHEMA), values)
            case _:
                return self._by_name(kind, space, path)

    def _by_name(self, name: str, space: str | None, path: str) -> Type:
        if name in PLAIN:
            return PLAIN[name]
        found = self.names.get(name) if "." in name or not space else self.names.get(f"{space}.{name}")
        found = found or self.names.get(name)
        if found is None:
            raise InvalidSchema(
                f"The type '{name}' at {_at(path)} is not known: it is neither a type of Avro"
                " nor defined before this place nor in a reference."
            )
        return found

    def _union(self, value: list[Any], space: str | None, path: str) -> Union:
        branches = []
        seen: set[str] = set()
        for index, item in enumerate(value):
            branch = self._type(item, space, f"{path}/{index}")
            if isinstance(branch, Union):
                raise InvalidSchema(f"The union at {_at(path)} holds a union (branch {index}); unions do not nest.")
            key = branch.full_name if isinstance(branch, Named) else branch.kind
            if key in seen:
                raise InvalidSchema(f"The union at {_at(path)} holds '{key}' twice.")
            seen.add(key)
            branches.append(branch)
        if all(branch is PLAIN.get(branch.kind) for branch in branches):
            return _plain_union(tuple(branches))
        return Union("union", NO_PROPS, tuple(branches))

    def _record(self, value: dict[str, Any], kind: str, space: str | None, path: str) -> Record:
        name, namespace = _name(value, kind, space, path)
        record = Record(kind, _props(value, _OF_SCHEMA), name, namespace, _doc(value), (), ())
        record.aliases = _aliases(value, namespace, path)
        self._define(record, path)
        fields = _required(value, "fields", f"{kind} '{record.full_name}'", path)
        if not isinstance(fields, list):
            raise InvalidSchema(f"The fields of {kind} '{record.full_name}' at {_at(path)} are not an array.")
        found: dict[str, RecordField] = {}
        for index, item in enumerate(fields):
            field = self._field(item, record, f"{path}/fields/{index}")
            if field.name in found:
                raise InvalidSchema(f"The {kind} '{record.full_name}' at {_at(path)} has two fields '{field.name}'.")
            found[field.name] = field
        record.fields = tuple(found.values())
        return record

    def _field(self, value: Any, record: Record, path: str) -> RecordField:
        if not isinstance(value, dict):
            raise InvalidSchema(f"The field at {path} is {shown(value)}; it must be an object.")
        name = value.get("name")
        if not isinstance(name, str):
            raise InvalidSchema(f"The field at {path} of '{record.full_name}' has no name.")
        if not _NAME.fullmatch(name):
            raise InvalidSchema(f"The field at {path} is called {shown(name)}, which is no name in Avro.")
        if "type" not in value:
            raise InvalidSchema(f"The field '{name}' at {path} has no type.")
        order = value.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise InvalidSchema(
                f"The order of field '{name}' at {path} is {shown(order)}; allowed: {', '.join(_ORDERS)}."
            )
        aliases = value.get("aliases", [])
        if not _texts(aliases):
            raise InvalidSchema(f"The aliases of field '{name}' at {path} are not an array of strings.")
        field = RecordField(
            sys.intern(name),
            self._type(value["type"], record.namespace, f"{path}/type"),
            _doc(value),
            value.get("default", MISSING),
            order.lower(),
            tuple(dict.fromkeys(aliases)),
            _props(value, _OF_FIELD),
        )
        if field.default is not MISSING:
            self._defaults.append((path, field))
        return field

    def _enum(self, value: dict[str, Any], space: str | None, path: str) -> Enum:
        name, namespace = _name(value, "enum", space, path)
        symbols = _required(value, "symbols", f"enum '{name}'", path)
        if not _texts(symbols):
            raise InvalidSchema(f"The symbols of enum '{name}' at {_at(path)} are not an array of strings.")
        seen: set[str] = set()
        for symbol in symbols:
            if not _NAME.fullmatch(symbol):
                raise InvalidSchema(f"The symbol {shown(symbol)} of enum '{name}' at {_at(path)} is no name in Avro.")
            if symbol in seen:
                raise InvalidSchema(f"The enum '{name}' at {_at(path)} has the symbol '{symbol}' twice.")
            seen.add(symbol)
        default = value.get("default")
        if default is not None and (not isinstance(default, str) or default not in seen):
            raise InvalidSchema(f"The default {shown(default)} of enum '{name}' at {_at(path)} is none of its symbols.")
        aliases = _aliases(value, namespace, path)
        props = _props(value, _OF_ENUM)
        enum = Enum("enum", props, name, namespace, _doc(value), aliases, tuple(symbols), default)
        self._define(enum, path)
        return enum

    def _fixed(self, value: dict[str, Any], space: str | None, path: str) -> Fixed:
        name, namespace = _name(value, "fixed", space, path)
        size = _required(value, "size", f"fixed '{name}'", path)
        if not isinstance(size, int) or isinstance(size, bool) or size < 0 or size not in _INT:
            raise InvalidSchema(f"The size of fixed '{name}' at {_at(path)} is {shown(size)}, not a count of bytes.")
        aliases = _aliases(value, namespace, path)
        fixed = Fixed("fixed", _props(value, _OF_SCHEMA), name, namespace, _doc(value), aliases, size)
        self._define(fixed, path)
        return fixed

    def _define(self, named: Named, path: str) -> None:
        if named.full_name in self.names:
            raise InvalidSchema(f"The name '{named.full_name}' at {_at(path)} is defined already.")
        if named.full_name in PLAIN:
            raise InvalidSchema(f"The {named.kind} at {_at(path)} has the name of the primitive type '{named.name}'.")
        self.names[named.full_name] = named


@lru_cache(maxsize=256)
def _plain_union(branches: tuple[Type, ...]) -> Union:
    """`["null", "string"]` is in most records many times: one object does for all."""
    return Union("union", NO_PROPS, branches)


def mismatch(avro_type: Type, value: Any, depth: int) -> str | None:
    """Why a JSON value is no default for a type; None: it is one."""
    if depth > MAX_DEPTH:
        return "it holds itself without end"
    match avro_type:
        case Record():
            if not isinstance(value, dict):
                return _not_a(avro_type, value)
            for field in avro_type.fields:
                inner = value.get(field.name, field.default)
                if inner is MISSING:
                    return f"{described(avro_type)} needs a value for field '{field.name}'"
                if (wrong := mismatch(field.type, inner, depth + 1)) is not None:
                    return wrong
            return None
        case Array(items=items):
            if not isinstance(value, list):
                return _not_a(avro_type, value)
            return next((wrong for item in value if (wrong := mismatch(items, item, depth + 1)) is not None), None)
        case Map(values=values):
            if not isinstance(value, dict):
                return _not_a(avro_type, value)
            inside = value.values()
            return next((wrong for item in inside if (wrong := mismatch(values, item, depth + 1)) is not None), None)
        case Union(branches=branches):
            if any(mismatch(branch, value, depth + 1) is None for branch in branches):
                return None
            return _not_a(avro_type, value)
        case Enum(symbols=symbols):
            return None if isinstance(value, str) and value in symbols else _not_a(avro_type, value)
        case Fixed(size=size):
            return None if _is_bytes(value) and len(value) == size else _not_a(avro_type, value)
        case _:
            return None if _is_primitive(avro_type.kind, value) else _not_a(avro_type, value)


def _is_primitive(kind: str, value: Any) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool) and value in _INT
        case "long":
            return isinstance(value, int) and not isinstance(value, bool) and value in _LONG
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "bytes":
            return _is_bytes(value)
        case _:
            return isinstance(value, str)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, str) and all(ord(character) < 256 for character in value)


def _not_a(avro_type: Type, value: Any) -> str:
    return f"{shown(value)} is not of type {described(avro_type)}"


def _at(path: str) -> str:
    return path or "/"


def _required(value: dict[str, Any], key: str, what: str, path: str) -> Any:
    if key not in value:
        raise InvalidSchema(f"The {what} at {_at(path)} has no '{pointer(key)}'.")
    return value[key]


def _name(value: dict[str, Any], kind: str, space: str | None, path: str) -> tuple[str, str | None]:
    full = value.get("name")
    if not isinstance(full, str):
        raise InvalidSchema(f"The {kind} at {_at(path)} has no name.")
    given = value.get("namespace")
    namespace = given if isinstance(given, str) else space
    prefix, dot, name = full.rpartition(".")
    if dot:
        namespace = prefix
    if not _NAME.fullmatch(name):
        raise InvalidSchema(f"The {kind} at {_at(path)} is called {shown(full)}, which is no name in Avro.")
    return name, namespace or None


def _aliases(value: dict[str, Any], namespace: str | None, path: str) -> tuple[str, ...]:
    aliases = value.get("aliases", [])
    if not _texts(aliases):
        raise InvalidSchema(f"The aliases of the type at {_at(path)} are not an array of strings.")
    return tuple(dict.fromkeys(alias if "." in alias or not namespace else f"{namespace}.{alias}" for alias in aliases))


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _doc(value: dict[str, Any]) -> str | None:
    doc = value.get("doc")
    return doc if isinstance(doc, str) else None


def _props(value: dict[str, Any], reserved: frozenset[str]) -> Mapping[str, Any]:
    props = {key: item for key, item in value.items() if key not in reserved}
    return MappingProxyType(props) if props else NO_PROPS
