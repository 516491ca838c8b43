"""How many bytes each partition takes on the brokers' disks: DescribeLogDirs, which librdkafka does not offer.

One request of version 1 over a plain connection to each broker; Apache Kafka 4 and Caudal both answer it. Where the
cluster wants TLS or SASL the sizes are not known, and pages show a dash.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Mapping

API_KEY, VERSION = 35, 1
SECONDS = 3.0
_LARGEST_ANSWER = 64 << 20
_CLIENT = b"caudal-ui"

Sizes = dict[tuple[str, int], int]


def request() -> bytes:
    """For all partitions that the broker has."""
    body = struct.pack(">hhih", API_KEY, VERSION, 1, len(_CLIENT)) + _CLIENT + struct.pack(">i", -1)
    return struct.pack(">i", len(body)) + body


def sizes_of(answer: bytes) -> Sizes:
    """ValueError where the answer is damaged. A replica that is being moved is left out."""
    try:
        return _sizes(_Reader(answer))
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"the answer cannot be read: {error}") from None


def _sizes(reader: _Reader) -> Sizes:
    sizes: Sizes = {}
    reader.skip(8)  # correlation id, throttle time
    for _ in range(reader.int32()):
        reader.skip(2)
        reader.string()
        for _ in range(reader.int32()):
            topic = reader.string()
            for _ in range(reader.int32()):
                partition, size, _, is_future = reader.unpack(">iqq?")
                if not is_future:
                    sizes[topic, partition] = size
    return sizes


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def unpack(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def skip(self, count: int) -> None:
        self._at += count

    def int32(self) -> int:
        return self.unpack(">i")[0]

    def string(self) -> str:
        (length,) = self.unpack(">h")
        self._at += length
        return self._data[self._at - length : self._at].decode()


async def partition_sizes(brokers: Iterable[tuple[str, int]], config: Mapping[str, object]) -> Sizes | None:
    """Bytes of one replica of each partition (the largest); None where nobody can be asked."""
    if str(config.get("security.protocol", "plaintext")).lower() != "plaintext":
        return None
    answers = await asyncio.gather(*(_ask(host, port) for host, port in brokers), return_exceptions=True)
    known = [answer for answer in answers if isinstance(answer, dict)]
    if not known:
        return None
    together: Sizes = {}
    for sizes in known:
        for place, size in sizes.items():
            together[place] = max(size, together.get(place, 0))
    return together


async def _ask(host: str, port: int) -> Sizes:
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(request())
            (length,) = struct.unpack(">i", await reader.readexactly(4))
            if not 0 < length <= _LARGEST_ANSWER:
                raise ValueError(f"an answer of {length} bytes")
            return sizes_of(await reader.readexactly(length))
        finally:
            writer.close()
