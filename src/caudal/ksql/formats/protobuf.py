"""PROTOBUF: a row is a message, always wrapped. PROTOBUF_NOSR is the message's bytes alone, without a registry: the
reader's columns are the schema, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from caudal.ksql.formats.columns import ColumnsSerde
from caudal.ksql.formats.json_values import Convert
from caudal.ksql.formats.protobuf_schema import DEFAULT_NAME, protobuf_text
from caudal.ksql.formats.registry_row import RegistryRow
from caudal.ksql.formats.structures import row_reader, row_writer
from caudal.ksql.formats.values import Misfit
from caudal.ksql.types import Base, Decimal, SqlType
from caudal.serde.protobuf import Protobuf
from caudal.serde.protobuf_dicts import to_dict, to_message
from caudal.serde.serde import SerdeError


class ProtobufRow(RegistryRow):
    """`nullable`: None, "optional" or "wrapper".

    >>> from caudal.ksql import types
    >>> from caudal.ksql.schema import Column
    >>> serde = ProtobufRow([Column("ID", types.BIGINT)]).for_registry("mock://docs").for_topic("protobuf", False)
    >>> serde.deserialize(serde.serialize((7,)))
    (7,)
    """

    __slots__ = ("nullable",)
    settings = (*RegistryRow.settings, "nullable")
    format = "PROTOBUF"

    def __init__(
        self, columns: Sequence[Any], wrapped: bool = True, *, nullable: str | None = None, **settings: Any
    ) -> None:
        super().__init__(columns, True, **settings)
        self.nullable = nullable
        schema: dict[str, Any] = {"schema": self.schema_text()}
        if self.schema_id is not None:
            schema = {"schema_id": self.schema_id, "message": self.schema_name}
        self.deserialize = _reading(self, Protobuf(**self.at).deserialize)
        self.serialize = _writing(self, Protobuf(**schema, **self.at).serialize)

    def schema_text(self) -> str:
        return protobuf_text(self.written, self.schema_name, self.nullable)


class ProtobufNoSrRow(ColumnsSerde):
    """
    >>> from caudal.ksql import types
    >>> from caudal.ksql.schema import Column
    >>> ProtobufNoSrRow([Column("ID", types.BIGINT)]).serialize((7,))
    b'\\x08\\x07'
    """

    __slots__ = ("nullable",)
    settings = ("columns", "nullable")
    format = "PROTOBUF_NOSR"

    def __init__(self, columns: Sequence[Any], nullable: str | None = None) -> None:
        super().__init__(columns, True)
        self.nullable = nullable
        codec: list[tuple[Callable[[Any], Any], Convert, Convert]] = []

        def known() -> tuple[Callable[[Any], Any], Convert, Convert]:
            # Compiled with the first record: a statement's checks need no descriptors.
            if not codec:
                codec.append(_codec(protobuf_text(self.written, None, self.nullable)))
            return codec[0]

        def decode(data: bytes) -> Any:
            parse, as_dict, _ = known()
            try:
                return as_dict(parse(data))
            except Exception as error:
                raise self.unreadable(data, " ".join(str(error).split())) from None

        def encode(value: Any) -> Any:
            return known()[2](value).SerializeToString(deterministic=True)

        self.deserialize = _reading(self, decode)
        self.serialize = _writing(self, encode)


def _codec(text: str) -> tuple[Callable[[Any], Any], Convert, Convert]:
    from google.protobuf.message_factory import GetMessageClass

    serde = Protobuf(text)
    descriptor = serde._file(serde._given(text)).message_types_by_name[DEFAULT_NAME]
    return GetMessageClass(descriptor).FromString, to_dict(descriptor), to_message(descriptor)


def _reading(serde: ColumnsSerde, decode: Convert) -> Convert:
    written = serde.written
    convert = row_reader([column.name for column in written], [column.type for column in written])

    def read(data: bytes) -> Any:
        value = decode(data)
        try:
            return convert(value)
        except Misfit as error:
            raise serde.unreadable(data, error) from None

    return serde.with_headers(read)


def _writing(serde: ColumnsSerde, encode: Convert) -> Convert:
    written = serde.written
    make = row_writer([column.name for column in written], [column.type for column in written], _leaf)

    def write(row: Any) -> Any:
        try:
            return encode(make(row))
        except SerdeError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise serde.unwritable(row, error) from None

    return serde.without_headers(write)


def _leaf(type: SqlType) -> Convert | None:
    if isinstance(type, Decimal):
        return lambda value: _decimal(value, type)
    if type.base is Base.DATE:
        return lambda value: {"year": value.year, "month": value.month, "day": value.day}
    if type.base is Base.TIME:
        return lambda value: {
            "hours": value.hour,
            "minutes": value.minute,
            "seconds": value.second,
            "nanos": value.microsecond * 1000,
        }
    return None


def _decimal(value: Any, type: Decimal) -> dict[str, Any]:
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * 10 ** (exponent + type.scale) * (-1 if sign else 1)
    width = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    data = unscaled.to_bytes(width, "big", signed=True)
    return {"value": data, "precision": type.precision, "scale": type.scale}
