"""Runs a topology of the DSL step by step: what comes out after each input record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder, Windowed

S, J, L = String(), Json(), Long()

Row = tuple[Any, Any, int]


def table_of(builder: StreamsBuilder, topic: str, **given: Any) -> Any:
    return builder.table(topic, key=S, value=J, **given)


def stream_of(builder: StreamsBuilder, topic: str, **given: Any) -> Any:
    return builder.stream(topic, key=S, value=J, **given)


def started(build: Callable[[StreamsBuilder], Any], **given: Any) -> TopologyTestDriver:
    builder = StreamsBuilder("app")
    build(builder)
    return TopologyTestDriver(builder, start_time=0, **given)


def shown(key: Any) -> Any:
    return f"{key.key}@{key.start}-{key.end}" if isinstance(key, Windowed) else key


def outputs(driver: TopologyTestDriver, topic: str = "out") -> list[Row]:
    return [(shown(record.key), record.value, record.timestamp) for record in driver.read_outputs(topic)]


def after_each(driver: TopologyTestDriver, *inputs: tuple[str, Any, Any, int]) -> list[list[Row]]:
    """The output of every step: inputs are topic, key, value, timestamp."""
    result = []
    for topic, key, value, timestamp in inputs:
        driver.pipe_input(topic, key, value, timestamp=timestamp)
        result.append(outputs(driver))
    return result
