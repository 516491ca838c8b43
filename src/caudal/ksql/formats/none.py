"""NONE: the key of a stream without key columns. Whatever bytes are there, the row is empty; none are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caudal.ksql.formats.columns import ColumnsSerde
from caudal.serde.serde import SerdeError


class NoRow(ColumnsSerde):
    """
    >>> NoRow().deserialize(b"any"), NoRow().serialize(())
    ((), None)
    """

    __slots__ = ()
    settings = ()
    format = "NONE"

    def __init__(self, columns: Sequence[Any] = ()) -> None:
        super().__init__(columns, True)
        if self.columns:
            raise SerdeError("The NONE format has no columns.")
        self.deserialize = _empty
        self.serialize = _no_bytes


def _empty(data: bytes) -> tuple[()]:
    return ()


def _no_bytes(row: Any) -> None:
    return None
