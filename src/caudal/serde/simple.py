"""Text, bytes, booleans, UUIDs and nothing."""

from __future__ import annotations

import uuid
from typing import Any

from caudal.serde.serde import BuiltInSerde, cannot_read, cannot_write


class String(BuiltInSerde):
    """Text, in UTF-8 unless another encoding is given.

    >>> String().serialize("año")
    b'a\\xc3\\xb1o'
    """

    __slots__ = ("encoding",)
    settings = ("encoding",)

    def __init__(self, encoding: str = "utf-8") -> None:
        "".encode(encoding)  # an unknown encoding is said here, not with the first record
        self.encoding = encoding

    def __repr__(self) -> str:
        return "String()" if self.encoding == "utf-8" else f"String({self.encoding!r})"

    def serialize(self, value: Any) -> bytes:
        try:
            return value.encode(self.encoding)  # type: ignore[no-any-return]
        except AttributeError:
            raise cannot_write(self, value, "text is needed") from None
        except UnicodeError as error:
            raise cannot_write(self, value, error) from None

    def deserialize(self, data: bytes) -> str:
        try:
            return str(data, self.encoding)
        except UnicodeError as error:
            raise cannot_read(self, data, error) from None


class Bytes(BuiltInSerde):
    """Bytes as they are.

    >>> Bytes().deserialize(b"raw")
    b'raw'
    """

    __slots__ = ()

    def serialize(self, value: Any) -> bytes:
        if value.__class__ is bytes:
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise cannot_write(self, value, "bytes are needed; give the stream or the sink a serde (value=Json(), …)")

    def deserialize(self, data: bytes) -> bytes:
        return data


class Boolean(BuiltInSerde):
    """True or False: one byte, 1 or 0.

    >>> Boolean().serialize(True)
    b'\\x01'
    """

    __slots__ = ()

    def serialize(self, value: Any) -> bytes:
        if value is True:
            return b"\x01"
        if value is False:
            return b"\x00"
        raise cannot_write(self, value, "True or False is needed")

    def deserialize(self, data: bytes) -> bool:
        if data == b"\x01":
            return True
        if data == b"\x00":
            return False
        raise cannot_read(self, data, "one byte is needed, 0 or 1")


class Uuid(BuiltInSerde):
    """A `uuid.UUID`, as text, which is how Kafka's UUID serde writes it.

    >>> Uuid().serialize(uuid.UUID(int=1))
    b'00000000-0000-0000-0000-000000000001'
    """

    __slots__ = ()

    def serialize(self, value: Any) -> bytes:
        if not isinstance(value, uuid.UUID):
            raise cannot_write(self, value, "a uuid.UUID is needed")
        return str(value).encode("ascii")

    def deserialize(self, data: bytes) -> uuid.UUID:
        try:
            return uuid.UUID(str(data, "utf-8"))
        except ValueError as error:
            raise cannot_read(self, data, error) from None


class Null(BuiltInSerde):
    """For keys or values that are always None: anything else is refused. Kafka's Void.

    >>> Null().serialize(1)
    Traceback (most recent call last):
    caudal.serde.serde.SerdeError: Null() cannot write int 1: only None is allowed.
    """

    __slots__ = ()

    def serialize(self, value: Any) -> bytes:
        raise cannot_write(self, value, "only None is allowed")

    def deserialize(self, data: bytes) -> None:
        raise cannot_read(self, data, "only None is allowed")


Void = Null
