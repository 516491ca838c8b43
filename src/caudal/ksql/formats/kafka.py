"""KAFKA: one column, as Kafka's own serialisers write it. No coercion: bytes of another width are an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caudal.ksql.formats.columns import ColumnsSerde
from caudal.ksql.types import Base
from caudal.serde.numbers import Double, Integer, Long
from caudal.serde.serde import Serde, SerdeError
from caudal.serde.simple import Bytes, String

SERDES: dict[Base, Serde] = {
    Base.INTEGER: Integer(),
    Base.BIGINT: Long(),
    Base.DOUBLE: Double(),
    Base.STRING: String(),
    Base.BYTES: Bytes(),
}


class KafkaRow(ColumnsSerde):
    """
    >>> from caudal.ksql import types
    >>> from caudal.ksql.schema import Column
    >>> KafkaRow([Column("ID", types.INTEGER)]).serialize((258,))
    b'\\x00\\x00\\x01\\x02'
    """

    __slots__ = ()
    settings = ("columns",)
    format = "KAFKA"

    def __init__(self, columns: Sequence[Any]) -> None:
        super().__init__(columns, False)
        if len(self.written) == 0:
            self.serialize, self.deserialize = _nothing, self.with_headers(lambda data: ())
            return
        if len(self.written) > 1 or self.written[0].type.base not in SERDES:
            raise SerdeError(f"The KAFKA format has one column of a primitive type, not {self!r}.")
        inner = SERDES[self.written[0].type.base]
        read, write = inner.deserialize, inner.serialize

        def deserialize(data: bytes) -> Any:
            return (read(data),)

        def serialize(row: Any) -> Any:
            try:
                (value,) = row
            except (TypeError, ValueError):
                raise self.unwritable(row, "a row of one value is needed") from None
            return None if value is None else write(value)

        def read_text(data: bytes) -> Any:
            try:
                return (str(data, "utf-8"),)
            except (UnicodeError, TypeError):
                return (read(data),)  # says what is wrong

        def write_text(row: Any) -> Any:
            try:
                (value,) = row
                return None if value is None else value.encode()
            except (TypeError, ValueError, AttributeError):
                return serialize(row)

        # Most keys are text: without the String serde's own call in between.
        is_text = self.written[0].type.base is Base.STRING
        self.deserialize = self.with_headers(read_text if is_text else deserialize)
        self.serialize = self.without_headers(write_text if is_text else serialize)


def _nothing(row: Any) -> None:
    return None
