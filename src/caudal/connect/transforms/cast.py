"""Cast: fields, or the whole key or value, become another type. Null passes.

`spec` is `field:type,…`, or one type for all of it. A field that is cast loses its logical type, and keeps that it is
optional; its default is cast too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converter import Transform
from caudal.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Field, Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.records import Record
from caudal.connect.transforms import casts
from caudal.connect.transforms.part import (
    Converted,
    Defaults,
    OnKey,
    OnPart,
    OnValue,
    PerSchema,
    defaults_of,
    filled,
    java_names,
    struct_like,
)
from caudal.connect.transforms.properties import REPLACE_NULL, REPLACE_NULL_KEY

_TYPES = {
    "int8": Kind.INT8,
    "int16": Kind.INT16,
    "int32": Kind.INT32,
    "int64": Kind.INT64,
    "float32": Kind.FLOAT32,
    "float64": Kind.FLOAT64,
    "boolean": Kind.BOOLEAN,
    "string": Kind.STRING,
}
_LOGICAL = (DATE, TIME, TIMESTAMP, DECIMAL)
_STRUCTURES = (Kind.ARRAY, Kind.MAP, Kind.STRUCT)


def _type_of(text: str) -> Kind:
    kind = _TYPES.get(text.strip().lower())
    if kind is None:
        raise ValueError(f"{text.strip()!r} is no type to cast to: they are {', '.join(_TYPES)}.")
    return kind


def parse_spec(spec: list[str]) -> dict[str | None, Kind]:
    """The type of each field; under None the type of all of it.

    >>> parse_spec(["a:int32", "b:string"])
    {'a': <Kind.INT32: 'int32'>, 'b': <Kind.STRING: 'string'>}
    """
    if not spec:
        raise ValueError("Nothing is to be cast: write field:type, several with commas between them, or one type.")
    targets: dict[str | None, Kind] = {}
    for each in spec:
        parts = each.split(":")
        if len(parts) > 2:
            raise ValueError(f"{each!r} has more than one colon: write field:type.")
        targets[parts[0].strip() if len(parts) == 2 else None] = _type_of(parts[-1])
    if None in targets and len(spec) > 1:
        raise ValueError("One type casts the whole key or value, so there can be nothing else.")
    return targets


def _check_spec(name: str, value: Any) -> None:
    parse_spec(value)


class Cast(OnPart, Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(
                name="spec",
                type=Type.LIST,
                importance=Importance.HIGH,
                doc=f"field:type, several with commas between them, or one type. Types: {', '.join(_TYPES)}.",
                validator=_check_spec,
            ),
            REPLACE_NULL_KEY,
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        targets = parse_spec(config["spec"])
        self._whole = targets.get(None)
        self._targets = {name: kind for name, kind in targets.items() if name is not None}
        self._without_schema = [(name, casts.CASTS[kind]) for name, kind in self._targets.items()]
        self._replace_null: bool = config[REPLACE_NULL]
        self._plans = PerSchema(self._compile)
        self._whole_plans = PerSchema(self._compile_whole)

    def convert(self, schema: Schema | None, value: Any, record: Record) -> Converted:
        if value is None:
            return schema, None
        if self._whole is not None:
            if schema is None:
                return None, self._cast(casts.CASTS[self._whole], value)
            new_schema, cast = self._whole_plans(schema)
            return new_schema, self._cast(cast, value)
        if schema is None:
            return None, self._cast_fields(self.require_map(value).copy(), self._without_schema)
        new_schema, fields, defaults = self._plans(schema)
        return new_schema, self._cast_fields(
            filled(value if value.__class__ is dict else self.require_struct(schema, value), defaults), fields
        )

    def _cast_fields(self, made: dict[str, Any], fields: list[tuple[str, casts.Cast]]) -> dict[str, Any]:
        try:
            for name, cast in fields:
                found = made.get(name)
                made[name] = None if found is None else cast(found)
        except casts.Misfit as error:
            raise DataError(f"{type(self).__name__}: the field {name} cannot be cast: {error}.") from None
        return made

    def _cast(self, cast: casts.Cast, value: Any) -> Any:
        try:
            return cast(value)
        except casts.Misfit as error:
            raise DataError(f"{type(self).__name__}: the {self.part} cannot be cast: {error}.") from None

    def _compile(self, schema: Schema) -> tuple[Schema, list[tuple[str, casts.Cast]], Defaults]:
        self.require_struct(schema, {})
        fields = []
        plan = []
        for one in schema.fields:
            target = self._targets.get(one.name)
            if target is None:
                fields.append(one)
                continue
            cast = self._cast_from(one.schema, target, f"field {one.name}")
            plan.append((one.name, cast))
            default = None if one.schema.default is None else self._cast(cast, one.schema.default)
            fields.append(
                Field(one.name, Schema(target, one.schema.optional, default=default, has_default=default is not None))
            )
        new = struct_like(schema, tuple(fields))
        if schema.optional:
            new = new.as_optional()
        return new, plan, defaults_of(schema, self._replace_null)

    def _compile_whole(self, schema: Schema) -> tuple[Schema, casts.Cast]:
        assert self._whole is not None
        cast = self._cast_from(schema, self._whole, self.part)
        default = None if schema.default is None else self._cast(cast, schema.default)
        new = Schema(self._whole, schema.optional, default=default, has_default=default is not None, doc=schema.doc)
        if schema.name not in _LOGICAL:
            new = replace(new, name=schema.name, version=schema.version, parameters=schema.parameters)
        return new, cast

    def _cast_from(self, schema: Schema, target: Kind, what: str) -> casts.Cast:
        if schema.kind in _STRUCTURES:
            raise DataError(f"{type(self).__name__}: the {what} is {schema.kind}, which cannot be cast.")
        if schema.kind is Kind.FLOAT32 and target is Kind.STRING:
            return casts.single_text
        return casts.CASTS[target]


class CastKey(OnKey, Cast):
    aliases = java_names("Cast$Key")


class CastValue(OnValue, Cast):
    aliases = java_names("Cast$Value")
