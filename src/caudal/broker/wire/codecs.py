"""The four compression codecs of Kafka's record batches.

Snappy comes in two shapes: Java clients wrap it in xerial's block framing, librdkafka writes one raw block. Both are
read; xerial is written, since every client reads that. lz4 is the standard frame format, zstd and gzip as they are.

A megabyte of zstd can open to thirty gigabytes, so nothing is opened beyond `MAX_DECOMPRESSED`. Clients limit a batch
before they compress it (1 MiB by default): no honest one comes near.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from typing import Any

import cramjam

from caudal.broker.errors import ErrorCode, KafkaError

Buffer = bytes | bytearray | memoryview

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
BY_NAME = {name: number for number, name in enumerate(NAMES)}

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK = 32 * 1024
_INT = struct.Struct(">i")
MAX_DECOMPRESSED = 128 << 20


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """The bytes of `data` in the given codec; `level` as Kafka's `compression.<codec>.level` (None: its default)."""
    if codec == NONE:
        return bytes(data)
    if codec == SNAPPY:
        return _compress_xerial(data)
    if codec == LZ4:
        return _compress_lz4(data, level)
    module = {GZIP: cramjam.gzip, ZSTD: cramjam.zstd}[codec]
    chosen = None if level is None or (level < 0 and codec == GZIP) else level
    return bytes(module.compress(data) if chosen is None else module.compress(data, level=chosen))


def decompress(codec: int, data: Buffer) -> bytes:
    """The original bytes; a stream that does not decode is the client's corrupt message, not our crash."""
    if codec == NONE:
        return bytes(data)
    decoder = _DECODERS.get(codec)
    if decoder is None:
        raise KafkaError(ErrorCode.unsupported_compression_type, f"compression codec {codec} is not known")
    try:
        return decoder(data)
    except TooLarge as error:
        raise KafkaError(ErrorCode.invalid_record, f"{NAMES[codec]} data opens to more than {error} bytes") from None
    except (cramjam.DecompressionError, ValueError, struct.error) as error:
        raise KafkaError(ErrorCode.corrupt_message, f"{NAMES[codec]} data does not decompress: {error}") from error


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    # Java clients refuse frames whose blocks depend on each other, which is cramjam's default.
    frame = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    frame.compress(bytes(data))
    return bytes(frame.finish())


class TooLarge(Exception):
    """The data opens to more than the limit, which is the argument."""


def _open(module: Any, data: Buffer) -> bytes:
    # Memory that the system only provides as it is written to: the limit costs nothing, and cannot be passed.
    with mmap.mmap(-1, MAX_DECOMPRESSED) as room:
        try:
            size = module.decompress_into(data, room)
        except cramjam.DecompressionError as error:
            if "write whole buffer" in str(error):
                raise TooLarge(MAX_DECOMPRESSED) from error
            raise
        return room[:size]


def _open_snappy_block(data: Buffer, left: int) -> bytes:
    if cramjam.snappy.decompress_raw_len(data) > left:
        raise TooLarge(MAX_DECOMPRESSED)
    return bytes(cramjam.snappy.decompress_raw(data))


def _compress_xerial(data: Buffer) -> bytes:
    parts: list[Any] = [_XERIAL_HEADER]
    view = memoryview(data)
    for start in range(0, len(view), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK]))
        parts.append(_INT.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def _decompress_snappy(data: Buffer) -> bytes:
    view = memoryview(data)
    if bytes(view[:8]) != _XERIAL_MAGIC:
        return _open_snappy_block(view, MAX_DECOMPRESSED)
    parts: list[bytes] = []
    left = MAX_DECOMPRESSED
    position = 16
    while position < len(view):
        (length,) = _INT.unpack_from(view, position)
        position += 4
        if length < 0 or position + length > len(view):
            raise ValueError("a snappy block is longer than its batch")
        parts.append(_open_snappy_block(view[position : position + length], left))
        left -= len(parts[-1])
        position += length
    return b"".join(parts)


_DECODERS: dict[int, Callable[[Buffer], bytes]] = {
    GZIP: lambda data: _open(cramjam.gzip, data),
    SNAPPY: _decompress_snappy,
    LZ4: lambda data: _open(cramjam.lz4, data),
    ZSTD: lambda data: _open(cramjam.zstd, data),
}
