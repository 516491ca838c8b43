"""Every golden case over bounded input: what Kafka Streams put out step by step comes out of a batch as well, wherever
the case has one order. Where it has not (a step's records are older than those of a step before, in another topic), a
batch takes them by time: there the same records, piped in by time, must give the same tables."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.runtime.batch.tables import entries, is_table
from caudal.runtime.errors import StreamsError
from caudal.runtime.ordering import in_task_order
from caudal.runtime.test_driver import TopologyTestDriver
from tests.golden import case_files
from tests.golden.case_files import Case
from tests.golden.topologies import Prepared, prepare
from tests.unit.runtime.batch import in_process

pytest.importorskip("pyspark")

CASES = [case for case in case_files.load() if "spark" in case.hosts]


def inputs_of(prepared: Prepared) -> dict[tuple[str, int], list[Any]]:
    """All records of all steps, by topic."""
    found: dict[tuple[str, int], list[Any]] = {}
    for step in prepared.steps:
        assert step.topic is not None
        found.setdefault((step.topic, 0), []).extend(prepared.encode(step.topic, row) for row in step.records)
    return found


def tables_by_time(prepared: Prepared, inputs: dict[tuple[str, int], list[Any]]) -> dict[str, Any]:
    """The tables of the in-process host, when it gets everything oldest head first; global tables before."""
    topology = prepared.topology
    whole = {topic for sub in topology.global_subtopologies for topic in sub.source_topics}
    with TopologyTestDriver(topology, start_time=0) as driver:
        for (topic, _), records in inputs.items():
            for record in records if topic in whole else ():
                driver.pipe_bytes(topic, *record)
        rest = {place: records for place, records in inputs.items() if place[0] not in whole}

        def age(record: Any) -> int:
            return int(record[2])

        for (topic, _), record in in_task_order(rest, age):
            driver.pipe_bytes(topic, *record)
        return {
            spec.name: {(0, key): (value, time) for key, value, time in entries(spec, driver.store(spec.name))}
            for sub in topology.subtopologies
            for spec in sub.stores
            if is_table(spec)
        }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_tables_of_a_batch_are_those_of_a_stream(case: Case) -> None:
    prepared = prepare(case)
    inputs = inputs_of(prepared)
    expected = tables_by_time(prepared, inputs)
    result = in_process.run(prepared.topology, inputs)
    assert {name: result.table(name) for name in expected} == expected
