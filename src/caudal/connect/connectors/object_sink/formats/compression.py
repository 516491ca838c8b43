"""Streams that compress what text formats write. The same input gives the same bytes: no time, no name in the head."""

from __future__ import annotations

import bz2
import gzip
import lzma
from typing import Any, BinaryIO

EXTENSIONS = {"none": "", "gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}


def compressed(stream: BinaryIO, codec: str, level: int | None) -> Any:
    """Something to write to; its `close` leaves `stream` open. None is the codec's own level."""
    match codec:
        case "gzip":
            return gzip.GzipFile(
                filename="", fileobj=stream, mode="wb", compresslevel=6 if level is None else level, mtime=0
            )
        case "bzip2":
            return bz2.BZ2File(stream, "wb", compresslevel=9 if level is None else level)
        case "xz":
            return lzma.LZMAFile(stream, "wb", preset=level)
        case "zstd":
            return _Zstandard(stream, 3 if level is None else level)
        case _:
            return _Plain(stream)


class _Plain:
    def __init__(self, stream: BinaryIO) -> None:
        self.write = stream.write

    def close(self) -> None:
        pass


class _Zstandard:
    def __init__(self, stream: BinaryIO, level: int) -> None:
        import cramjam

        self._stream = stream
        self._codec = cramjam.zstd.Compressor(level)

    def write(self, data: bytes) -> None:
        self._codec.compress(data)
        self._stream.write(bytes(self._codec.flush()))

    def close(self) -> None:
        self._stream.write(bytes(self._codec.finish()))
