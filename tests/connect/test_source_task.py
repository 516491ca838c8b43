"""Source tasks with a real broker: every record arrives, and no offset is stored before its record is acknowledged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from caudal.connect.runtime.model import State, TargetState
from caudal.connect.runtime.tasks.process_host import TaskProcess
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.connect.task_harness import LIMIT, Bench, stored, wait_for


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(broker.bootstrap, tmp_path)
    yield made
    made.close()


# Kafka Connect's source-task-metrics and connector-task-metrics, as far as they are numbers.
SOURCE_METRICS = (
    "source-record-poll-rate", "source-record-poll-total", "source-record-write-rate", "source-record-write-total",
    "poll-batch-max-time-ms", "poll-batch-avg-time-ms", "source-record-active-count", "source-record-active-count-max",
    "source-record-active-count-avg", "running-ratio", "pause-ratio", "offset-commit-max-time-ms",
    "offset-commit-avg-time-ms", "batch-size-max", "batch-size-avg", "offset-commit-success-percentage",
    "offset-commit-failure-percentage",
)  # fmt: skip


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
    assert set(SOURCE_METRICS) <= set(metrics)
    assert (metrics["batch-size-max"], metrics["source-record-active-count"]) == (200, 0)
    assert bench.notes("stop"), "stop() is the last call"


def test_a_task_goes_on_where_its_offsets_are(bench: Bench) -> None:
    config = {"topic": "resumed", "count": "300"}
    task, heard = bench.start("Counting", "resumed", config)
    wait_for(lambda: stored(bench.settings, "resumed") == [({"source": "s0"}, {"n": 299})], "the last offset")
    bench.stop(task)
    task, heard = bench.start("Counting", "resumed", {**config, "count": "500"})
    heard.wait(State.RUNNING)
    wait_for(lambda: stored(bench.settings, "resumed") == [({"source": "s0"}, {"n": 499})], "the last offset")
    bench.stop(task)
    assert [one["n"] for one in bench.values("resumed")] == list(range(500))


def test_killed_five_times_nothing_is_lost(bench: Bench, broker: EmbeddedBroker) -> None:
    broker.create_topic("survivor", 3)
    config = {
        "topic": "survivor", "count": "40000", "batch": "100", "wait.ms": "1", "sources": "2",
        "caudal.task.isolation": "process",
    }  # fmt: skip
    for _ in range(5):
        task, heard = bench.start("Counting", "survivor", config)
        assert isinstance(task, TaskProcess)
        heard.wait(State.RUNNING)
        before = bench.length("survivor")
        wait_for(partial(longer, bench, "survivor", before), "some records")
        os.kill(task.pid, signal.SIGKILL)
        heard.wait(State.FAILED)
    task, heard = bench.start("Counting", "survivor", {**config, "wait.ms": "0"})
    wait_for(lambda: [offset for _, offset in stored(bench.settings, "survivor")] == [{"n": 39_999}] * 2, "the end")
    bench.stop(task)
    found = {(one["source"], one["n"]) for one in bench.values("survivor")}
    assert len(found) == 80_000


def longer(bench: Bench, topic: str, than: int) -> bool:
    return bench.length(topic) > than


def test_offsets_of_a_task_that_waits_in_poll_are_committed(bench: Bench) -> None:
    config = {"topic": "waiting", "count": "100", "fail.at": "100", "fail.with": "stuck"}
    task, heard = bench.start("Counting", "waiting", config)
    heard.wait(State.RUNNING)
    wait_for(lambda: stored(bench.settings, "waiting") == [({"source": "s0"}, {"n": 99})], "the last offset")
    task.stop()
    assert not task.wait(0.5), "it is stuck"
    bench.abandon(task)
    assert heard.states == [State.RUNNING], "an abandoned run is silent"


@pytest.mark.parametrize("isolation", ["thread", "process"])
@pytest.mark.parametrize("how", ["error", "exit", "memory", "interrupt"])
def test_a_task_that_raises_has_failed_and_what_it_sent_is_committed(bench: Bench, isolation: str, how: str) -> None:
    name = f"raises-{how}-{isolation}"
    config = {"topic": name, "fail.at": "300", "fail.with": how, "caudal.task.isolation": isolation}
    _, heard = bench.start("Counting", name, config)
    heard.wait(State.FAILED)
    expected = {"error": "broken", "exit": "SystemExit: 3", "memory": "MemoryError", "interrupt": "KeyboardInterrupt"}
    assert expected[how] in heard.traces[0]
    assert "task_samples" in heard.traces[0]
    assert stored(bench.settings, name) == [({"source": "s0"}, {"n": 299})]
    assert [one["n"] for one in bench.values(name)] == list(range(300))
    assert bench.notes("stop"), "stop() is called after a failure too"


def test_a_trace_has_no_secret(bench: Bench) -> None:
    config = {"topic": "t", "fail.at": "0", "fail.with": "secret", "my.password": "hunter22"}
    _, heard = bench.start("Counting", "secretive", config)
    heard.wait(State.FAILED)
    assert "[hidden]" in heard.traces[0] and "hunter22" not in heard.traces[0]


def test_what_cannot_be_made_has_failed(bench: Bench) -> None:
    for config, words in [
        ({"connector.class": "Countink"}, "did you mean Counting"),
        ({"count": "many"}, "count"),
        ({"producer.override.no.such": "1"}, "producer.override"),
        ({"topic.creation.groups": "big"}, "topic.creation.big.include"),
        ({"caudal.task.isolation": "container"}, "caudal.task.isolation"),
    ]:
        _, heard = bench.start("Counting", "unmade", {"topic": "unmade", **config})
        heard.wait(State.FAILED)
        assert words in heard.traces[0]


def test_paused_it_polls_nothing(bench: Bench) -> None:
    config = {"topic": "paused", "count": "1000000", "batch": "10", "wait.ms": "5"}
    task, heard = bench.start("Counting", "paused", config, TargetState.PAUSED)
    heard.wait(State.PAUSED)
    assert bench.notes("start") == []
    task.resume()
    heard.wait(State.RUNNING)
    wait_for(lambda: task.metrics().get("source-record-poll-total", 0) > 0, "records")
    task.pause()
    wait_for(lambda: heard.states[-1] is State.PAUSED, "the pause")
    polled = task.metrics()["source-record-poll-total"]
    wait_for(lambda: [one["n"] for _, one in stored(bench.settings, "paused")] == [polled - 1], "the last offset")
    assert task.metrics()["source-record-poll-total"] == polled
    task.resume()
    wait_for(lambda: task.metrics()["source-record-poll-total"] > polled, "more records")
    bench.stop(task)
    assert heard.states == [State.PAUSED, State.RUNNING, State.PAUSED, State.RUNNING, State.UNASSIGNED]
    assert 0 < task.metrics()["pause-ratio"] < 1


def test_one_stuck_task_stops_no_other(bench: Bench) -> None:
    stuck = []
    for how in ("stuck", "gil"):
        config = {"topic": f"stuck-{how}", "fail.at": "100", "fail.with": how}
        if how == "gil":
            config["caudal.task.isolation"] = "process"
        stuck.append(bench.start("Counting", f"stuck-{how}", config)[0])
        wait_for(partial(has_topic, bench, f"stuck-{how}", 100), "its records")
    task, _ = bench.start("Counting", "beside", {"topic": "beside", "count": "20000"})
    wait_for(lambda: stored(bench.settings, "beside") == [({"source": "s0"}, {"n": 19_999})], "the last offset")
    bench.stop(task)
    for one in stuck:
        one.stop()
        assert not one.wait(0.3)
        bench.abandon(one)
    assert stuck[1].wait(LIMIT), "a process is killed"


def has_topic(bench: Bench, topic: str, length: int) -> bool:
    return bench.topic_exists(topic) and bench.length(topic) >= length


def test_a_process_dies_with_its_worker_also_while_it_holds_the_interpreter(
    bench: Bench, broker: EmbeddedBroker
) -> None:
    script = f"""
