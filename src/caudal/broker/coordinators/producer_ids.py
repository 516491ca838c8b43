"""Producer ids: handed out one by one from durable blocks.

A block is taken from the metadata (which makes it durable first), so an id is never given twice, also after a crash;
what is left of a block at a restart is lost, as in Kafka. The next block is fetched before the current one is empty, so
a producer rarely waits for the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

# Fetch ahead when a tenth of the block is left, as Kafka does.
_PREFETCH_SHARE = 10


class ProducerIds:
    """`next_block` makes a block durable and returns it (`ClusterMetadata.next_producer_id_block`)."""

    def __init__(self, next_block: Callable[[], Awaitable[range]]) -> None:
        self._next_block = next_block
        self._current = range(0)
        self._following = range(0)
        self._prefetch_at = 0
        self._fetching: asyncio.Task[None] | None = None

    async def allocate(self) -> int:
        """One id that nobody had before."""
        while not self._current:
            if self._following:
                self._current, self._following = self._following, range(0)
                self._prefetch_at = self._current.stop - len(self._current) // _PREFETCH_SHARE
            else:
                # Shielded: a client that goes away must not take the block from those who wait beside it.
                await asyncio.shield(self._fetch())
        producer_id = self._current.start
        self._current = self._current[1:]
        if producer_id >= self._prefetch_at and not self._following:
            self._fetch()
        return producer_id

    async def close(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)

    def _fetch(self) -> asyncio.Task[None]:
        if self._fetching is None or self._fetching.done():
            self._fetching = asyncio.get_running_loop().create_task(self._take_block(), name="producer-id-block")
            self._fetching.add_done_callback(_forget_failure)
        return self._fetching

    async def _take_block(self) -> None:
        self._following = await self._next_block()


def _forget_failure(task: asyncio.Task[None]) -> None:
    """Who waits gets the exception; a failed fetch ahead is tried again when the block is empty."""
    if not task.cancelled():
        task.exception()
