"""Values that are bytes or texts already, each followed by a separator (a line feed unless said)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from caudal.connect.connectors.object_sink.formats.compression import EXTENSIONS, compressed
from caudal.connect.data import Schema
from caudal.connect.errors import DataError


class Raw:
    takes_any = True
    takes_columns = False

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._codec = config["compression.type"]
        self._level = config["compression.level"]
        self._separator = config["format.bytearray.separator"].encode().decode("unicode_escape").encode()
        self.extension = "." + config["format.bytearray.extension"].lstrip(".") + EXTENSIONS[self._codec]

    def writer(self, stream: BinaryIO, schema: Schema | None, first: Any) -> _Writer:
        return _Writer(compressed(stream, self._codec, self._level), self._separator)

    def is_same_file(self, first: Any, value: Any) -> bool:
        return True


class _Writer:
    def __init__(self, stream: Any, separator: bytes) -> None:
        self._stream = stream
        self._separator = separator

    def encode(self, values: Sequence[Any]) -> bytes:
        parts = []
        for value in values:
            if isinstance(value, str):
                value = value.encode()
            elif not isinstance(value, bytes):
                raise DataError("format=bytes writes bytes and texts; use the ByteArray or String converter.")
            parts += [value, self._separator]
        return b"".join(parts)

    def append(self, encoded: bytes) -> None:
        self._stream.write(encoded)

    def finish(self) -> None:
        self._stream.close()


FORMAT = Raw
