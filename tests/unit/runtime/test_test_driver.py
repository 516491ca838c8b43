"""The test driver itself: inputs, outputs, stores, time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.unit.runtime.topologies import L, S, outputs, started, stream_of, table_of

from caudal.runtime.errors import StreamsError
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.streams import StreamsBuilder


def test_a_repartition_topic_loops_back() -> None:
    driver = started(lambda b: stream_of(b, "in").group_by(lambda key, value: str(value)).count().to("out"))
    driver.pipe_input("in", "k", 7, timestamp=1)
    assert outputs(driver) == [("7", 1, 1)]


def test_without_a_timestamp_a_record_is_of_the_drivers_time() -> None:
    driver = TopologyTestDriver(_through().build(), start_time=datetime(2024, 1, 1, tzinfo=UTC))
    driver.advance_time("2 seconds")
    driver.pipe_input("in", "k", 1)
    assert outputs(driver)[0][2] == driver.now == 1_704_067_202_000


def _through() -> StreamsBuilder:
    builder = StreamsBuilder("app")
    stream_of(builder, "in").to("out")
    return builder


def test_read_output_takes_one_and_then_none() -> None:
    driver = TopologyTestDriver(_through())
    driver.pipe_input("in", "k", 1, timestamp=0)
    assert driver.output_topics == ["out"]
    assert driver.read_output("out") is not None
    assert driver.read_output("out") is None
    assert driver.read_output("never written") is None


def test_a_topic_that_is_not_read_and_a_store_that_is_not_there_are_errors() -> None:
    driver = TopologyTestDriver(_through())
    with pytest.raises(StreamsError, match=r"does not read topic 'typo' \(it reads: in\)"):
        driver.pipe_input("typo", "k", 1)
    with pytest.raises(StreamsError, match="no store 'typo'"):
        driver.store("typo")


def test_stores_can_be_filled_before_and_read_after() -> None:
    driver = started(lambda b: stream_of(b, "in").group_by_key().count(store="counts").to("out", value=L))
    driver.store("counts").put("k", 41, 0)
    driver.pipe_input("in", "k", 1, timestamp=3)
    assert outputs(driver) == [("k", 42, 3)]
    assert dict(driver.store("counts").all()) == {"k": (42, 3)}


def test_a_failed_record_leaves_the_driver_usable() -> None:
    driver = started(lambda b: stream_of(b, "in").map_values(lambda value: 1 // value).to("out"))
    with pytest.raises(StreamsError, match="ZeroDivisionError"):
        driver.pipe_input("in", "k", 0, timestamp=0)
    driver.pipe_input("in", "k", 1, timestamp=1)
    assert outputs(driver) == [("k", 1, 1)]


def test_two_tables_and_a_global_table_share_the_driver() -> None:
    def build(builder: StreamsBuilder) -> None:
        table_of(builder, "t", store="t-store").to_stream().to("out")
        builder.global_table("g", key=S, value=S, store="g-store")

    driver = started(build)
    driver.pipe_input("g", "x", "y", timestamp=0)
    driver.pipe_input("t", "k", 1, timestamp=0)
    assert driver.store("g-store").get("x") == ("y", 0)
    assert driver.store("t-store").get("k") == (1, 0)


def test_a_driver_continues_from_another_one() -> None:
    def counting() -> TopologyTestDriver:
        return started(lambda b: stream_of(b, "in").group_by_key().count(store="counts").to("out"))

    old, new = counting(), counting()
    old.pipe_input("in", "a", 1, timestamp=5)
    old.pipe_input("in", "a", 1, timestamp=6)
    new.continue_from(old)
    new.pipe_input("in", "a", 1, timestamp=4)
    assert outputs(new) == [("a", 3, 6)]