import sys, time
from pathlib import Path
from tests.connect.task_harness import Bench
bench = Bench({broker.bootstrap!r}, Path({str(bench.folder)!r}))
task, _ = bench.start("Counting", "orphan", dict(topic="orphan", **{{"fail.at": "100", "fail.with": "gil",
    "caudal.task.isolation": "process"}}))
print(task.pid, flush=True)
time.sleep(600)
"""
    worker = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        child = int(worker.stdout.readline())
        wait_for(partial(has_topic, bench, "orphan", 100), "its records")
        assert psutil.pid_exists(child)
    finally:
        worker.kill()
        worker.wait()
        worker.communicate()
    wait_for(lambda: not psutil.pid_exists(child), "the end of the task's process")


def test_a_class_can_ask_for_a_process(bench: Bench) -> None:
    task, heard = bench.start("Isolated", "isolated", {"topic": "isolated", "count": "10"})
    assert isinstance(task, TaskProcess)
    wait_for(lambda: stored(bench.settings, "isolated") == [({"source": "s0"}, {"n": 9})], "the last offset")
    bench.stop(task)
    assert heard.states == [State.RUNNING, State.UNASSIGNED] and heard.topics == {"isolated"}
    assert task.metrics()["source-record-write-total"] == 10
    task, _ = bench.start("Isolated", "isolated", {"topic": "isolated", "caudal.task.isolation": "thread"})
    assert not isinstance(task, TaskProcess)


def test_async_tasks_share_one_loop_and_are_cancelled(bench: Bench) -> None:
    tasks = []
    for number, how in enumerate(["stuck", "error"]):
        config = {"topic": f"async-{number}", "count": "500", "fail.with": how}
        tasks.append(bench.start("AsyncCounting", f"async-{number}", config))
    for number in range(2):
        wait_for(
            lambda n=number: stored(bench.settings, f"async-{n}") == [({"source": "s0"}, {"n": 499})],  # type: ignore[misc]
            "the last offset",
        )
    for task, heard in tasks:
        bench.stop(task)
        assert heard.states == [State.RUNNING, State.UNASSIGNED]
    assert len(set(bench.notes("loop"))) == 1


def test_each_acknowledged_record_is_told_where_it_is_asked_for(bench: Bench) -> None:
    task, _ = bench.start("Telling", "telling", {"topic": "telling", "count": "250"})
    wait_for(lambda: len(bench.notes("record")) == 250, "250 records told")
    bench.stop(task)
    assert sorted(bench.notes("record")) == list(range(250))


def test_topics_are_made_as_the_configuration_says(bench: Bench) -> None:
    config = {
        "topic": "made-big", "topic.creation.groups": "big", "topic.creation.big.include": "made-b.*",
        "topic.creation.big.partitions": "5", "topic.creation.big.cleanup.policy": "compact",
        "topic.creation.default.partitions": "2", "topic.creation.default.replication.factor": "1",
    }  # fmt: skip
    for topic, partitions in [("made-big", 5), ("made-small", 2)]:
        task, _ = bench.start("Counting", topic, {**config, "topic": topic, "count": "1"})
        wait_for(partial(has_topic, bench, topic, 1), "the topic")
        bench.stop(task)
        assert bench.partitions(topic) == partitions


def test_a_record_that_is_too_large_fails_the_task_or_is_passed_over(bench: Bench) -> None:
    large = {"topic": "large", "count": "30", "value": "{n:02000000d}", "batch": "10"}
    _, heard = bench.start("Counting", "large", large)
    heard.wait(State.FAILED)
    assert "does not take a record" in heard.traces[0]
    assert stored(bench.settings, "large") == []
    task, heard = bench.start("Counting", "large-too", {**large, "errors.tolerance": "all"})
    wait_for(lambda: stored(bench.settings, "large-too") == [({"source": "s0"}, {"n": 29})], "the last offset")
    bench.stop(task)
    assert task.metrics()["total-records-skipped"] == 30


def test_a_transform_that_fails_is_tried_again_and_then_tolerated_or_not(bench: Bench) -> None:
    base = {
        "topic": "stubborn", "count": "200", "value": "value {n}", "transforms": "t", "transforms.t.type": "Stubborn",
        "transforms.t.text": "value 77",
    }  # fmt: skip
    _, heard = bench.start("Counting", "stubborn", base)
    heard.wait(State.FAILED)
    assert "Tolerance exceeded in error handler" in heard.traces[0] and "value 77 is not wanted" in heard.traces[0]
    retried = {**base, "transforms.t.times": "2", "errors.retry.timeout": "-1", "topic": "retried"}
    task, heard = bench.start("Counting", "retried", retried)
    wait_for(lambda: stored(bench.settings, "retried") == [({"source": "s0"}, {"n": 199})], "the last offset")
    bench.stop(task)
    assert task.metrics()["total-retries"] == 2
    assert len(bench.records("retried")) == 200
    task, heard = bench.start("Counting", "tolerant", {**base, "errors.tolerance": "all", "topic": "tolerant"})
    wait_for(lambda: stored(bench.settings, "tolerant") == [({"source": "s0"}, {"n": 199})], "the last offset")
    bench.stop(task)
    assert len(bench.records("tolerant")) == 199


def test_the_broker_restarts_in_the_middle_and_nothing_is_lost(tmp_path: Path) -> None:
    with embedded_broker() as own:
        bench = Bench(own.bootstrap, tmp_path)
        try:
            own.create_topic("restarted", 2)
            config = {"topic": "restarted", "count": "200000", "batch": "500", "wait.ms": "1"}
            task, heard = bench.start("Counting", "restarted", config)
            heard.wait(State.RUNNING)
            for stop in (own.stop, own.kill):
                before = bench.length("restarted")
                wait_for(partial(longer, bench, "restarted", before), "some records")
                stop()
                time.sleep(1)
                own.start()
            wait_for(lambda: stored(bench.settings, "restarted") == [({"source": "s0"}, {"n": 199_999})], "the end")
            bench.stop(task)
            found = [one["n"] for one in bench.values("restarted")]
            assert sorted(set(found)) == list(range(200_000))
            assert len(found) == 200_000, "an idempotent producer writes none twice"
        finally:
            bench.close()


def test_a_standalone_worker_keeps_offsets_in_a_file(broker: EmbeddedBroker, tmp_path: Path) -> None:
    bench = Bench(broker.bootstrap, tmp_path, mode="standalone", offsets_file=tmp_path / "offsets" / "all.json")
    try:
        task, _ = bench.start("Counting", "alone", {"topic": "alone", "count": "100"})
        wait_for(lambda: stored(bench.settings, "alone") == [({"source": "s0"}, {"n": 99})], "the last offset")
        bench.stop(task)
    finally:
        bench.close()
