"""A scan finds every match once, in order, page by page, onwards and backwards."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.ui.services.kafka_fakes import FakeConsumer, FakeMessage

from caudal.ui.services import scanning
from caudal.ui.services.decoding import Message, NoSchemas, Readings
from caudal.ui.services.scanning import BrokerSilent, Scan, Span

PLENTY: dict[str, Any] = {"most": 10**9, "seconds": 60.0}


def log(partition: int, offsets: list[int], value: bytes = b"x") -> list[FakeMessage]:
    """Timestamps interleave the partitions."""
    return [FakeMessage(partition, offset, offset * 10 + partition, str(offset).encode(), value) for offset in offsets]


def scan(
    consumer: Any,
    spans: dict[int, Span],
    *,
    backward: bool = False,
    matches: Callable[[Message], bool] | None = None,
) -> Scan:
    return Scan(consumer, "t", spans, backward=backward, matches=matches, schemas=NoSchemas(), readings=Readings())


def places(messages: list[Message]) -> list[tuple[int, int]]:
    return [(message.record.partition, message.record.offset) for message in messages]


def by_time(logs: dict[int, list[FakeMessage]]) -> list[tuple[int, int]]:
    together = [message for each in logs.values() for message in each]
    return [(one.partition(), one.offset()) for one in sorted(together, key=lambda one: one.timestamp()[1])]


@pytest.mark.parametrize("backward", [False, True])
def test_all_messages_come_once_in_order_of_time(backward: bool) -> None:
    logs = {one: log(one, list(range(100))) for one in range(3)}
    whole = scan(FakeConsumer(logs), {one: Span(0, 100) for one in logs}, backward=backward)
    found = places(whole.read(1000, **PLENTY))
    assert found == (by_time(logs)[::-1] if backward else by_time(logs))
    assert whole.is_finished
    assert (whole.passed, whole.total) == (300, 300)


@pytest.mark.parametrize("backward", [False, True])
def test_pages_that_begin_at_cursors_join_without_gap_or_repeat(backward: bool) -> None:
    chance = random.Random(7)
    logs = {one: log(one, sorted(chance.sample(range(400), 200))) for one in range(4)}
    spans = {one: Span(0, 400) for one in logs}
    found: list[tuple[int, int]] = []
    for _ in range(100):
        page = scan(FakeConsumer(logs), spans, backward=backward)
        found += places(page.read(17, **PLENTY))
        if page.is_finished:
            break
        cursor = page.cursor()
        spans = {one: Span(0, cursor[one]) if backward else Span(cursor[one], 400) for one in logs}
    assert found == (by_time(logs)[::-1] if backward else by_time(logs))


@pytest.mark.parametrize("backward", [False, True])
def test_reading_on_gives_what_is_left(backward: bool) -> None:
    logs = {0: log(0, list(range(50))), 1: log(1, list(range(5)))}
    whole = scan(FakeConsumer(logs), {0: Span(0, 50), 1: Span(0, 5)}, backward=backward)
    found = places(whole.read(20, **PLENTY)) + places(whole.read(20, **PLENTY)) + places(whole.read(20, **PLENTY))
    assert found == (by_time(logs)[::-1] if backward else by_time(logs))


@pytest.mark.parametrize("backward", [False, True])
def test_a_rare_match_is_found_with_growing_pieces(backward: bool) -> None:
    logs = {0: log(0, list(range(100_000)))}
    consumer = FakeConsumer(logs, burst=1000)
    whole = scan(consumer, {0: Span(0, 100_000)}, backward=backward, matches=lambda one: one.record.offset == 60_000)
    assert places(whole.read(10, **PLENTY)) == [(0, 60_000)]
    assert whole.scanned == 100_000
    assert consumer.assigned < 40


def test_only_as_much_is_read_as_a_page_needs() -> None:
    logs = {0: log(0, list(range(100_000)))}
    consumer = FakeConsumer(logs)
    whole = scan(consumer, {0: Span(0, 100_000)}, backward=True)
    assert places(whole.read(50, **PLENTY))[0] == (0, 99_999)
    assert consumer.handed_out < 500


def test_a_budget_ends_a_step_and_the_next_goes_on() -> None:
    logs = {0: log(0, list(range(20_000)))}
    whole = scan(FakeConsumer(logs, 1000), {0: Span(0, 20_000)}, matches=lambda one: one.record.offset == 19_999)
    assert whole.read(1, most=600, seconds=60) == []
    assert 600 <= whole.scanned < 12_000
    assert not whole.is_finished
    assert places(whole.read(1, **PLENTY)) == [(0, 19_999)]


@pytest.mark.parametrize("backward", [False, True])
def test_a_cancelled_scan_ends_and_its_cursor_loses_nothing(backward: bool) -> None:
    logs = {0: log(0, list(range(5000)))}
    seen = 0

    def matches(message: Message) -> bool:
        nonlocal seen
        seen += 1
        if seen == 2000:
            whole.cancel()
        return message.record.offset % 1000 == 0

    whole = scan(FakeConsumer(logs), {0: Span(0, 5000)}, backward=backward, matches=matches)
    first = places(whole.read(100, **PLENTY))
    cursor = whole.cursor()[0]
    rest = scan(
        FakeConsumer(logs),
        {0: Span(0, cursor) if backward else Span(cursor, 5000)},
        backward=backward,
        matches=lambda one: one.record.offset % 1000 == 0,
    )
    together = first + places(rest.read(100, **PLENTY))
    assert sorted(together) == [(0, 0), (0, 1000), (0, 2000), (0, 3000), (0, 4000)]


@pytest.mark.parametrize("backward", [False, True])
def test_large_messages_are_held_a_few_at_a_time(backward: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "PIECE_BYTES", 2500)
    logs = {0: log(0, list(range(40)), bytes(1000))}
    whole = scan(FakeConsumer(logs), {0: Span(0, 40)}, backward=backward)
    found = places(whole.read(40, **PLENTY))
    assert found == (by_time(logs)[::-1] if backward else by_time(logs))
    assert whole.matched == 40


@pytest.mark.parametrize("backward", [False, True])
def test_offsets_that_hold_no_message_at_the_end_do_not_hold_up_the_scan(backward: bool) -> None:
    logs = {0: log(0, [0, 1, 2])}  # as after a transaction's marker, or compaction
    whole = scan(FakeConsumer(logs), {0: Span(0, 10)}, backward=backward)
    assert len(whole.read(10, **PLENTY)) == 3
    assert whole.is_finished


def test_every_match_can_be_streamed_up_to_a_bound() -> None:
    logs = {one: log(one, list(range(500))) for one in range(2)}
    spans = {one: Span(0, 500) for one in logs}
    assert places(list(scan(FakeConsumer(logs), spans).every(10**6))) == by_time(logs)
    assert len(list(scan(FakeConsumer(logs), spans).every(123))) == 123


def test_a_broker_that_says_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "SILENCE_SECONDS", 0.01)

    class Silent(FakeConsumer):
        def poll(self, timeout: float) -> None:
            return None

    with pytest.raises(BrokerSilent):
        scan(Silent({0: log(0, [1])}), {0: Span(0, 2)}).read(1, **PLENTY)


@pytest.mark.parametrize("backward", [False, True])
def test_a_match_does_not_wait_for_partitions_that_have_been_read_beyond_its_time(backward: bool) -> None:
    logs = {one: log(one, list(range(50_000))) for one in range(2)}
    wanted = 49_000 if backward else 1000
    whole = scan(
        FakeConsumer(logs, 1000),
        {one: Span(0, 50_000) for one in logs},
        backward=backward,
        matches=lambda one: one.record.partition == 0 and one.record.offset == wanted,
    )
    assert places(whole.read(1, **PLENTY)) == [(0, wanted)]
    assert whole.scanned < 15_000
