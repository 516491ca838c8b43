"""Lists of one kind of element, in the format of Kafka's ListSerializer.

Elements of fixed width (Long, Integer, Short, Double, Float, Uuid) are written one after the other, with the indices of
the nulls in front; others with their length, which is -1 for a null.
"""

from __future__ import annotations

import struct
from typing import Any

from caudal.serde.numbers import Double, Float, Integer, Long, Short
from caudal.serde.serde import BuiltInSerde, Serde, SerdeError, cannot_read, cannot_write
from caudal.serde.simple import Uuid

# A UUID has a fixed width as text.
_WIDTHS: dict[type, int] = {Long: 8, Integer: 4, Short: 2, Double: 8, Float: 4, Uuid: 36}
_FIXED, _VARIABLE = 0, 1  # first byte: nulls are listed by index, or are lengths of -1
_int = struct.Struct(">i")


class ListOf(BuiltInSerde):
    """A list whose elements have one serde; None may be an element.

    >>> from caudal.serde import String
    >>> ListOf(String()).deserialize(ListOf(String()).serialize(["a", None, "b"]))
    ['a', None, 'b']
    """

    __slots__ = ("_width", "element")
    settings = ("element",)

    def __init__(self, element: Serde) -> None:
        self.element = element
        self._width = _WIDTHS.get(type(element))

    def serialize(self, value: Any) -> bytes:
        if not isinstance(value, (list, tuple)):
            raise cannot_write(self, value, "a list is needed")
        parts: list[bytes] = []
        if self._width is not None:
            nulls = [index for index, element in enumerate(value) if element is None]
            parts.append(bytes([_FIXED]) + struct.pack(f">{len(nulls) + 1}i", len(nulls), *nulls))
        else:
            parts.append(bytes([_VARIABLE]))
        parts.append(_int.pack(len(value)))
        for element in value:
            if element is None:
                if self._width is None:
                    parts.append(_int.pack(-1))
                continue
            data = self.element.serialize(element)
            if self._width is None:
                parts.append(_int.pack(len(data)))
            parts.append(data)
        return b"".join(parts)

    def deserialize(self, data: bytes) -> list[Any]:
        try:
            return self._read(data)
        except (struct.error, IndexError):
            raise cannot_read(self, data, "it ends too early") from None
        except SerdeError as error:
            raise cannot_read(self, data, str(error).rstrip(".")) from None

    def _read(self, data: bytes) -> list[Any]:
        strategy, position = data[0], 1
        nulls: set[int] = set()
        if strategy == _FIXED:
            (count,) = _int.unpack_from(data, position)
            nulls = set(struct.unpack_from(f">{count}i", data, position + 4)) if count > 0 else set()
            position += 4 + 4 * max(count, 0)
        elif strategy != _VARIABLE:
            raise SerdeError(f"{strategy} is no kind of list")
        (size,) = _int.unpack_from(data, position)
        position += 4
        elements: list[Any] = []
        for index in range(size):
            if strategy == _FIXED:
                length = -1 if index in nulls else (self._width or 0)
            else:
                (length,) = _int.unpack_from(data, position)
                position += 4
            if length < 0:
                elements.append(None)
                continue
            if position + length > len(data):
                raise IndexError
            elements.append(self.element.deserialize(data[position : position + length]))
            position += length
        return elements
