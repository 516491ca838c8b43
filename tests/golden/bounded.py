"""The golden cases as bounded input: all records of all steps at once, and what must come of them.

A batch takes records by time. Where that is the order of a case's steps too, its output must be what Kafka Streams put
out, record for record. Where it is not (a step brings records that are older than those of a step before), the same
records piped by time into the in-process host say what must come out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from caudal.runtime.batch.tables import entries, is_table
from caudal.runtime.ordering import in_task_order
from caudal.runtime.test_driver import TopologyTestDriver

from . import case_files
from .case_files import Row
from .topologies import Prepared, row_of

CASES = [case for case in case_files.load() if "spark" in case.hosts]

Inputs = dict[tuple[str, int], list[Any]]
Table = dict[bytes, tuple[bytes, int]]  # changelog key → value, timestamp


@dataclass(frozen=True, slots=True)
class Expected:
    outputs: dict[str, list[Row]]
    tables: dict[str, Table]
    by_kafka_streams: bool  # the outputs are its own


def inputs_of(prepared: Prepared) -> Inputs:
    found: Inputs = {}
    for step in prepared.steps:
        assert step.topic is not None
        found.setdefault((step.topic, 0), []).extend(prepared.encode(step.topic, row) for row in step.records)
    return found


def expected_of(prepared: Prepared, inputs: Inputs) -> Expected:
    topology = prepared.topology
    whole = {topic for sub in topology.global_subtopologies for topic in sub.source_topics}
    piped = [(topic, record) for (topic, _), records in inputs.items() if topic in whole for record in records]
    rest = {place: records for place, records in inputs.items() if place[0] not in whole}
    with TopologyTestDriver(topology, start_time=0) as driver:
        tasks = {topic: task for task in driver.tasks for topic in task.source_topics}
        numbered = {place: [(place[0], record) for record in records] for place, records in rest.items()}

        def age(entry: tuple[str, Any]) -> int:
            topic, (key, value, timestamp, _) = entry
            return tasks[topic].timestamp_of(topic, timestamp, key, value)

        piped += [entry for _, entry in in_task_order(numbered, age)]
        for topic, record in piped:
            driver.pipe_bytes(topic, *record)
        outputs = {topic: [row_of(record) for record in driver.read_outputs(topic)] for topic in prepared.sinks}
        tables = {
            spec.name: {key: (value, time) for key, value, time in entries(spec, driver.store(spec.name))}
            for sub in topology.subtopologies
            for spec in sub.stores
            if is_table(spec)
        }
    steps = [
        (step.topic, prepared.encode(step.topic, row)) for step in prepared.steps if step.topic for row in step.records
    ]
    if piped == steps:
        wanted: dict[str, list[Row]] = {topic: [] for topic in prepared.sinks}
        for step in prepared.steps:
            for topic, rows in step.expect.items():
                wanted[topic] += rows
        return Expected(wanted, tables, True)
    return Expected(outputs, tables, False)
