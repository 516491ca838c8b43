"""The serdes of a source: `key_serde`, `value_serde`, and `row_serde` for state and internal topics; and what a format
can hold, which is asked when a statement is read, not with the first record.

Bytes that are null never reach a serde: a stream's key is then None, and the planner makes the tuple of Nones of it.
A serde may itself give None: null bytes for a key or value that is one NULL column, unwrapped; a null row for the JSON
`null`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from caudal.ksql import types
from caudal.ksql.errors import KsqlError, Position
from caudal.ksql.formats.delimited import DelimitedRow
from caudal.ksql.formats.json import JsonRow
from caudal.ksql.formats.kafka import SERDES as KAFKA_TYPES
from caudal.ksql.formats.kafka import KafkaRow
from caudal.ksql.formats.none import NoRow
from caudal.ksql.formats.rows import Row
from caudal.ksql.schema import Column, Place
from caudal.ksql.sources import Format, Window, WindowKind
from caudal.ksql.types import Base, SqlType
from caudal.serde.description import registry_serde
from caudal.serde.serde import Serde
from caudal.serde.windowed import SessionWindowed, TimeWindowed

FORMATS = ("NONE", "KAFKA", "DELIMITED", "JSON", "JSON_SR", "AVRO", "PROTOBUF", "PROTOBUF_NOSR")
# Those whose schemas are in the registry: columns can be inferred, and sinks register theirs.
REGISTRY_FORMATS = {"AVRO": "AVRO", "JSON_SR": "JSON", "PROTOBUF": "PROTOBUF"}
_WRAPPING = frozenset({"JSON", "JSON_SR", "AVRO"})  # a single column may be with or without a record around it
_NESTED = (Base.ARRAY, Base.MAP, Base.STRUCT)


def key_serde(format: Format, columns: Sequence[Column], window: Window | None = None) -> Serde:
    """Between the tuple of the key columns' values and bytes; with a window, between a `Windowed` around it and bytes.
    A single column is never wrapped, but in Protobuf, which has messages only."""
    key = _serde(format, columns, wrapped=len(columns) != 1) if columns else NoRow()
    if window is None:
        return key
    if window.kind is WindowKind.SESSION:
        return SessionWindowed(key)
    assert window.size is not None
    return TimeWindowed(key, window.size)


def value_serde(format: Format, columns: Sequence[Column]) -> Serde:
    """Between the tuple of the value columns' values and bytes. Header columns are None when read, and not written."""
    single = sum(column.place is not Place.HEADERS for column in columns) == 1
    return _serde(format, columns, wrapped=not single or format.wrapped is not False)


def row_serde(types: Iterable[SqlType]) -> Serde:
    """For state stores, repartition and changelog topics: any SQL types; the same row is always the same bytes."""
    return Row(tuple(types))


def _serde(format: Format, columns: Sequence[Column], *, wrapped: bool) -> Serde:
    return _MAKERS[format.name](columns, wrapped, dict(format.properties))


