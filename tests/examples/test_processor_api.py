"""examples/processor_api.py: silence by the wall clock, averages by stream time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caudal.testing import TopologyTestDriver
from tests.examples.example_files import load


@pytest.fixture
def driver() -> Iterator[TopologyTestDriver]:
    with TopologyTestDriver(load("processor_api"), start_time=0) as driver:
        yield driver


def alarms(driver: TopologyTestDriver) -> list[tuple[str, str]]:
    return [(record.value["sensor"], record.value["is"]) for record in driver.read_outputs("alarms")]


def test_a_silent_sensor_is_reported_once_and_again_when_it_is_back(driver: TopologyTestDriver) -> None:
    driver.pipe_input("readings", "boiler", {"celsius": 61})
    driver.pipe_input("readings", "cellar", {"celsius": 12})
    assert alarms(driver) == [("boiler", "heard"), ("cellar", "heard")]
    driver.advance_time("20 seconds")
    driver.pipe_input("readings", "cellar", {"celsius": 12})
    driver.advance_time("10 seconds")
    assert alarms(driver) == [("boiler", "silent")]
    driver.advance_time("10 seconds")
    assert alarms(driver) == []
    driver.pipe_input("readings", "boiler", {"celsius": 20})
    assert alarms(driver) == [("boiler", "heard")]


def test_averages_come_by_the_time_in_the_records(driver: TopologyTestDriver) -> None:
    driver.pipe_input("readings", "boiler", {"celsius": 60}, timestamp=0)
    first = driver.read_output("averages")  # the first turn of a stream-time punctuator comes with the first record
    assert first is not None and first.value == {"average": 60, "readings": 1}
    driver.pipe_input("readings", "boiler", {"celsius": 61}, timestamp=10_000)
    driver.advance_time("10 minutes")
    assert driver.read_outputs("averages") == []
    driver.pipe_input("readings", "boiler", {"celsius": 63}, timestamp=60_000)
    average = driver.read_output("averages")
    assert average is not None
    assert (average.key, average.value, average.timestamp) == ("boiler", {"average": 62, "readings": 2}, 60_000)
