"""Connect's schemas as the JSON converter writes them, and the shapes of their values in JSON."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

from caudal.connect.converters import logical
from caudal.connect.converters.shaping import (
    FLOAT,
    STAYS,
    Member,
    Shape,
    Shaping,
    binary,
    listed,
    mapped,
    nullable,
    plain,
    struct_shape,
)
from caudal.connect.converters.shaping import floating as number_of
from caudal.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Field, Kind, Schema
from caudal.connect.errors import DataError

_FLOATS = (Kind.FLOAT32, Kind.FLOAT64)


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """How values are written, where formats differ."""

    numeric_decimals: bool = False
    replace_nulls: bool = True
    entry_objects: bool = False  # entries of maps without string keys: {"key": …, "value": …}, not pairs
    union: str | None = None  # the name of structs of which one field is written, as itself


class InexactDecimal(Exception):
    """A decimal was read as a float: the text has to be read again, exactly."""


# ---------------------------------------------------------------------- schemas


def schema_to_json(schema: Schema, style: JsonStyle, name: str | None = None) -> dict[str, Any]:
    """In the order in which Kafka Connect writes it, so that equal schemas are equal bytes."""
    shown: dict[str, Any] = {"type": schema.kind.value}
    if schema.kind is Kind.ARRAY:
        assert schema.values is not None
        shown["items"] = schema_to_json(schema.values, style)
    elif schema.kind is Kind.MAP:
        assert schema.keys is not None and schema.values is not None
        shown["keys"] = schema_to_json(schema.keys, style)
        shown["values"] = schema_to_json(schema.values, style)
    elif schema.kind is Kind.STRUCT:
        shown["fields"] = [schema_to_json(field.schema, style, field.name) for field in schema.fields]
    shown["optional"] = schema.optional
    if schema.name is not None:
        shown["name"] = schema.name
    if schema.version is not None:
        shown["version"] = schema.version
    if schema.doc is not None:
        shown["doc"] = schema.doc
    if schema.parameters:
        shown["parameters"] = dict(schema.parameters)
    if schema.has_default and schema.default is not None:
        shown["default"] = _writing_inner(schema, style).shape(schema.default)
    if name is not None:
        shown["field"] = name
    return shown


def schema_of_json(given: Any) -> Schema | None:
    """Raises DataError."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise DataError(f"A schema is a JSON object, not {type(given).__name__}.")
    try:
        kind = Kind(given.get("type", ""))
    except ValueError:
        raise DataError(f"Unknown schema type: {given.get('type')!r}.") from None
    parameters = given.get("parameters")
    if parameters is None:
        parameters = {}
    if not isinstance(parameters, Mapping) or not all(isinstance(value, str) for value in parameters.values()):
        raise DataError("The parameters of a schema are a JSON object of texts.")
    fields: tuple[Field, ...] = ()
    keys = values = None
    if kind is Kind.ARRAY:
        values = _part(given, "items", "an array")
    elif kind is Kind.MAP:
        keys, values = _part(given, "keys", "a map"), _part(given, "values", "a map")
    elif kind is Kind.STRUCT:
        if not isinstance(given.get("fields"), list):
            raise DataError("The schema of a struct needs 'fields', a JSON array.")
        fields = tuple(_field(each) for each in given["fields"])
    schema = Schema(
        kind,
        optional=given.get("optional") is True,
        name=_typed(given, "name", str),
        version=_typed(given, "version", int),
        doc=_typed(given, "doc", str),
        parameters=parameters,
        fields=fields,
        keys=keys,
        values=values,
    )
    default = given.get("default")
    if default is None:
        return schema
    try:
        value = reading_inner(schema, JsonStyle()).shape(default)
    except InexactDecimal:
        value = Decimal(repr(default))
    return Schema(
        schema.kind, schema.optional, schema.name, schema.version, schema.doc, value, True, parameters, fields, keys,
        values,
    )  # fmt: skip


def _part(given: dict[str, Any], name: str, what: str) -> Schema:
    schema = schema_of_json(given.get(name))
    if schema is None:
        raise DataError(f"The schema of {what} needs '{name}'.")
    return schema


def _field(given: Any) -> Field:
    name = given.get("field") if isinstance(given, dict) else None
    if not isinstance(name, str) or not name:
        raise DataError("A field of a struct's schema needs its name in 'field'.")
    schema = schema_of_json(given)
    assert schema is not None
    return Field(name, schema)


