"""SQL columns as a Protobuf file with one message, as Connect makes it, and messages as SQL columns.

Protobuf has no NULL: an unset number is 0. Where that is not wanted, columns are `optional` fields or wrappers
(VALUE_PROTOBUF_NULLABLE_REPRESENTATION). Arrays of arrays or maps have no form in Protobuf.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from caudal.ksql import types
from caudal.ksql.errors import KsqlError
from caudal.ksql.schema import Column
from caudal.ksql.types import Base, SqlType

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

DEFAULT_NAME = "ConnectDefault1"
OPTIONAL, WRAPPER = "optional", "wrapper"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIMPLE = {
    Base.BOOLEAN: "bool",
    Base.INTEGER: "int32",
    Base.BIGINT: "int64",
    Base.DOUBLE: "double",
    Base.STRING: "string",
    Base.BYTES: "bytes",
}
_WRAPPERS = {
    Base.BOOLEAN: "BoolValue",
    Base.INTEGER: "Int32Value",
    Base.BIGINT: "Int64Value",
    Base.DOUBLE: "DoubleValue",
    Base.STRING: "StringValue",
    Base.BYTES: "BytesValue",
}
_MESSAGES = {
    Base.DECIMAL: ("confluent.type.Decimal", "confluent/type/decimal.proto"),
    Base.DATE: ("google.type.Date", "google/type/date.proto"),
    Base.TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    Base.TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}


def protobuf_text(columns: Sequence[Column], name: str | None = None, nullable: str | None = None) -> str:
    """
    >>> print(protobuf_text([Column("ID", types.BIGINT), Column("TAGS", types.array(types.STRING))]))
    syntax = "proto3";
    <BLANKLINE>
    message ConnectDefault1 {
      int64 ID = 1;
      repeated string TAGS = 2;
    }
    <BLANKLINE>
    """
    package, _, message = (name or DEFAULT_NAME).rpartition(".")
    file = _File(nullable)
    lines = file.message(message, [(column.name, column.type) for column in columns], "")
    head = ['syntax = "proto3";']
    head += [f"package {package};"] if package else []
    head += [""] + [f'import "{path}";' for path in sorted(file.imports)] + ([""] if file.imports else [])
    return "\n".join([*head, *lines, ""])


class _File:
    def __init__(self, nullable: str | None) -> None:
        self.nullable = nullable
        self.imports: set[str] = set()
        self.count = 1  # of messages: Connect numbers them

    def message(self, name: str, fields: Sequence[tuple[str, SqlType]], indent: str) -> list[str]:
        lines = [f"{indent}message {name} {{"]
        nested: list[str] = []
        for number, (field, type) in enumerate(fields, 1):
            if _NAME.fullmatch(field) is None:
                raise KsqlError(f"Schema is not compatible with Protobuf: Illegal name of a field: {field}")
            lines.append(f"{indent}  {self._field(type, nested, indent)} {field} = {number}{self._options(type)};")
        return [*lines, *nested, f"{indent}}}"]

    def _field(self, type: SqlType, nested: list[str], indent: str) -> str:
        if isinstance(type, types.Array):
            if isinstance(type.element, (types.Array, types.Map)):
                raise KsqlError(f"The PROTOBUF format does not support {type}: arrays hold no arrays or maps there.")
            return f"repeated {self._one(type.element, nested, indent)}"
        if isinstance(type, types.Map):
            name = f"{self._next()}Entry"
            nested += self.message(name, [("key", type.key), ("value", type.value)], indent + "  ")
            return f"repeated {name}"
        if type.base in _SIMPLE and self.nullable == WRAPPER:
            self.imports.add("google/protobuf/wrappers.proto")
            return f"google.protobuf.{_WRAPPERS[type.base]}"
        prefix = "optional " if type.base in _SIMPLE and self.nullable == OPTIONAL else ""
        return prefix + self._one(type, nested, indent)

    def _options(self, type: SqlType) -> str:
        """A message does not say precision and scale of a decimal: its field does, as Connect writes it."""
        inner = type.element if isinstance(type, types.Array) else type
        if not isinstance(inner, types.Decimal):
            return ""
        self.imports.add("confluent/meta.proto")
        pairs = (("precision", inner.precision), ("scale", inner.scale))
        shown = ", ".join(f'{{key: "{key}", value: "{value}"}}' for key, value in pairs)
        return f" [(confluent.field_meta) = {{params: [{shown}]}}]"

    def _one(self, type: SqlType, nested: list[str], indent: str) -> str:
        if type.base in _SIMPLE:
            return _SIMPLE[type.base]
        if type.base in _MESSAGES:
            name, path = _MESSAGES[type.base]
            self.imports.add(path)
            return name
        assert isinstance(type, types.Struct)
        name = self._next()
        nested += self.message(name, [(field.name, field.type) for field in type.fields], indent + "  ")
        return name

    def _next(self) -> str:
        self.count += 1
        return f"ConnectDefault{self.count}"


# -- inference ---------------------------------------------------------------------------------------------------------

_SPECIAL: dict[str, SqlType] = {
    "google.type.Date": types.DATE,
    "google.type.TimeOfDay": types.TIME,
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "google.protobuf.BoolValue": types.BOOLEAN,
    "google.protobuf.Int32Value": types.INTEGER,
    "google.protobuf.UInt32Value": types.BIGINT,
    "google.protobuf.Int64Value": types.BIGINT,
    "google.protobuf.UInt64Value": types.BIGINT,
    "google.protobuf.FloatValue": types.DOUBLE,
    "google.protobuf.DoubleValue": types.DOUBLE,
    "google.protobuf.StringValue": types.STRING,
    "google.protobuf.BytesValue": types.BYTES,
}


def sql_type(descriptor: Descriptor, upper: bool = True) -> SqlType:
    """The SQL type of a message."""
    return _message(descriptor, upper, ())


def _message(descriptor: Descriptor, upper: bool, open: tuple[str, ...]) -> SqlType:
    name = descriptor.full_name
    if name in _SPECIAL:
        return _SPECIAL[name]
    if name in open:
        raise KsqlError(f"The Protobuf message {name} is inside of itself, which SQL has no type for.")
    return types.struct(
        *(
            (field.name.upper() if upper else field.name, _type(field, upper, (*open, name)))
            for field in descriptor.fields
        )
    )


def _type(field: FieldDescriptor, upper: bool, open: tuple[str, ...]) -> SqlType:
    message = field.message_type
    if message is not None and field.is_repeated and _is_entry(message):
        key, value = message.fields_by_name["key"], message.fields_by_name["value"]
        return types.mapping(_type(key, upper, open), _type(value, upper, open))
    one = _one(field, upper, open)
    return types.array(one) if field.is_repeated else one


def _is_entry(message: Descriptor) -> bool:
    names = [field.name for field in message.fields]
    return message.GetOptions().map_entry or (message.name.endswith("Entry") and names == ["key", "value"])


def _one(field: FieldDescriptor, upper: bool, open: tuple[str, ...]) -> SqlType:
    if field.message_type is not None:
        if field.message_type.full_name == "confluent.type.Decimal":
            return _decimal(field)
        return _message(field.message_type, upper, open)
    kinds: dict[int, SqlType] = {
        field.TYPE_DOUBLE: types.DOUBLE,
        field.TYPE_FLOAT: types.DOUBLE,
        field.TYPE_INT64: types.BIGINT,
        field.TYPE_UINT64: types.BIGINT,
        field.TYPE_INT32: types.INTEGER,
        field.TYPE_FIXED64: types.BIGINT,
        field.TYPE_FIXED32: types.BIGINT,
        field.TYPE_BOOL: types.BOOLEAN,
        field.TYPE_STRING: types.STRING,
        field.TYPE_BYTES: types.BYTES,
        field.TYPE_UINT32: types.BIGINT,
        field.TYPE_ENUM: types.STRING,
        field.TYPE_SFIXED32: types.INTEGER,
        field.TYPE_SFIXED64: types.BIGINT,
        field.TYPE_SINT32: types.INTEGER,
        field.TYPE_SINT64: types.BIGINT,
    }
    if field.type not in kinds:
        raise KsqlError(f"The Protobuf field {field.name} has a type that SQL does not have.")
    return kinds[field.type]


def _decimal(field: Any) -> SqlType:
    """Precision and scale are parameters of the field (confluent.field_meta), where the schema says them."""
    for _, meta in field.GetOptions().ListFields():
        parameters = dict(getattr(meta, "params", {}))
        if "precision" in parameters or "scale" in parameters:
            return types.decimal(int(parameters.get("precision", 64)), int(parameters.get("scale", 0)))
    return types.decimal(64, 0)
