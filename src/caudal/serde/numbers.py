"""Numbers in Kafka's formats: two's complement and IEEE 754, big endian, of fixed width."""

from __future__ import annotations

import struct
from typing import Any, ClassVar

from caudal.serde.serde import BuiltInSerde, cannot_read, cannot_write


class _Fixed(BuiltInSerde):
    """A number of fixed width. Subclasses have their own two methods: one call less on the way of every record."""

    __slots__ = ()

    width: ClassVar[int]

    def _refuse(self, value: Any, error: Exception) -> Exception:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            cause = str(error) if isinstance(value, float) else f"it does not fit into {self.width} bytes"
        else:
            cause = "a number is needed"
        return cannot_write(self, value, cause)

    def _unreadable(self, data: bytes) -> Exception:
        return cannot_read(self, data, f"{self.width} bytes are needed, not {len(data)}")


_long, _integer, _short = struct.Struct(">q"), struct.Struct(">i"), struct.Struct(">h")
_double, _float = struct.Struct(">d"), struct.Struct(">f")


class Long(_Fixed):
    """A 64-bit integer: 8 bytes.

    >>> Long().serialize(258)
    b'\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x02'
    """

    __slots__ = ()
    width = 8

    def serialize(self, value: Any, _pack: Any = _long.pack) -> bytes:
        try:
            return _pack(value)  # type: ignore[no-any-return]
        except struct.error as error:
            raise self._refuse(value, error) from None

    def deserialize(self, data: bytes, _unpack: Any = _long.unpack) -> int:
        try:
            return _unpack(data)[0]  # type: ignore[no-any-return]
        except struct.error:
            raise self._unreadable(data) from None


class Integer(_Fixed):
    """A 32-bit integer: 4 bytes.

    >>> Integer().deserialize(b"\\x00\\x00\\x01\\x02")
    258
    """

    __slots__ = ()
    width = 4

    def serialize(self, value: Any, _pack: Any = _integer.pack) -> bytes:
        try:
            return _pack(value)  # type: ignore[no-any-return]
        except struct.error as error:
            raise self._refuse(value, error) from None

    def deserialize(self, data: bytes, _unpack: Any = _integer.unpack) -> int:
        try:
            return _unpack(data)[0]  # type: ignore[no-any-return]
        except struct.error:
            raise self._unreadable(data) from None


class Short(_Fixed):
    """A 16-bit integer: 2 bytes.

    >>> Short().serialize(-1)
    b'\\xff\\xff'
    """

    __slots__ = ()
    width = 2

    def serialize(self, value: Any, _pack: Any = _short.pack) -> bytes:
        try:
            return _pack(value)  # type: ignore[no-any-return]
        except struct.error as error:
            raise self._refuse(value, error) from None

    def deserialize(self, data: bytes, _unpack: Any = _short.unpack) -> int:
        try:
            return _unpack(data)[0]  # type: ignore[no-any-return]
        except struct.error:
            raise self._unreadable(data) from None


class Double(_Fixed):
    """A 64-bit floating-point number: 8 bytes.

    >>> Double().deserialize(Double().serialize(1.5))
    1.5
    """

    __slots__ = ()
    width = 8

    def serialize(self, value: Any, _pack: Any = _double.pack) -> bytes:
        try:
            return _pack(value)  # type: ignore[no-any-return]
        except (struct.error, OverflowError) as error:
            raise self._refuse(value, error) from None

    def deserialize(self, data: bytes, _unpack: Any = _double.unpack) -> float:
        try:
            return _unpack(data)[0]  # type: ignore[no-any-return]
        except struct.error:
            raise self._unreadable(data) from None


class Float(_Fixed):
    """A 32-bit floating-point number: 4 bytes; what does not fit exactly is rounded.

    >>> Float().deserialize(Float().serialize(0.5))
    0.5
    """

    __slots__ = ()
    width = 4

    def serialize(self, value: Any, _pack: Any = _float.pack) -> bytes:
        try:
            return _pack(value)  # type: ignore[no-any-return]
        except (struct.error, OverflowError) as error:
            raise self._refuse(value, error) from None

    def deserialize(self, data: bytes, _unpack: Any = _float.unpack) -> float:
        try:
            return _unpack(data)[0]  # type: ignore[no-any-return]
        except struct.error:
            raise self._unreadable(data) from None