def _typed(given: dict[str, Any], name: str, wanted: type[Any]) -> Any:
    value = given.get(name)
    if value is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
        raise DataError(f"'{name}' of a schema is {'a text' if wanted is str else 'a whole number'}, not {value!r}.")
    return value


# ---------------------------------------------------------------------- values to JSON


def writing(schema: Schema, style: JsonStyle) -> Shaping:
    """From Connect's values to JSON's."""
    inner = _writing_inner(schema, style)
    default = inner.shape(schema.default) if schema.has_default and schema.default is not None else None
    return nullable(schema, inner, default_for_null=style.replace_nulls, default=default)


def _writing_inner(schema: Schema, style: JsonStyle) -> Shaping:
    def of(part: Schema | None) -> Shaping:
        assert part is not None
        return writing(part, style)

    match schema.kind:
        case Kind.STRUCT if style.union is not None and schema.name == style.union:
            return Shaping(_union_writer({field.name: of(field.schema).shape for field in schema.fields}))
        case Kind.STRUCT:
            members = [Member(field.name, field.name, of(field.schema)) for field in schema.fields]
            return Shaping(struct_shape(members, schema.name or "The struct"))
        case Kind.ARRAY:
            return Shaping(listed(of(schema.values)))
        case Kind.MAP:
            assert schema.keys is not None
            return Shaping(_map_writer(schema.keys, of(schema.keys), of(schema.values), style))
    match schema.name:
        case name if name == DECIMAL and schema.kind is Kind.BYTES:
            scale = logical.scale_of(schema)
            return Shaping(_decimal_number(scale) if style.numeric_decimals else _decimal_text(scale))
        case name if name == DATE and schema.kind is Kind.INT32:
            return Shaping(logical.days_of)
        case name if name == TIME and schema.kind is Kind.INT32:
            return Shaping(logical.day_milliseconds_of)
        case name if name == TIMESTAMP and schema.kind is Kind.INT64:
            return Shaping(logical.milliseconds_of)
    if schema.kind is Kind.BYTES:
        return Shaping(lambda value: base64.b64encode(binary(value)).decode())
    if schema.kind in _FLOATS:
        return Shaping(_float_to_json, FLOAT)
    return plain(schema.kind)


def _map_writer(schema: Schema, keys: Shaping, values: Shaping, style: JsonStyle) -> Shape:
    if schema.kind is Kind.STRING and schema.name is None:
        return mapped(keys, values)
    shaped = mapped(STAYS, values)
    key = keys.shape
    if style.entry_objects:
        return lambda value: [{"key": key(each), "value": item} for each, item in shaped(value).items()]
    return lambda value: [[key(each), item] for each, item in shaped(value).items()]


def _union_writer(members: dict[str, Shape]) -> Shape:
    def union(value: Any) -> Any:
        given = [(name, item) for name, item in value.items() if item is not None] if isinstance(value, dict) else []
        if len(given) != 1 or given[0][0] not in members:
            raise DataError("A union is a dict with one field that is not null.")
        return members[given[0][0]](given[0][1])

    return union


def _decimal_number(scale: int) -> Shape:
    return lambda value: orjson.Fragment(format(logical.with_scale(value, scale), "f").encode())


def _decimal_text(scale: int) -> Shape:
    return lambda value: base64.b64encode(logical.bytes_of_decimal(value, scale)).decode()


def _float_to_json(value: Any) -> Any:
    """Jackson writes what is not finite as text; orjson would write null."""
    number = number_of(value)
    if number - number == 0.0:
        return number
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


# ---------------------------------------------------------------------- JSON to values


def reading(schema: Schema, style: JsonStyle) -> Shaping:
    """From JSON's values to Connect's."""
    inner = reading_inner(schema, style)
    return nullable(schema, inner, default_for_null=style.replace_nulls, default=schema.default)


