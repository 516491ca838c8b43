"""A tail keeps the newest within bounds and counts what it leaves out."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.ui.services.kafka_fakes import FakeConsumer, FakeMessage

from caudal.ui.services.decoding import Message, NoSchemas, Readings
from caudal.ui.services.tailing import BUFFER, MOST_PER_BATCH, Tail


def tail(matches: Callable[[Message], bool] | None = None) -> Tail:
    return Tail(lambda: FakeConsumer({}), "t", {0: 0}, matches=matches, schemas=NoSchemas(), readings=Readings())


def batch(count: int, begin: int = 0) -> list[FakeMessage]:
    return [FakeMessage(0, begin + one, value=b"x") for one in range(count)]


def offsets(messages: list[Message]) -> list[int]:
    return [message.record.offset for message in messages]


def test_what_came_is_taken_once_in_order() -> None:
    one = tail()
    one.offer(batch(3))
    assert offsets(one.take()) == [0, 1, 2]
    assert one.take() == []
    assert (one.arrived, one.skipped) == (3, 0)


def test_only_matches_are_kept() -> None:
    one = tail(lambda message: message.record.offset % 2 == 0)
    one.offer(batch(5))
    assert offsets(one.take()) == [0, 2, 4]
    assert one.skipped == 0


def test_of_a_flood_the_newest_are_kept_and_the_rest_is_counted() -> None:
    one = tail()
    one.offer(batch(10_000))
    assert offsets(one.take()) == list(range(10_000 - BUFFER, 10_000))
    assert (one.arrived, one.skipped) == (10_000, 10_000 - BUFFER)


def test_a_page_that_does_not_take_them_leaves_a_bounded_buffer() -> None:
    one = tail()
    for begin in range(0, 5 * MOST_PER_BATCH, 100):
        one.offer(batch(100, begin))
    assert len(one.take()) == BUFFER
    assert one.skipped == 5 * MOST_PER_BATCH - BUFFER
