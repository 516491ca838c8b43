"""MaskField: fields get a value that says nothing: 0, false, an empty text, or `replacement`. Null stays null."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.converter import Transform
from caudal.connect.data import DECIMAL, Kind, Schema
from caudal.connect.errors import DataError
from caudal.connect.records import Record
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
)
from caudal.connect.transforms.properties import REPLACE_NULL, REPLACE_NULL_KEY, non_empty, non_empty_list

_EMPTY: dict[type[Any], Any] = {
    bool: False,
    int: 0,
    float: 0.0,
    Decimal: Decimal(0),
    str: "",
    date: date(1970, 1, 1),
    time: time(),
    datetime: datetime(1970, 1, 1, tzinfo=UTC),
}
_Masks = dict[type[Any], Any]  # by the class of the value; kept for each field of a schema
_BITS = {Kind.INT8: 8, Kind.INT16: 16, Kind.INT32: 32, Kind.INT64: 64}


class MaskField(OnPart, Transform[Any]):
    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(
                name="fields",
                type=Type.LIST,
                importance=Importance.HIGH,
                doc="The fields to mask.",
                validator=non_empty_list,
            ),
            Key(
                name="replacement",
                default=None,
                importance=Importance.LOW,
                doc="What numbers and texts become, instead of 0 and the empty text.",
                validator=non_empty,
            ),
            REPLACE_NULL_KEY,
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self._fields: list[str] = list(dict.fromkeys(config["fields"]))
        self._replacement: str | None = config["replacement"]
        self._replace_null: bool = config[REPLACE_NULL]
        self._plans = PerSchema(self._compile)
        self._masks: _Masks = {}

    def convert(self, schema: Schema | None, value: Any, record: Record) -> Converted:
        if schema is None:
            made = self.require_map(value).copy()
            for name in self._fields:
                found = made.get(name)
                made[name] = None if found is None else self._masked(name, found, None, self._masks)
            return None, made
        fields, defaults = self._plans(schema)
        made = filled(value if value.__class__ is dict else self.require_struct(schema, value), defaults)
        for name, field_schema, masks in fields:
            found = made.get(name)
            if found is not None:
                made[name] = self._masked(name, found, field_schema, masks)
        return schema, made

    def _compile(self, schema: Schema) -> tuple[list[tuple[str, Schema, _Masks]], Defaults]:
        self.require_struct(schema, {})
        fields: list[tuple[str, Schema, _Masks]] = [
            (one.name, one.schema, {}) for one in schema.fields if one.name in self._fields
        ]
        return fields, defaults_of(schema, self._replace_null)

    def _masked(self, name: str, value: Any, schema: Schema | None, masks: _Masks) -> Any:
        mask = masks.get(value.__class__)
        if mask is not None:
            return mask
        mask = self._empty(name, value, schema) if self._replacement is None else self._replaced(name, value, schema)
        if not isinstance(mask, (list, dict)):  # those are not shared: somebody may add to them
            masks[value.__class__] = mask
        return mask

    def _empty(self, name: str, value: Any, schema: Schema | None) -> Any:
        if isinstance(value, list):
            return []
        if isinstance(value, dict) and (schema is None or schema.kind is Kind.MAP):
            return {}
        if value.__class__ not in _EMPTY:
            raise DataError(f"{type(self).__name__} has no mask for the field {name}, which is {_kind(value, schema)}.")
        return _scaled(_EMPTY[value.__class__], schema)

    def _replaced(self, name: str, value: Any, schema: Schema | None) -> Any:
        text = self._replacement
        assert text is not None
        if isinstance(value, str):
            return text
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise DataError(
                f"{type(self).__name__}: `replacement` is for numbers and texts, "
                f"and the field {name} is {_kind(value, schema)}."
            )
        try:
            number = Decimal(text)
            if isinstance(value, float):
                return float(text)
            if isinstance(value, int):
                bits = _BITS.get(schema.kind, 64) if schema is not None else 64
                half = 1 << (bits - 1)
                return (int(number) + half) % (2 * half) - half
        except (InvalidOperation, ValueError, OverflowError):
            raise DataError(
                f"{type(self).__name__}: `replacement` {text!r} is no number, and the field {name} is one."
            ) from None
        return _scaled(number, schema)


def _scaled(value: Any, schema: Schema | None) -> Any:
    """A decimal has as many digits behind the point as its schema says."""
    if schema is not None and schema.name == DECIMAL and isinstance(value, Decimal):
        try:
            return value.quantize(Decimal(1).scaleb(-int(schema.parameters.get("scale", "0"))))
        except InvalidOperation:
            return value
    return value


def _kind(value: Any, schema: Schema | None) -> str:
    return value.__class__.__name__ if schema is None else str(schema.kind)


class MaskFieldKey(OnKey, MaskField):
    aliases = java_names("MaskField$Key")


class MaskFieldValue(OnValue, MaskField):
    aliases = java_names("MaskField$Value")