def reading_inner(schema: Schema, style: JsonStyle) -> Shaping:
    """Of values that are not null."""

    def of(part: Schema | None) -> Shaping:
        assert part is not None
        return reading(part, style)

    match schema.kind:
        case Kind.STRUCT if style.union is not None and schema.name == style.union:
            return Shaping(_union_reader(schema, {field.name: of(field.schema).shape for field in schema.fields}))
        case Kind.STRUCT:
            members = [Member(field.name, field.name, of(field.schema)) for field in schema.fields]
            return Shaping(struct_shape(members, schema.name or "The struct", strict=False))
        case Kind.ARRAY:
            return Shaping(listed(of(schema.values)))
        case Kind.MAP:
            assert schema.keys is not None
            return Shaping(_map_reader(schema.keys, of(schema.keys), of(schema.values), style))
    match schema.name:
        case name if name == DECIMAL and schema.kind is Kind.BYTES:
            return Shaping(_decimal_reader(logical.scale_of(schema)))
        case name if name == DATE and schema.kind is Kind.INT32:
            return Shaping(_then(plain(Kind.INT32).shape, logical.date_of))
        case name if name == TIME and schema.kind is Kind.INT32:
            return Shaping(_then(plain(Kind.INT32).shape, logical.time_of))
        case name if name == TIMESTAMP and schema.kind is Kind.INT64:
            return Shaping(_then(plain(Kind.INT64).shape, logical.datetime_of))
    if schema.kind is Kind.BYTES:
        return Shaping(_bytes_of_text)
    if schema.kind in _FLOATS:
        return Shaping(_float_of_json, "x.__class__ is float")
    return plain(schema.kind)


def _then(first: Shape, second: Shape) -> Shape:
    return lambda value: second(first(value))


def _map_reader(schema: Schema, keys: Shaping, values: Shaping, style: JsonStyle) -> Shape:
    if schema.kind is Kind.STRING and schema.name is None:
        return mapped(keys, values)
    key, item = keys.shape, values.shape
    if style.entry_objects:

        def entries(value: Any) -> dict[Any, Any]:
            if not isinstance(value, list) or not all(
                isinstance(each, dict) and each.keys() == {"key", "value"} for each in value
            ):
                raise DataError("A map whose keys are not strings is a JSON array of objects with key and value.")
            return {_hashable(key(each["key"])): item(each["value"]) for each in value}

        return entries

    def pairs(value: Any) -> dict[Any, Any]:
        if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            raise DataError("A map whose keys are not strings is a JSON array of pairs.")
        return {_hashable(key(pair[0])): item(pair[1]) for pair in value}

    return pairs


def _union_reader(schema: Schema, members: dict[str, Shape]) -> Shape:
    tests = [(field.name, _could_be(field.schema)) for field in schema.fields]

    def union(value: Any) -> dict[str, Any]:
        for name, could_be in tests:
            if could_be(value):
                return {**dict.fromkeys(members), name: members[name](value)}
        raise DataError(f"A {type(value).__name__} is no member of the union.")

    return union


def _could_be(schema: Schema) -> Callable[[Any], bool]:
    """Whether a JSON value looks like one of this schema."""
    match schema.kind:
        case Kind.STRUCT:
            names = {field.name for field in schema.fields}
            return lambda value: isinstance(value, dict) and value.keys() <= names
        case Kind.BOOLEAN:
            return lambda value: isinstance(value, bool)
        case Kind.STRING:
            return lambda value: isinstance(value, str)
        case Kind.BYTES:
            return lambda value: isinstance(value, (str, float, int, Decimal)) and not isinstance(value, bool)
        case Kind.ARRAY:
            return lambda value: isinstance(value, list)
        case Kind.MAP:
            return lambda value: isinstance(value, (dict, list))
        case kind if kind in _FLOATS:
            return lambda value: isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return lambda value: isinstance(value, int) and not isinstance(value, bool)


def _hashable(key: Any) -> Any:
    if isinstance(key, (dict, list)):
        raise DataError("The keys of a map are simple values, not structs, arrays or maps.")
    return key


def _decimal_reader(scale: int) -> Shape:
    def decimal(value: Any) -> Decimal:
        if isinstance(value, str):
            return logical.decimal_of_bytes(_bytes_of_text(value), scale)
        if isinstance(value, float):
            raise InexactDecimal
        if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
            return logical.with_scale(Decimal(value), scale)
        raise DataError(f"A decimal is a number or base64 text, not {type(value).__name__}.")

    return decimal


def _bytes_of_text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise DataError(f"Bytes are base64 text in JSON, not {type(value).__name__}.")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DataError(f"Bytes are base64 text in JSON: {error}.") from None


def _float_of_json(value: Any) -> float:
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    return number_of(float(value) if isinstance(value, Decimal) else value)
