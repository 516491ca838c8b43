"""JSON lines: one value per line. Timestamps are RFC 3339 texts, decimals exact numbers, bytes base64; NaN is null."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, BinaryIO

import orjson

from caudal.connect.connectors.object_sink.formats.compression import EXTENSIONS, compressed
from caudal.connect.data import Schema
from caudal.connect.errors import DataError

_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z


def json_line(value: Any) -> bytes:
    """
    >>> json_line({"price": Decimal("1.10"), "raw": b"x"})
    b'{"price":1.10,"raw":"eA=="}\\n'
    """
    try:
        return orjson.dumps(value, _other, _OPTIONS)
    except TypeError:
        try:  # maps may have keys that are no texts; slower, so not from the beginning
            return orjson.dumps(value, _other, _OPTIONS | orjson.OPT_NON_STR_KEYS)
        except TypeError as error:
            raise DataError(f"The value cannot be written as JSON: {error}.") from None


def _other(value: Any) -> Any:
    if isinstance(value, Decimal) and value.is_finite():
        return orjson.Fragment(str(value).encode())
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(value).decode()
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


class JsonLines:
    takes_any = True
    takes_columns = False

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._codec = config["compression.type"]
        self._level = config["compression.level"]
        self.extension = ".json" + EXTENSIONS[self._codec]

    def writer(self, stream: BinaryIO, schema: Schema | None, first: Any) -> _Writer:
        return _Writer(compressed(stream, self._codec, self._level))

    def is_same_file(self, first: Any, value: Any) -> bool:
        return True


class _Writer:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def encode(self, values: Sequence[Any]) -> bytes:
        return b"".join([json_line(value) for value in values])

    def append(self, encoded: bytes) -> None:
        self._stream.write(encoded)

    def finish(self) -> None:
        self._stream.close()


FORMAT = JsonLines
