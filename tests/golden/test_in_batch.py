"""The golden cases in a batch without Spark: outputs and tables are those of a stream. (With Spark:
tests/spark/test_batch_golden.py.)"""

from __future__ import annotations

import pytest

from tests.unit.runtime.batch import in_process

from .bounded import CASES, expected_of, inputs_of
from .case_files import Case
from .topologies import prepare

pytest.importorskip("pyspark")
# Global tables come from Kafka.
LOCAL = [case for case in CASES if not any(operation[0] == "global_table" for operation in case.topology)]


@pytest.mark.parametrize("case", LOCAL, ids=lambda case: case.id)
def test_a_batch_gives_what_a_stream_gives(case: Case) -> None:
    prepared = prepare(case)
    inputs = inputs_of(prepared)
    expected = expected_of(prepared, inputs)
    result = in_process.run(prepared.topology, inputs)
    outputs = {
        topic: [
            prepared.decode(topic, row["key"], row["value"], row["timestamp"], in_process.headers_of(row))
            for row in result.topic(topic)
        ]
        for topic in prepared.sinks
    }
    assert outputs == expected.outputs
    assert {name: result.table(name) for name in expected.tables} == expected.tables