def _registry_settings(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema_name": properties.get("full_schema_name"), "schema_id": properties.get("schema_id")}


def _avro(columns: Sequence[Column], wrapped: bool, properties: Mapping[str, Any]) -> Serde:
    registry_serde("Avro")  # says which package is missing
    from caudal.ksql.formats.avro import AvroRow

    return AvroRow(columns, wrapped, **_registry_settings(properties))


def _json_sr(columns: Sequence[Column], wrapped: bool, properties: Mapping[str, Any]) -> Serde:
    registry_serde("JsonSchema")
    from caudal.ksql.formats.json_sr import JsonSrRow

    return JsonSrRow(columns, wrapped, **_registry_settings(properties))


def _protobuf(columns: Sequence[Column], wrapped: bool, properties: Mapping[str, Any]) -> Serde:
    registry_serde("Protobuf")
    from caudal.ksql.formats.protobuf import ProtobufRow

    return ProtobufRow(columns, nullable=properties.get("nullable"), **_registry_settings(properties))


def _protobuf_nosr(columns: Sequence[Column], wrapped: bool, properties: Mapping[str, Any]) -> Serde:
    registry_serde("Protobuf")
    from caudal.ksql.formats.protobuf import ProtobufNoSrRow

    return ProtobufNoSrRow(columns, properties.get("nullable"))


_MAKERS: dict[str, Callable[[Sequence[Column], bool, Mapping[str, Any]], Serde]] = {
    "NONE": lambda columns, wrapped, properties: NoRow(columns),
    "KAFKA": lambda columns, wrapped, properties: KafkaRow(columns),
    "DELIMITED": lambda columns, wrapped, properties: DelimitedRow(columns, properties.get("delimiter", ",")),
    "JSON": lambda columns, wrapped, properties: JsonRow(columns, wrapped),
    "JSON_SR": _json_sr,
    "AVRO": _avro,
    "PROTOBUF": _protobuf,
    "PROTOBUF_NOSR": _protobuf_nosr,
}


# -- what a format can hold --------------------------------------------------------------------------------------------


def check_columns(
    format: Format, columns: Sequence[Column], *, is_key: bool, at: Mapping[str, Position] | None = None
) -> None:
    """KsqlError where the format cannot hold these columns; `at` says where each one stands in the statement."""
    places = at or {}
    written = [column for column in columns if column.place is not Place.HEADERS]
    if format.name == "NONE" and is_key and written:
        raise KsqlError(
            f"The 'NONE' format can only be used when no columns are defined. Got: [{', '.join(map(str, written))}]",
            places.get(written[0].name),
        )
    if format.name == "NONE" and not is_key:
        raise KsqlError("The 'NONE' format can only be used for keys.")
    if format.name == "KAFKA" and len(written) > 1:
        raise KsqlError(
            f"The 'KAFKA' format only supports a single field. Got: [{', '.join(map(str, written))}]",
            places.get(written[1].name),
        )
    if format.wrapped is not None and not is_key:
        _check_wrapping(format, written, places)
    for column in written:
        here = places.get(column.name)
        if is_key and _any(column.type, lambda type: isinstance(type, types.Map)):
            raise KsqlError(
                "Map keys, including types that contain maps, are not supported as they may lead to unexpected "
                f"behavior due to inconsistent serialization. Key column name: `{column.name}`. Column type: "
                f"{column.type}.",
                here,
            )
        _check_type(format.name, column, here)
    if format.name in ("AVRO", "PROTOBUF", "PROTOBUF_NOSR"):
        _check_schema(format, written, places)


def _check_wrapping(format: Format, written: Sequence[Column], places: Mapping[str, Position]) -> None:
    if len(written) != 1:
        raise KsqlError("'WRAP_SINGLE_VALUE' is only valid for single-field value schemas.", places.get(""))
    if format.name in _WRAPPING or format.wrapped is (format.name in ("PROTOBUF", "PROTOBUF_NOSR")):
        return
    raise KsqlError(
        f"Format '{format.name}' does not support 'WRAP_SINGLE_VALUE' set to '{str(format.wrapped).lower()}'.",
        places.get(""),
    )


def _check_type(format: str, column: Column, at: Position | None) -> None:
    type = column.type
    if (format == "KAFKA" and type.base not in KAFKA_TYPES) or (format == "DELIMITED" and type.base in _NESTED):
        raise KsqlError(
            f"The '{format}' format does not support type '{type.base.value}', column: `{column.name}`.", at
        )
    if format in ("JSON", "JSON_SR") and _any(type, _has_other_keys):
        raise KsqlError(f"The '{format}' format only supports MAP types with STRING keys, column: `{column.name}`.", at)


def _check_schema(format: Format, written: Sequence[Column], places: Mapping[str, Position]) -> None:
    from caudal.ksql.formats.avro_schema import check_names
    from caudal.ksql.formats.protobuf_schema import protobuf_text

    for column in written:
        try:
            check_names([column]) if format.name == "AVRO" else protobuf_text([column])
        except KsqlError as error:
            error.at = places.get(column.name)
            raise


def _has_other_keys(type: SqlType) -> bool:
    return isinstance(type, types.Map) and type.key.base is not Base.STRING


def _any(type: SqlType, test: Callable[[SqlType], bool]) -> bool:
    """Whether it is so of the type or of one inside of it."""
    if test(type):
        return True
    if isinstance(type, types.Array):
        return _any(type.element, test)
    if isinstance(type, types.Map):
        return _any(type.key, test) or _any(type.value, test)
    return isinstance(type, types.Struct) and any(_any(field.type, test) for field in type.fields)
