"""Connect's schemas as JSON Schema, and the other way, by the rules of Confluent's JsonSchemaData.

What JSON Schema does not have is kept in properties: `connect.type`, `connect.version`, `connect.parameters`, and
`connect.index` for the order of fields. Optional is `oneOf` with null. A struct named io.confluent.connect.json.OneOf
is a `oneOf`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from caudal.connect.converters.json_schemas import InexactDecimal, JsonStyle, reading_inner, writing
from caudal.connect.converters.registry import is_string_map
from caudal.connect.data import DECIMAL, Field, Kind, Schema
from caudal.connect.errors import DataError

NAMESPACE = "io.confluent.connect.json"
ONE_OF = f"{NAMESPACE}.OneOf"
ENUM = f"{NAMESPACE}.Enum"
_NULL = {"type": "null"}
_NUMBERS = {
    Kind.INT8: ("integer", "int8"),
    Kind.INT16: ("integer", "int16"),
    Kind.INT32: ("integer", "int32"),
    Kind.INT64: ("integer", "int64"),
    Kind.FLOAT32: ("number", "float32"),
    Kind.FLOAT64: ("number", "float64"),
}
_KINDS = {connect: kind for kind, (_, connect) in _NUMBERS.items()}


def json_schema_of(schema: Schema, style: JsonStyle, additional: bool = True) -> dict[str, Any]:
    """As it is registered."""
    return _written(schema, None, style, additional)


def _written(schema: Schema, index: int | None, style: JsonStyle, additional: bool) -> dict[str, Any]:
    def part(inner: Schema | None, place: int | None = None) -> dict[str, Any]:
        assert inner is not None
        return _written(inner, place, style, additional)

    place = {} if index is None else {"connect.index": index}
    if schema.kind is Kind.STRUCT and schema.name == ONE_OF:
        members = [_base(field.schema, part, style, additional) for field in schema.fields]
        found = [{**member, "connect.index": number} for number, member in enumerate(members)]
        return {"oneOf": [_NULL, *found] if schema.optional else found, **place}
    base = _base(schema, part, style, additional)
    return {"oneOf": [_NULL, base], **place} if schema.optional else {**base, **place}


def _base(schema: Schema, part: Any, style: JsonStyle, additional: bool) -> dict[str, Any]:
    match schema.kind:
        case Kind.BOOLEAN:
            base: dict[str, Any] = {"type": "boolean"}
        case Kind.STRING if ENUM in schema.parameters:
            symbols = [value for key, value in schema.parameters.items() if key.startswith(f"{ENUM}.")]
            base = {"type": "string", "enum": symbols}
        case Kind.STRING:
            base = {"type": "string"}
        case Kind.BYTES:
            numeric = schema.name == DECIMAL and style.numeric_decimals
            base = {"type": "number" if numeric else "string", "connect.type": "bytes"}
        case Kind.ARRAY:
            base = {"type": "array", "items": part(schema.values)}
        case Kind.MAP if is_string_map(schema):
            base = {"type": "object", "connect.type": "map", "additionalProperties": part(schema.values)}
        case Kind.MAP:
            entry = {"type": "object", "properties": {"key": part(schema.keys, 0), "value": part(schema.values, 1)}}
            base = {"type": "array", "connect.type": "map", "items": entry}
        case Kind.STRUCT:
            properties = {field.name: part(field.schema, number) for number, field in enumerate(schema.fields)}
            base = {"type": "object", "properties": properties}
            if not additional:
                base["additionalProperties"] = False
        case _:
            base = dict(zip(("type", "connect.type"), _NUMBERS[schema.kind], strict=True))
    if schema.name is not None:
        base["title"] = schema.name
    if schema.version is not None:
        base["connect.version"] = schema.version
    if schema.doc is not None:
        base["description"] = schema.doc
    parameters = {key: value for key, value in schema.parameters.items() if not key.startswith(NAMESPACE)}
    if parameters:
        base["connect.parameters"] = parameters
    if schema.has_default and schema.default is not None:
        base["default"] = writing(replace(schema, has_default=False), style).shape(schema.default)
    return base


class JsonSchemaReader:
    """Reads one document; `documents` are those it refers to, by name."""

    def __init__(
        self, document: Any, documents: Mapping[str, Any], style: JsonStyle, options: Mapping[str, Any]
    ) -> None:
        self._root = document
        self._documents = documents
        self._style = style
        self._optional_unless_required: bool = options.get("use.optional.for.nonrequired", False)
        self._within: list[int] = []
        self.schema = self._read(document, document, False)

    def _read(self, given: Any, root: Any, optional: bool) -> Schema:
        if given is True or given == {}:
            raise DataError("A JSON Schema that allows anything has no schema in Connect.")
        if not isinstance(given, dict):
            raise DataError(f"A JSON Schema is an object, not {given!r}.")
        if id(given) in self._within:
            raise DataError("The JSON Schema contains itself, which Connect's schemas cannot.")
        self._within.append(id(given))
        try:
            return self._one(given, root, optional)
        finally:
            self._within.pop()

    def _one(self, given: dict[str, Any], root: Any, optional: bool) -> Schema:
        if "$ref" in given:
            target, place = self._referred(str(given["$ref"]), root)
            return self._read(target, place, optional)
        for word in ("oneOf", "anyOf"):
            if isinstance(given.get(word), list):
                return self._combined(given[word], given, root, optional)
        if isinstance(given.get("allOf"), list):
            merged = {key: value for key, value in given.items() if key != "allOf"}
            for each in given["allOf"]:
                target, _ = self._referred(each["$ref"], root) if "$ref" in each else (each, root)
                properties = {**merged.get("properties", {}), **target.get("properties", {})}
                merged = {**target, **merged, **({"properties": properties} if properties else {})}
            return self._read(merged, root, optional)
        kind = given.get("type")
        if isinstance(kind, list):
            others = [each for each in kind if each != "null"]
            if len(others) == 1:
                return self._read({**given, "type": others[0]}, root, optional or len(others) < len(kind))
            return self._combined([{"type": each} for each in kind], given, root, optional)
        return self._described(self._plain(kind, given, root), given, optional)

    def _plain(self, kind: Any, given: dict[str, Any], root: Any) -> Schema:
        connect = given.get("connect.type")
        if "enum" in given and kind in (None, "string"):
            symbols = [str(each) for each in given["enum"]]
            return Schema(Kind.STRING, parameters={ENUM: "", **{f"{ENUM}.{each}": each for each in symbols}})
        if kind is None:
            kind = "object" if "properties" in given else "array" if "items" in given else _type_of(given.get("const"))
        match kind:
            case "boolean":
                return Schema(Kind.BOOLEAN)
            case "integer" | "number" if connect == "bytes":
                return Schema(Kind.BYTES)
            case "integer":
                return Schema(_KINDS.get(str(connect), Kind.INT64))
            case "number":
                return Schema(_KINDS.get(str(connect), Kind.FLOAT64))
            case "string":
                return Schema(Kind.BYTES if connect == "bytes" else Kind.STRING)
            case "array":
                return self._array(given, root, connect)
            case "object":
                return self._object(given, root, connect)
        raise DataError(f"The JSON Schema type {kind!r} has no schema in Connect.")

    def _array(self, given: dict[str, Any], root: Any, connect: Any) -> Schema:
        items = given.get("items")
        if not isinstance(items, dict):
            raise DataError("A JSON Schema of an array needs the schema of its items.")
        if connect == "map" and isinstance(items.get("properties"), dict):
            parts = items["properties"]
            keys, values = self._read(parts.get("key"), root, False), self._read(parts.get("value"), root, False)
            return Schema(Kind.MAP, keys=keys, values=values)
        return Schema(Kind.ARRAY, values=self._read(items, root, False))

    def _object(self, given: dict[str, Any], root: Any, connect: Any) -> Schema:
        properties = given.get("properties")
        more = given.get("additionalProperties")
        if connect == "map" or (not properties and isinstance(more, dict)):
            return Schema(Kind.MAP, keys=Schema(Kind.STRING), values=self._read(more, root, False))
        required = given.get("required") or ()
        found = []
        for position, (name, each) in enumerate((properties or {}).items()):
            index = each.get("connect.index", position) if isinstance(each, dict) else position
            optional = self._optional_unless_required and name not in required
            found.append((index, position, Field(name, self._read(each, root, optional))))
        return Schema(Kind.STRUCT, fields=tuple(field for _, _, field in sorted(found, key=lambda each: each[:2])))

    def _combined(self, members: list[Any], given: dict[str, Any], root: Any, optional: bool) -> Schema:
        others = [
            each for each in members if each != _NULL and not (isinstance(each, dict) and each.get("type") == "null")
        ]
        optional = optional or len(others) < len(members)
        if len(others) == 1:
            return self._read(others[0], root, optional)
        if not others:
            raise DataError("A JSON Schema of nothing but null has no schema in Connect.")
        fields = tuple(
            Field(f"{ONE_OF}.field.{index}", self._read(each, root, True)) for index, each in enumerate(others)
        )
        return Schema(Kind.STRUCT, optional=optional, name=ONE_OF, doc=given.get("description"), fields=fields)

    def _described(self, schema: Schema, given: dict[str, Any], optional: bool) -> Schema:
        schema = replace(
            schema,
            optional=optional,
            name=given.get("title"),
            version=given.get("connect.version"),
            doc=given.get("description"),
            parameters={**schema.parameters, **(given.get("connect.parameters") or {})},
        )
        if given.get("default") is None:
            return schema
        try:
            return replace(schema, default=reading_inner(schema, self._style).shape(given["default"]), has_default=True)
        except InexactDecimal:
            return replace(schema, default=Decimal(repr(given["default"])), has_default=True)

    def _referred(self, reference: str, root: Any) -> tuple[Any, Any]:
        """What `$ref` means, and the document that it is in."""
        name, _, pointer = reference.partition("#")
        document = root if not name else self._documents.get(name, root if name == root.get("$id") else None)
        target = document
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(target, list) and key.isdigit() and int(key) < len(target):
                target = target[int(key)]
            else:
                target = target.get(key) if isinstance(target, dict) else None
        if target is None:
            raise DataError(f"The JSON Schema refers to {reference!r}, which is not there.")
        return target, document


def _type_of(value: Any) -> str | None:
    if isinstance(value, bool):
        return "boolean"
    return {str: "string", int: "integer", float: "number"}.get(type(value))
