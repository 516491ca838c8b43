"""The Processor API: forward, stores, metadata, punctuators, process_values."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.runtime.topologies import after_each, outputs, started, stream_of

from caudal.runtime.errors import StreamsError
from caudal.serde import Json, Long, String
from caudal.streams import Processor, PunctuationType, Record, StreamsBuilder, key_value_store


class Twice(Processor):
    """To all children, then to one by its name."""

    def process(self, record: Record) -> None:
        self.context.forward(record)
        self.context.forward(record.with_value(-record.value), child="minus")


def test_forward_to_all_children_or_to_one() -> None:
    def build(builder: StreamsBuilder) -> None:
        both = stream_of(builder, "in").process(Twice)
        both.map_values(lambda value: value, name="plus").to("plus-out")
        both.map_values(lambda value: value, name="minus").to("minus-out")

    driver = started(build)
    driver.pipe_input("in", "a", 1, timestamp=0)
    assert [row[1] for row in outputs(driver, "plus-out")] == [1]
    assert [row[1] for row in outputs(driver, "minus-out")] == [1, -1]


def test_an_unknown_child_is_an_error_that_names_the_known_ones() -> None:
    driver = started(lambda b: stream_of(b, "in").process(Twice).map_values(lambda v: v, name="plus").to("out"))
    with pytest.raises(StreamsError, match=r"has no child 'minus' \(it has: plus\)"):
        driver.pipe_input("in", "a", 1, timestamp=0)


class Where(Processor):
    def process(self, record: Record) -> None:
        metadata = self.context.record_metadata
        assert metadata is not None
        found = [metadata.topic, metadata.partition, metadata.offset, self.context.current_stream_time()]
        self.context.forward(record.with_value([*found, self.context.task_id, self.context.application_id]))


def test_metadata_of_the_record() -> None:
    driver = started(lambda b: stream_of(b, "in").process(Where).to("out", value=Json()))
    assert after_each(driver, ("in", "a", 1, 7), ("in", "a", 1, 5)) == [
        [("a", ["in", 0, 0, 7, "0_0", "app"], 7)],
        [("a", ["in", 0, 1, 7, "0_0", "app"], 5)],
    ]


class Sum(Processor):
    """Keeps sums in a store, sends them all on at every punctuation."""

    kind = PunctuationType.STREAM_TIME

    def init(self, context: Any) -> None:
        super().init(context)
        self.sums = context.get_state_store("sums")
        self.schedule = context.schedule(10, self.kind, self.punctuate)

    def process(self, record: Record) -> None:
        self.sums.put(record.key, (self.sums.get(record.key) or 0) + record.value)

    def punctuate(self, timestamp: int) -> None:
        assert self.context.record_metadata is None
        for key, total in self.sums.all():
            self.context.forward(Record(key, total, timestamp))


class SumByClock(Sum):
    kind = PunctuationType.WALL_CLOCK_TIME


def summing(processor: type[Processor]) -> Any:
    def build(builder: StreamsBuilder) -> None:
        builder.add_state_store(key_value_store("sums", key=String(), value=Long()))
        stream_of(builder, "in").process(processor, stores=["sums"]).to("out", value=Long())

    return started(build)


def test_stream_time_punctuators_run_with_the_first_record_and_then_on_their_grid() -> None:
    driver = summing(Sum)
    assert after_each(
        driver,
        ("in", "a", 1, 3),
        ("in", "a", 1, 9),
        ("in", "b", 5, 10),
        ("in", "a", 1, 8),
        ("in", "a", 1, 45),
        ("in", "a", 1, 50),
    ) == [
        [("a", 1, 3)],
        [],
        [("a", 2, 10), ("b", 5, 10)],
        [],
        [("a", 4, 45), ("b", 5, 45)],  # turns that were missed are made up for once
        [("a", 5, 50), ("b", 5, 50)],
    ]
    driver.advance_time("1 hour")
    assert outputs(driver) == []


def test_wall_clock_punctuators_run_when_the_clock_moves() -> None:
    driver = summing(SumByClock)
    assert after_each(driver, ("in", "a", 1, 1000)) == [[]]
    driver.advance_time(9)
    assert outputs(driver) == []
    driver.advance_time(1)
    assert outputs(driver) == [("a", 1, 10)]
    driver.advance_time("25 ms")
    assert outputs(driver) == [("a", 1, 35)]
    driver.advance_time(5)
    assert outputs(driver) == [("a", 1, 40)]
    assert driver.tasks[0].next_wall_clock_punctuation == 50


def test_a_schedule_can_be_cancelled_from_within() -> None:
    class Once(Sum):
        def punctuate(self, timestamp: int) -> None:
            super().punctuate(timestamp)
            self.schedule.cancel()

    assert after_each(summing(Once), ("in", "a", 1, 3), ("in", "a", 1, 99)) == [[("a", 1, 3)], []]


def test_a_store_that_was_not_connected_is_an_error() -> None:
    class Curious(Processor):
        def process(self, record: Record) -> None:
            self.context.get_state_store("sums")

    driver = started(lambda b: stream_of(b, "in").process(Curious).to("out"))
    with pytest.raises(StreamsError, match="no access to store 'sums'"):
        driver.pipe_input("in", "a", 1, timestamp=0)


class ChangesKey(Processor):
    def process(self, record: Record) -> None:
        self.context.forward(record.with_value(record.value + 1))
        self.context.forward(record.with_key("other"))


def test_process_values_may_not_change_the_key() -> None:
    driver = started(lambda b: stream_of(b, "in").process_values(ChangesKey).to("out"))
    with pytest.raises(StreamsError, match=r"forwarded the key 'other' instead of 'a'"):
        driver.pipe_input("in", "a", 1, timestamp=0)
    assert outputs(driver) == [("a", 2, 0)]


def test_forwarding_something_else_than_a_record_is_an_error() -> None:
    class Wrong(Processor):
        def process(self, record: Record) -> None:
            self.context.forward((record.key, record.value))  # type: ignore[arg-type]

    driver = started(lambda b: stream_of(b, "in").process(Wrong).to("out"))
    with pytest.raises(StreamsError, match=r"forward\(\) takes a Record"):
        driver.pipe_input("in", "a", 1, timestamp=0)


def test_processors_are_closed_with_their_task() -> None:
    closed = []

    class Closes(Processor):
        def process(self, record: Record) -> None: ...

        def close(self) -> None:
            closed.append(self)

    with started(lambda b: stream_of(b, "in").process(Closes)):
        assert closed == []
    assert len(closed) == 1
