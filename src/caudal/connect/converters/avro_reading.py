"""Avro's schemas as Connect's, and what fastavro reads as Connect's values; the other way is `avro_schemas.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from caudal.connect.converters import logical
from caudal.connect.converters.avro_schemas import (
    DEFAULT_NAME,
    DEFAULT_PRECISION,
    ENUM,
    FIXED_SIZE,
    NAMESPACE,
    PRECISION,
    UNION,
)
from caudal.connect.converters.shaping import STAYS, Member, Shape, Shaping, listed, mapped, struct_shape
from caudal.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Field, Kind, Schema
from caudal.connect.errors import DataError
from caudal.serde.avro_defaults import set_defaults

_KINDS = {
    "int": Kind.INT32,
    "long": Kind.INT64,
    "float": Kind.FLOAT32,
    "double": Kind.FLOAT64,
    "boolean": Kind.BOOLEAN,
    "string": Kind.STRING,
    "bytes": Kind.BYTES,
}
_LOGICAL = {("int", "date"): DATE, ("int", "time-millis"): TIME, ("long", "timestamp-millis"): TIMESTAMP}
_TYPES = {DATE: ("int", "date"), TIME: ("int", "time-millis"), TIMESTAMP: ("long", "timestamp-millis")}
_UNNAMED = re.compile(rf"{re.escape(DEFAULT_NAME)}\d*")
_NOTHING: Any = object()


def adjusted(schema: Any) -> Any:
    """With the logical types that Connect knows and no others: fastavro then reads values as Connect has them."""
    if isinstance(schema, list):
        return [adjusted(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: adjusted(value) if key in ("type", "items", "values") else value for key, value in schema.items()}
    if isinstance(found.get("fields"), list):
        found["fields"] = [
            {**field, "type": adjusted(field.get("type"))} if isinstance(field, dict) else field
            for field in found["fields"]
        ]
    kind, name = found.get("type"), found.get("connect.name")
    if not isinstance(kind, str):
        return found
    if name in _TYPES and _TYPES[name][0] == kind:
        found["logicalType"] = _TYPES[name][1]
    elif "logicalType" in found and not (
        (kind, found["logicalType"]) in _LOGICAL
        or (found["logicalType"] == "decimal" and kind in ("bytes", "fixed") and _is_decimal(found))
    ):
        del found["logicalType"]
    return found


def _is_decimal(schema: Mapping[str, Any]) -> bool:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    return isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision


class AvroReader:
    """Reads one schema that fastavro has parsed: names are full, named types are in `__named_schemas`."""

    def __init__(self, parsed: Any, options: Mapping[str, Any]) -> None:
        self._named: dict[str, Any] = parsed.get("__named_schemas", {}) if isinstance(parsed, dict) else {}
        self._enhanced: bool = options.get("enhanced.avro.schema.support", False)
        self._within: list[str] = []
        self.has_unions = False  # whose branches fastavro has to name
        self.schema, shaping = self._read(parsed)
        self.shape: Shape | None = None if shaping.unchanged == "" else shaping.shape

    def _read(self, avro: Any, default: Any = _NOTHING, doc: str | None = None) -> tuple[Schema, Shaping]:
        if isinstance(avro, list):
            return self._union(avro, default, doc)
        return self._one(avro, False, default, doc)

    def _union(self, members: list[Any], default: Any, doc: str | None) -> tuple[Schema, Shaping]:
        others = [each for each in members if each != "null"]
        optional = len(others) < len(members)
        if len(others) == 1:
            schema, shaping = self._one(others[0], optional, default, doc)
            return schema, _or_none(shaping) if optional else shaping
        if not others:
            raise DataError("A schema of nothing but null cannot be one of Connect's.")
        self.has_unions = True
        fields, branches = [], []
        for each in others:
            definition = self._definition(each)
            schema, shaping = self._one(each, True, _NOTHING, None)
            name = self._member_name(definition)
            fields.append(Field(name, schema))
            branches.append((name, _fits(definition), _record_name(definition), shaping.shape))
        names = [field.name for field in fields]

        def union(value: Any) -> Any:
            if value is None:
                return None
            found = dict.fromkeys(names)
            record = value[0] if isinstance(value, tuple) else None
            for name, fits, record_name, shape in branches:
                if (record is not None and record == record_name) or (record is None and fits(value)):
                    found[name] = shape(value[1] if record is not None else value)
                    return found
            raise DataError(f"A {type(value).__name__} is no branch of the union.")

        return Schema(Kind.STRUCT, optional=optional, name=UNION, doc=doc, fields=tuple(fields)), Shaping(union)

    def _definition(self, avro: Any) -> Any:
        return self._named.get(avro, avro) if isinstance(avro, str) else avro

    def _member_name(self, definition: Any) -> str:
        kind = definition if isinstance(definition, str) else definition["type"]
        if kind not in ("record", "error", "enum", "fixed"):
            return str(kind)
        name = str(definition["name"])
        return name if self._enhanced else name.rpartition(".")[2]

    def _one(self, avro: Any, optional: bool, default: Any, doc: str | None) -> tuple[Schema, Shaping]:
        definition = self._definition(avro)
        if isinstance(definition, str):
            definition = {"type": definition}
        kind = definition["type"]
        if isinstance(kind, (dict, list)):  # {"type": {"type": …}}
            return self._read(kind, default, doc)
        fields: tuple[Field, ...] = ()
        keys = values = None
        name = definition.get("connect.name")
        parameters: dict[str, str] = {}
        shaping = STAYS
        match kind:
            case "record" | "error":
                connect_kind = Kind.STRUCT
                fields, shaping = self._record(definition)
                if name is None and not _UNNAMED.fullmatch(definition["name"]):
                    name = definition["name"]
            case "array":
                entry = self._definition(definition["items"])
                if _is_map_entry(entry):
                    connect_kind = Kind.MAP
                    keys, values, shaping = self._entries(entry)
                    if entry.get("connect.internal.type") and not entry["name"].startswith(f"{NAMESPACE}."):
                        name = name or entry["name"]
                else:
                    connect_kind = Kind.ARRAY
                    values, items = self._read(definition["items"])
                    shaping = STAYS if items.unchanged == "" else Shaping(listed(items))
            case "map":
                connect_kind, keys = Kind.MAP, Schema(Kind.STRING)
                values, items = self._read(definition["values"])
                shaping = STAYS if items.unchanged == "" else Shaping(mapped(STAYS, items))
            case "enum":
                connect_kind = Kind.STRING
                parameters = {ENUM: definition["name"]}
                parameters |= {f"{ENUM}.{symbol}": symbol for symbol in definition["symbols"]}
            case "fixed" if definition.get("logicalType") != "decimal":
                connect_kind = Kind.BYTES
                name = name or definition["name"]
                parameters = {FIXED_SIZE: str(definition["size"])}
            case "fixed":
                connect_kind = Kind.BYTES
            case _ if kind in _KINDS:
                connect_kind = _KINDS[kind]
                if definition.get("connect.type") in (Kind.INT8, Kind.INT16):
                    connect_kind = Kind(definition["connect.type"])
            case _:
                raise DataError(f"The Avro type {kind!r} has no schema in Connect.")
        logical_name = _LOGICAL.get((kind, definition.get("logicalType", "")))
        version = definition.get("connect.version")
        if logical_name is not None and name in (None, logical_name):
            name, version = logical_name, 1 if version is None else version
        if connect_kind is Kind.BYTES and (definition.get("logicalType") == "decimal" or name == DECIMAL):
            name, version = DECIMAL, 1 if version is None else version
            parameters = _decimal_parameters(definition)
            if definition.get("logicalType") != "decimal":
                scale = int(parameters["scale"])
                shaping = Shaping(lambda value: logical.decimal_of_bytes(value, scale))
        parameters |= definition.get("connect.parameters") or {}
        if default is _NOTHING and "connect.default" in definition:
            default = self._default(definition)
        has_default = default is not _NOTHING and default is not None
        if has_default and shaping.unchanged != "":
            default = shaping.shape(default)
        return (
            Schema(
                connect_kind,
                optional=optional,
                name=name,
                version=version,
                doc=definition.get("connect.doc") or doc or definition.get("doc"),
                default=default if has_default else None,
                has_default=has_default,
                parameters=parameters,
                fields=fields,
                keys=keys,
                values=values,
            ),
            shaping,
        )

    def _default(self, definition: Mapping[str, Any]) -> Any:
        """`connect.default` is JSON, as the default of a field is before it was made a value."""
        field = {"name": "of", "type": definition, "default": definition["connect.default"]}
        holder = {"type": "record", "name": "default", "fields": [field], "__named_schemas": self._named}
        return set_defaults(holder)["fields"][0]["default"]

    def _record(self, definition: Mapping[str, Any]) -> tuple[tuple[Field, ...], Shaping]:
        name = definition["name"]
        if name in self._within:
            raise DataError(f"The Avro schema of {name} contains itself, which Connect's schemas cannot.")
        self._within.append(name)
        fields, members = [], []
        for field in definition["fields"]:
            schema, shaping = self._read(field["type"], field.get("default", _NOTHING), field.get("doc"))
            fields.append(Field(field["name"], schema))
            members.append(Member(field["name"], field["name"], shaping))
        self._within.pop()
        if all(member.shaping.unchanged == "" for member in members):
            return tuple(fields), STAYS
        return tuple(fields), Shaping(struct_shape(members, name, strict=False))

    def _entries(self, entry: Mapping[str, Any]) -> tuple[Schema, Schema, Shaping]:
        by_name = {field["name"]: field for field in entry["fields"]}
        keys, key = self._read(by_name["key"]["type"], by_name["key"].get("default", _NOTHING))
        values, value_of = self._read(by_name["value"]["type"], by_name["value"].get("default", _NOTHING))

        def entries(value: Any) -> dict[Any, Any]:
            try:
                return {key.shape(each["key"]): value_of.shape(each["value"]) for each in value}
            except TypeError:
                raise DataError("The keys of a map are simple values, not structs, arrays or maps.") from None

        return keys, values, Shaping(entries)


def _or_none(shaping: Shaping) -> Shaping:
    if shaping.unchanged == "":
        return shaping
    shape = shaping.shape
    return Shaping(lambda value: None if value is None else shape(value))


def _decimal_parameters(definition: Mapping[str, Any]) -> dict[str, str]:
    given = definition.get("connect.parameters") or {}
    parameters = {"scale": str(definition.get("scale", given.get("scale", 0)))}
    precision = definition.get("precision", DEFAULT_PRECISION)
    return parameters if precision == DEFAULT_PRECISION else {**parameters, PRECISION: str(precision)}


def _is_map_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or entry.get("type") != "record":
        return False
    marked = entry.get("connect.internal.type") == "MapEntry" or entry["name"] == f"{NAMESPACE}.MapEntry"
    return marked and {field["name"] for field in entry["fields"]} == {"key", "value"}


def _record_name(definition: Any) -> str | None:
    return str(definition["name"]) if isinstance(definition, dict) and definition["type"] == "record" else None


def _fits(definition: Any) -> Callable[[Any], bool]:
    """Whether a value that fastavro has read is of this branch."""
    kind = definition if isinstance(definition, str) else definition["type"]
    logical_type = None if isinstance(definition, str) else definition.get("logicalType")
    types: dict[str, tuple[type[Any], ...]] = {
        "long": (int,),
        "float": (float,),
        "double": (float,),
        "boolean": (bool,),
        "string": (str,),
        "bytes": (bytes,),
        "fixed": (bytes,),
        "array": (list,),
        "map": (dict,),
    }
    of_logical = {"date": date, "time-millis": time, "timestamp-millis": datetime, "decimal": Decimal}
    if logical_type in of_logical:
        wanted = of_logical[logical_type]
        return lambda value: type(value) is wanted
    if kind == "int":
        return lambda value: type(value) is int and -(1 << 31) <= value < 1 << 31
    if kind in ("record", "error"):  # the only one of its union: otherwise fastavro gives its name
        names = {field["name"] for field in definition["fields"]}
        return lambda value: type(value) is dict and value.keys() == names
    if kind == "enum":
        symbols = frozenset(definition["symbols"])
        return lambda value: isinstance(value, str) and value in symbols
    allowed = types.get(kind, ())
    return lambda value: type(value) in allowed
