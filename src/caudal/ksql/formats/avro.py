"""AVRO: a row is a record, or, unwrapped, the value of its one column. Records are read as they were written and fields
are matched by name, so any schema of the subject's history will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caudal.ksql.formats.avro_schema import avro_text, field_name
from caudal.ksql.formats.registry_row import RegistryRow
from caudal.ksql.formats.structures import reader, row_reader, row_writer, writer
from caudal.ksql.formats.values import Misfit
from caudal.serde.avro import Avro
from caudal.serde.serde import SerdeError


class AvroRow(RegistryRow):
    """
    >>> from caudal.ksql import types
    >>> from caudal.ksql.schema import Column
    >>> serde = AvroRow([Column("ID", types.BIGINT)]).for_registry("mock://docs").for_topic("avro", False)
    >>> serde.deserialize(serde.serialize((7,)))
    (7,)
    """

    __slots__ = ()
    format = "AVRO"

    def __init__(self, columns: Sequence[Any], wrapped: bool = True, **settings: Any) -> None:
        super().__init__(columns, wrapped, **settings)
        written = self.written
        names = [field_name(column.name) for column in written]
        given = [column.type for column in written]
        decode = Avro(**self.at).deserialize
        convert = row_reader(names, given) if wrapped else reader(given[0])

        def read(data: bytes) -> Any:
            value = decode(data)
            try:
                if wrapped:
                    return None if value is None else convert(value)
                return (convert(value),)
            except Misfit as error:
                raise self.unreadable(data, error) from None

        schema = {"schema": self.schema_text()} if self.schema_id is None else {"schema_id": self.schema_id}
        encode = Avro(**schema, **self.at).serialize
        make = row_writer(names, given, lambda type: None) if wrapped else writer(given[0])

        def write(row: Any) -> Any:
            try:
                if not wrapped:
                    (value,) = row
                    return None if value is None else encode(value if make is None else make(value))
                return encode(make(row))  # type: ignore[misc]
            except SerdeError:
                raise
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                raise self.unwritable(row, error) from None

        self.deserialize = self.with_headers(read)
        self.serialize = self.without_headers(write)

    def schema_text(self) -> str:
        return avro_text(self.written, self.wrapped, self.schema_name)
