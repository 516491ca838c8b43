"""Source tasks with a real broker: every record arrives, and no offset is stored before its record is acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from caudal.connect.runtime.model import State
from caudal.testing import EmbeddedBroker
from tests.connect.task_harness import Bench, stored, wait_for


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(broker.bootstrap, tmp_path)
    yield made
    made.close()


def test_records_arrive_in_order_and_offsets_are_stored(bench: Bench) -> None:
    task, heard = bench.start("Counting", "plain", {"topic": "plain-out", "count": "5000", "sources": "2"})
    heard.wait(State.RUNNING)
    wait_for(lambda: {"n": 4999} in [offset for _, offset in stored(bench.settings, "plain")], "the last offset")
    bench.stop(task)
    assert heard.states == [State.RUNNING, State.UNASSIGNED]
    assert heard.topics == {"plain-out"}
    values = bench.values("plain-out")
    for source in ("s0", "s1"):
        assert [one["n"] for one in values if one["source"] == source] == list(range(5000))
    assert sorted(offset["n"] for _, offset in stored(bench.settings, "plain")) == [4999, 4999]
    assert bench.notes("commit"), "the task was not told that offsets are stored"
    metrics = task.metrics()
    assert metrics["source-record-poll-total"] == metrics["source-record-write-total"] == 10_000
    assert bench.notes("stop"), "stop() is the last call"
