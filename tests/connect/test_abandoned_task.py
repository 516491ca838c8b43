"""A task that is stuck in a thread can only be abandoned: what it does when it comes back must harm nobody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from caudal.connect.runtime.model import RunningTask, State
from caudal.testing import EmbeddedBroker
from tests.connect.task_harness import LIMIT, Bench, stored, wait_for
from tests.connect.test_sink_task import committed


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(broker.bootstrap, tmp_path)
    yield bench
    (tmp_path / "gate").touch()
    bench.close()


def abandon(bench: Bench, task: RunningTask) -> None:
    wait_for(lambda: bench.notes("stuck"), "the task is stuck")
    task.stop()
    assert not task.wait(0.3), "it is stuck"
    task.abandon()


def come_back(bench: Bench, task: RunningTask) -> None:
    (bench.folder / "gate").touch()
    assert task.wait(LIMIT), "the run ends when the task comes back"


AT_LEAST_ONCE = {"exactly.once.support": "requested"}
EXACTLY_ONCE = {"exactly.once.support": "required"}
IN_POLL = {"fail.at": "100", "fail.with": "gate"}
# In the middle of a batch: what is behind the record must not be sent, either.
IN_TRANSFORM = {"transforms": "g", "transforms.g.type": "Gate", "transforms.g.text": "'n': 120"}


@pytest.mark.parametrize("support", [AT_LEAST_ONCE, EXACTLY_ONCE], ids=["at-least-once", "exactly-once"])
@pytest.mark.parametrize("where", [IN_POLL, IN_TRANSFORM], ids=["poll", "transform"])
def test_a_source_produces_and_commits_nothing_any_more(
    bench: Bench, where: dict[str, str], support: dict[str, str], request: pytest.FixtureRequest
) -> None:
    name = f"given-up-{request.node.callspec.id}"
    config = {"topic": name, "count": "1000", **where, **support, "transforms.g.folder": str(bench.folder)}
    task, heard = bench.start("Counting", name, config)
    wait_for(lambda: stored(bench.settings, name) == [({"source": "s0"}, {"n": 99})], "the first offset")
    abandon(bench, task)
    before = bench.values(name)
    come_back(bench, task)
    assert bench.values(name) == before
    assert stored(bench.settings, name) == [({"source": "s0"}, {"n": 99})]
    assert heard.states == [State.RUNNING], "it says nothing"
    # The next run has all, and what the first one had sent but not committed a second time at the most.
    task, _ = bench.start("Counting", name, {"topic": name, "count": "1000", **support})
    wait_for(lambda: stored(bench.settings, name) == [({"source": "s0"}, {"n": 999})], "the last offset")
    bench.stop(task)
    numbers = [one["n"] for one in bench.values(name)]
    assert set(numbers) == set(range(1000))
    assert support is AT_LEAST_ONCE or len(numbers) == 1000


@pytest.mark.parametrize("where", ["start", "put", "flush"])
def test_a_sink_commits_and_reports_nothing_any_more(bench: Bench, where: str) -> None:
    name = f"given-up-{where}"
    bench.produce(name, [{"n": n} for n in range(10)])
    config = {
        "topics": name, "fail.with": f"{where} gate", "reject": "'n': 7", "sleep.on": "'n': 8", "sleep.ms": "500",
        "errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"{name}-dead",
    }  # fmt: skip
    task, heard = bench.start("Writing", name, config)
    abandon(bench, task)
    reported = len(bench.records(f"{name}-dead"))
    told = list(heard.states)
    come_back(bench, task)
    assert committed(bench, name, name) in ([], [-1001])
    # The put that came back reports a record: it must not arrive.
    assert len(bench.records(f"{name}-dead")) == reported
    assert heard.states == told and State.FAILED not in told
    # Another has the partitions, and all of their records.
    task, _ = bench.start("Writing", name, {**config, "fail.with": ""})
    wait_for(lambda: committed(bench, name, name) == [10], "all offsets committed")
    bench.stop(task)
