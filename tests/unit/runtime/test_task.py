"""The task: sources, sinks, bad input and its handlers, what must outlive a Task object."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.runtime.plans import JSON, driver, f, node, rows, sink, source, store, topology

from caudal.plan import steps
from caudal.plan.topology import StoreKind
from caudal.runtime.errors import Handlers, OnError, StreamsError
from caudal.runtime.stores import TaskState
from caudal.runtime.task import DESERIALIZATION_ERROR, NEGATIVE_TIMESTAMP, PROCESSING_ERROR, PRODUCTION_ERROR, Task

LETTERS = "letters"


def all_to(choice: OnError) -> Handlers:
    return Handlers(choice, choice, choice, LETTERS)


def test_a_record_that_does_not_parse_stops_with_a_sentence_that_names_it() -> None:
    runner = driver(source("in"), sink("out", "in"))
    runner.pipe_input("in", "k", 1, timestamp=0)
    with pytest.raises(
        StreamsError, match=r"Deserialising failed for the record at offset 1 of topic 'in', partition 0: .+"
    ):
        runner.pipe_bytes("in", b"k", b"{broken", timestamp=0)


def test_a_function_that_raises_is_named_with_its_node() -> None:
    runner = driver(source("in"), node("divide", steps.MapValues(f(lambda k, v: 1 / v)), "in"), sink("out", "divide"))
    with pytest.raises(
        StreamsError, match=r"Processing in divide failed .* 'in', .*ZeroDivisionError: division by zero"
    ):
        runner.pipe_input("in", "k", 0, timestamp=0)


def test_a_value_that_cannot_be_written_names_the_topic() -> None:
    runner = driver(source("in"), node("set", steps.MapValues(f(lambda k, v: {1, 2})), "in"), sink("out", "set"))
    with pytest.raises(StreamsError, match=r"Serialising key str and value set for topic 'out' failed for .*offset 0"):
        runner.pipe_input("in", "k", 0, timestamp=0)


def failing(handlers: Handlers) -> Any:
    return driver(
        source("in"),
        node("divide", steps.MapValues(f(lambda k, v: 1 // v)), "in"),
        node("odd", steps.MapValues(f(lambda k, v: {v} if v == 1 else v)), "in"),
        sink("out", "divide"),
        sink("sets", "odd"),
        handlers=handlers,
    )


def test_skipped_records_are_counted_and_siblings_still_get_them() -> None:
    runner = failing(all_to(OnError.SKIP))
    runner.pipe_bytes("in", b"k", b"{broken", timestamp=0)
    runner.pipe_input("in", "k", 0, timestamp=1)
    runner.pipe_input("in", "k", 1, timestamp=2)
    assert rows(runner) == [("k", 1, 2)]
    assert rows(runner, "sets") == [("k", 0, 1)]
    assert runner.dropped == {DESERIALIZATION_ERROR: 1, PROCESSING_ERROR: 1, PRODUCTION_ERROR: 1}
    assert runner.read_output(LETTERS) is None


def test_dead_letters_keep_the_bytes_and_say_why() -> None:
    runner = failing(all_to(OnError.DEAD_LETTER))
    runner.pipe_bytes("in", b"k", b"{broken", timestamp=3, headers={"mine": b"1"})
    runner.pipe_input("in", "k", 0, timestamp=4)
    runner.pipe_input("in", "k", 1, timestamp=5)
    letters = runner.read_outputs(LETTERS)
    assert [(letter.key, letter.value, letter.timestamp) for letter in letters] == [
        (b"k", b"{broken", 3),
        (b"k", b"0", 4),
        (b"k", b"1", 5),
    ]
    headers = dict(letters[0].headers)
    assert headers["mine"] == b"1"
    assert headers["__streams.errors.topic"] == b"in"
    assert headers["__streams.errors.partition"] == b"0"
    assert headers["__streams.errors.offset"] == b"0"
    assert dict(letters[1].headers)["__streams.errors.exception"] == b"builtins.ZeroDivisionError"
    assert b"division" in (dict(letters[1].headers)["__streams.errors.message"] or b"")


def test_dead_letters_need_a_topic() -> None:
    with pytest.raises(ValueError, match="dead_letter_topic"):
        Handlers(processing=OnError.DEAD_LETTER)


def test_the_timestamp_extractor_decides_and_negative_ones_are_dropped() -> None:
    extractor = f(lambda key, value, timestamp: value if value is not None else timestamp)
    runner = driver(source("in", timestamp=extractor), sink("out", "in"))
    runner.pipe_input("in", "k", 50, timestamp=1)
    runner.pipe_input("in", "k", -1, timestamp=2)
    runner.pipe_input("in", "k", None, timestamp=3)
    assert rows(runner) == [("k", 50, 50), ("k", None, 3)]
    assert runner.dropped == {NEGATIVE_TIMESTAMP: 1}
    assert runner.tasks[0].stream_time == 50
    assert runner.tasks[0].timestamp_of("in", 1, b"k", b"7") == 7


def test_an_extractor_that_raises_stops_the_task() -> None:
    runner = driver(source("in", timestamp=f(lambda key, value, timestamp: value["at"])), sink("out", "in"))
    with pytest.raises(StreamsError, match=r"Extracting the timestamp failed .*KeyError: 'at'"):
        runner.pipe_input("in", "k", {}, timestamp=0)


def test_a_sink_can_choose_topic_and_partition() -> None:
    sent: list[tuple[Any, ...]] = []
    plan = topology(
        source("in"),
        sink("by-value", "in", topic=f(lambda key, value, context: f"{value}-{context.offset}")),
        sink("spread", "in", topic="out", partitioner=f(lambda topic, key, value, count: value % count)),
    )
    task = Task(plan, plan.subtopologies[0], 3, {}, lambda *record: sent.append(record), partitions_of=lambda topic: 4)
    task.process("in", 8, 0, b"k", b"6", (("h", b"1"),))
    assert sent == [("6-8", None, b"k", b"6", 0, (("h", b"1"),)), ("out", 2, b"k", b"6", 0, (("h", b"1"),))]


def test_a_topic_the_task_does_not_read_is_an_error() -> None:
    plan = topology(source("in"), sink("out", "in"))
    task = Task(plan, plan.subtopologies[0], 0, {}, lambda *record: None)
    with pytest.raises(StreamsError, match=r"does not read topic 'other' \(it reads: in\)"):
        task.process("other", 0, 0, None, None)


def test_stream_time_goes_from_one_task_object_to_the_next() -> None:
    plan = topology(source("in"), sink("out", "in"))
    first = Task(plan, plan.subtopologies[0], 0, {}, lambda *record: None)
    first.process("in", 0, 77, b"k", b"1")
    first.process("in", 1, 5, b"k", b"1")
    second = Task(plan, plan.subtopologies[0], 0, {}, lambda *record: None, metadata=first.metadata())
    assert second.stream_time == 77


def test_changelog_records_are_stamped_with_the_time_of_the_record() -> None:
    class Keeps:
        def init(self, context: Any) -> None:
            self.store = context.get_state_store("s")

        def process(self, record: Any) -> None:
            self.store.put(record.key, record.value)

    plan = topology(
        source("in"),
        node("keeps", steps.Process(f(Keeps)), "in", stores=("s",)),
        stores=(store("s", StoreKind.KEY_VALUE, value=JSON),),
    )
    state = TaskState(None, plan.subtopologies[0].stores, 0)
    task = Task(plan, plan.subtopologies[0], 0, state.stores, lambda *record: None)
    task.process("in", 0, 1234, b"k", b"1")
    assert list(state.changes()) == [("s", b"k", b"1", 1234)]
