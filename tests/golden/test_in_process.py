"""Every golden case in the in-process host gives exactly what Kafka Streams gave, step by step."""

from __future__ import annotations

import pytest

from caudal.runtime.errors import StreamsError
from caudal.runtime.test_driver import TopologyTestDriver

from . import case_files
from .case_files import Case, Row, Step
from .topologies import headers_of, prepare, row_of

CASES = [case for case in case_files.load() if "in process" in case.hosts]


def perform(driver: TopologyTestDriver, step: Step) -> None:
    if step.advance is not None:
        driver.advance_time(step.advance)
    if step.topic is not None:
        for row in step.records:
            driver.pipe_input(step.topic, row[0], row[1], timestamp=row[2], headers=headers_of(row))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    prepared = prepare(case)
    with TopologyTestDriver(prepared.topology, start_time=0) as driver:
        for number, step in enumerate(prepared.steps, 1):
            if step.fails:
                with pytest.raises(StreamsError):
                    perform(driver, step)
                return
            perform(driver, step)
            found = {topic: [row_of(record) for record in driver.read_outputs(topic)] for topic in prepared.sinks}
            assert {topic: rows for topic, rows in found.items() if rows} == step.expect, f"step {number}"


@pytest.mark.parametrize("case", [case for case in CASES if "spark" in case.hosts], ids=lambda case: case.id)
def test_case_as_bytes_under_a_prefix(case: Case) -> None:
    """What other hosts build on: topics of one's own, records as bytes in and out. The results must be the same."""
    prepared = prepare(case, "own-")
    with TopologyTestDriver(prepared.topology, start_time=0) as driver:
        for number, step in enumerate(prepared.steps, 1):
            assert step.topic is not None and step.topic.startswith("own-")
            for row in step.records:
                driver.pipe_bytes(step.topic, *prepared.encode(step.topic, row))
            found: dict[str, list[Row]] = {}
            for topic, (key, value) in prepared.sinks.items():
                for record in driver.read_outputs(topic):
                    key_bytes = None if record.key is None else key.serialize(record.key)
                    value_bytes = None if record.value is None else value.serialize(record.value)
                    row = prepared.decode(topic, key_bytes, value_bytes, record.timestamp, record.headers)
                    found.setdefault(topic, []).append(row)
            assert found == step.expect, f"step {number}"
