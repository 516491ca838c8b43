"""The golden cases in a batch without Spark: outputs and tables are those of a stream. (With Spark:
tests/spark/test_batch_golden.py.)"""

from __future__ import annotations

import pytest

from caudal.runtime.batch.partitioner import partition_of
from tests.unit.runtime.batch import in_process

from . import wide
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


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("partitions", [1, 4])
def test_several_partitions_give_what_one_gives(seed: int, partitions: int) -> None:
    """Counts, windows, sessions, every kind of join, a table grouped anew, over repartitions and a circle."""
    inputs: dict[tuple[str, int], list[in_process.Input]] = {}
    for record in wide.records(seed):
        key, value, time = wide.encoded(record)
        inputs.setdefault((record[0], partition_of(key, partitions)), []).append((key, value, time, ()))
    result = in_process.run(wide.build().build(), inputs, partitions, batch_rows=50)
    expected = wide.expected_tables(seed)
    assert all(expected.values())
    for name, table in expected.items():
        assert result.table(name) == table, name
