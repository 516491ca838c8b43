"""Producer ids are never given twice, and a failed or abandoned fetch of a block loses nothing but ids."""

from __future__ import annotations

import asyncio

import pytest

from caudal.broker.coordinators.producer_ids import ProducerIds


class Blocks:
    def __init__(self, size: int = 10) -> None:
        self.size = size
        self.taken = 0
        self.error: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def take(self) -> range:
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        start = self.taken * self.size
        self.taken += 1
        return range(start, start + self.size)


async def test_ids_run_through_the_blocks_without_gap_or_repetition() -> None:
    ids = ProducerIds(Blocks().take)
    assert [await ids.allocate() for _ in range(35)] == list(range(35))
    await ids.close()


async def test_the_next_block_is_fetched_before_this_one_is_empty() -> None:
    blocks = Blocks()
    ids = ProducerIds(blocks.take)
    for _ in range(10):
        await ids.allocate()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert blocks.taken == 2


async def test_many_at_once_share_one_fetch() -> None:
    blocks = Blocks(1000)
    ids = ProducerIds(blocks.take)
    got = await asyncio.gather(*(ids.allocate() for _ in range(50)))
    assert len(set(got)) == 50
    assert blocks.taken == 1


async def test_a_client_that_goes_away_does_not_take_the_block_from_the_others() -> None:
    blocks = Blocks()
    blocks.gate.clear()
    ids = ProducerIds(blocks.take)
    leaving, staying = (asyncio.ensure_future(ids.allocate()) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    blocks.gate.set()
    assert await staying == 0


async def test_a_failed_fetch_is_told_and_tried_again() -> None:
    blocks = Blocks()
    blocks.error = OSError("disk")
    ids = ProducerIds(blocks.take)
    with pytest.raises(OSError, match="disk"):
        await ids.allocate()
    blocks.error = None
    assert await ids.allocate() == 0
