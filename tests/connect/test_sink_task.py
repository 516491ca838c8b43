"""Sink tasks with a real broker: what is committed was flushed, and a failed record is in the dead-letter topic."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from caudal.connect.runtime.model import State
from caudal.connect.runtime.tasks.process_host import TaskProcess
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.connect.task_harness import LIMIT, Bench, wait_for


@pytest.fixture
def bench(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(broker.bootstrap, tmp_path)
    yield made
    made.close()


# Kafka Connect's sink-task-metrics, connector-task-metrics and task-error-metrics, as far as they are numbers; commits
# are never overtaken here, so there is no offset-commit-skip.
SINK_METRICS = (
    "sink-record-read-rate", "sink-record-read-total", "sink-record-send-rate", "sink-record-send-total",
    "sink-record-lag-max", "partition-count", "offset-commit-seq-no", "offset-commit-completion-rate",
    "offset-commit-completion-total", "put-batch-max-time-ms", "put-batch-avg-time-ms", "sink-record-active-count",
    "sink-record-active-count-max", "sink-record-active-count-avg", "running-ratio", "pause-ratio",
    "offset-commit-max-time-ms", "offset-commit-avg-time-ms", "batch-size-max", "batch-size-avg",
    "offset-commit-success-percentage", "offset-commit-failure-percentage", "total-record-failures",
    "total-record-errors", "total-records-skipped", "total-retries", "total-errors-logged",
    "deadletterqueue-produce-requests", "deadletterqueue-produce-failures", "last-error-timestamp",
)  # fmt: skip


def committed(bench: Bench, name: str, topic: str, partitions: int = 1) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bench.bootstrap, "group.id": f"connect-{name}"})
    try:
        places = consumer.committed([TopicPartition(topic, one) for one in range(partitions)], timeout=30)
        return [one.offset for one in places]
    finally:
        consumer.close()


def written(bench: Bench) -> list[int]:
    return sorted(value[3]["n"] for value in bench.notes("record", "sink-"))


def test_records_are_put_flushed_and_then_committed(bench: Bench, broker: EmbeddedBroker) -> None:
    broker.create_topic("sink-plain", 3)
    bench.produce("sink-plain", [{"n": n} for n in range(3000)])
    task, heard = bench.start("Writing", "sink-plain", {"topics": "sink-plain"})
    wait_for(lambda: sum(committed(bench, "sink-plain", "sink-plain", 3)) == 3000, "all offsets committed")
    bench.stop(task)
    assert heard.states == [State.RUNNING, State.UNASSIGNED]
    assert heard.topics == {"sink-plain"}
    assert written(bench) == list(range(3000))
    metrics = task.metrics()
    assert metrics["sink-record-read-total"] == metrics["sink-record-send-total"] == 3000
    assert metrics["partition-count"] == 3
    assert metrics["offset-commit-seq-no"] == metrics["offset-commit-completion-total"] >= 1
    assert metrics["offset-commit-success-percentage"] == 100
    assert metrics["sink-record-active-count"] == metrics["sink-record-lag-max"] == 0
    assert 0 < metrics["sink-record-active-count-max"] <= 3000
    assert set(SINK_METRICS) <= set(metrics)


def test_a_put_is_repeated_with_the_same_batch_until_it_works(bench: Bench) -> None:
    bench.produce("sink-retry", [{"n": n} for n in range(500)])
    task, heard = bench.start("Writing", "sink-retry", {"topics": "sink-retry", "retries": "4", "retry.after.ms": "50"})
    heard.wait(State.RUNNING)
    bench.produce("sink-retry", [{"n": n} for n in range(500, 700)])
    wait_for(lambda: committed(bench, "sink-retry", "sink-retry") == [700], "all offsets committed")
    bench.stop(task)
    sizes = bench.notes("retry")
    assert len(sizes) == 4 and len(set(sizes)) == 1
    assert written(bench) == list(range(700))
    assert task.metrics()["total-retries"] == 4


def test_puts_are_given_up_after_the_retry_timeout(bench: Bench) -> None:
    bench.produce("sink-gives-up", [{"n": 1}])
    config = {"topics": "sink-gives-up", "retries": "1000", "retry.after.ms": "20", "errors.retry.timeout": "300"}
    _, heard = bench.start("Writing", "sink-gives-up", config)
    heard.wait(State.FAILED)
    assert "errors.retry.timeout" in heard.traces[0] and "the store is away" in heard.traces[0]
    assert committed(bench, "sink-gives-up", "sink-gives-up") == [-1001]


def test_stopped_while_it_repeats_the_records_are_read_again(bench: Bench) -> None:
    bench.produce("sink-again", [{"n": n} for n in range(50)])
    task, _ = bench.start("Writing", "sink-again", {"topics": "sink-again", "retries": "1000000"})
    wait_for(lambda: bench.notes("retry"), "a try")
    bench.stop(task)
    assert committed(bench, "sink-again", "sink-again") == [-1001]
    task, _ = bench.start("Writing", "sink-again", {"topics": "sink-again"})
    wait_for(lambda: committed(bench, "sink-again", "sink-again") == [50], "all offsets committed")
    bench.stop(task)
    assert written(bench) == list(range(50))


def test_records_of_a_flush_that_failed_are_read_again(bench: Bench, broker: EmbeddedBroker) -> None:
    broker.create_topic("sink-flush", 2)
    bench.produce("sink-flush", [{"n": n} for n in range(500)])
    config = {"topics": "sink-flush", "flush.fails": "3", "fail.with": "retriable"}
    task, heard = bench.start("Writing", "sink-flush", config)
    wait_for(lambda: sum(committed(bench, "sink-flush", "sink-flush", 2)) == 500, "all offsets committed")
    bench.stop(task)
    assert heard.states == [State.RUNNING, State.UNASSIGNED]
    assert len(bench.notes("lost")) == 3
    assert written(bench) == list(range(500))


def test_a_flush_that_fails_for_good_fails_the_task(bench: Bench) -> None:
    bench.produce("sink-broken", [{"n": 1}])
    _, heard = bench.start("Writing", "sink-broken", {"topics": "sink-broken", "flush.fails": "1"})
    heard.wait(State.FAILED)
    assert "the store is broken" in heard.traces[0]
    assert committed(bench, "sink-broken", "sink-broken") == [-1001]


def test_a_sink_says_what_it_is_done_with(bench: Bench) -> None:
    bench.produce("sink-holding", [{"n": n} for n in range(100)])
    task, _ = bench.start("Holding", "sink-holding", {"topics": "sink-holding"})
    wait_for(lambda: committed(bench, "sink-holding", "sink-holding") == [90], "what the sink is done with")
    bench.stop(task)
    assert committed(bench, "sink-holding", "sink-holding") == [90]


def test_a_topic_that_comes_later_is_read(bench: Bench) -> None:
    task, heard = bench.start("Writing", "sink-later", {"topics": "sink-later"})
    heard.wait(State.RUNNING)
    time.sleep(1)  # so that the consumer has asked for it
    bench.produce("sink-later", [{"n": 1}])
    wait_for(lambda: written(bench) == [1], "the record")
    bench.stop(task)


def test_failed_records_go_to_the_dead_letter_topic_with_the_reason(bench: Bench, broker: EmbeddedBroker) -> None:
    broker.create_topic("sink-dead", 1)
    bench.produce("sink-dead", [{"n": 0}])
    bench.produce("sink-dead", [b"{not json"], key=b'"k1"', headers=[("mine", b"1")], timestamp=1_700_000_000_123)
    bench.produce("sink-dead", [{"n": 2}, {"n": 666}, {"n": 999}, {"n": 5}])
    config = {
        "topics": "sink-dead", "errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead-letters",
        "errors.deadletterqueue.context.headers.enable": "true", "reject": "666", "transforms": "t",
        "transforms.t.type": "Stubborn", "transforms.t.text": "999",
        "errors.deadletterqueue.topic.replication.factor": "1",
    }  # fmt: skip
    task, heard = bench.start("Writing", "sink-dead", config)
    heard.wait(State.RUNNING)
    wait_for(lambda: committed(bench, "sink-dead", "sink-dead") == [6], "all offsets committed")
    assert written(bench) == [0, 2, 5]
    dead = bench.records("dead-letters")
    bench.stop(task)
    assert [one.value() for one in dead] == [b"{not json", b'{"n": 999}', b'{"n": 666}']
    first = dict(dead[0].headers())
    assert dead[0].key() == b'"k1"' and first["mine"] == b"1" and dead[0].timestamp()[1] == 1_700_000_000_123
    assert {
        name: value for name, value in first.items() if not name.endswith(("message", "stacktrace", "class.name"))
    } == {
        "mine": b"1",
        "__connect.errors.topic": b"sink-dead",
        "__connect.errors.partition": b"0",
        "__connect.errors.offset": b"1",
        "__connect.errors.connector.name": b"sink-dead",
        "__connect.errors.task.id": b"0",
        "__connect.errors.stage": b"VALUE_CONVERTER",
    }
    assert b"json" in first["__connect.errors.class.name"].lower()
    assert first["__connect.errors.exception.class.name"] == b"caudal.connect.errors.DataError"
    assert first["__connect.errors.exception.message"]
    assert b"Traceback" in first["__connect.errors.exception.stacktrace"]
    stages = [dict(one.headers())["__connect.errors.stage"] for one in dead]
    assert stages == [b"VALUE_CONVERTER", b"TRANSFORMATION", b"TASK_PUT"]
    reported = dict(dead[2].headers())
    assert reported["__connect.errors.exception.message"] == b"no 666 here"
    assert reported["__connect.errors.offset"] == b"3"
    metrics = task.metrics()
    assert metrics["deadletterqueue-produce-requests"] == 3
    assert metrics["total-records-skipped"] == 3


def test_without_tolerance_a_failed_record_fails_the_task_and_nothing_behind_is_committed(bench: Bench) -> None:
    bench.produce("sink-strict", [{"n": 0}, b"{not json", {"n": 2}])
    _, heard = bench.start("Writing", "sink-strict", {"topics": "sink-strict"})
    heard.wait(State.FAILED)
    assert "Tolerance exceeded in error handler" in heard.traces[0] and "VALUE_CONVERTER" in heard.traces[0]
    assert committed(bench, "sink-strict", "sink-strict") == [-1001]
    _, heard = bench.start("Writing", "sink-strict-2", {"topics": "sink-retry-2", "reject": "n"})
    bench.produce("sink-retry-2", [{"n": 0}])
    heard.wait(State.FAILED)
    assert "no n here" in heard.traces[0]


def test_a_dead_letter_that_is_refused_keeps_the_offset_back(bench: Bench, broker: EmbeddedBroker) -> None:
    broker.create_topic("dead-small", 1, max_message_bytes=100)
    bench.produce("sink-refused", [b"not json at all"])
    config = {
        "topics": "sink-refused", "errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead-small",
        "errors.deadletterqueue.context.headers.enable": "true",
    }  # fmt: skip
    _, heard = bench.start("Writing", "sink-refused", config)
    heard.wait(State.FAILED)
    assert "dead-letter topic" in heard.traces[0]
    assert committed(bench, "sink-refused", "sink-refused") == [-1001]


def test_partitions_go_to_another_task_and_back_without_loss_or_repetition(
    bench: Bench, broker: EmbeddedBroker
) -> None:
    broker.create_topic("sink-moves", 6)
    stop = threading.Event()
    sent = [0]

    def feed() -> None:
        while not stop.wait(0.05):
            bench.produce("sink-moves", [{"n": n} for n in range(sent[0], sent[0] + 100)])
            sent[0] += 100

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        first, heard = bench.start("Writing", "sink-moves", {"topics": "sink-moves"})
        wait_for(lambda: first.metrics().get("partition-count") == 6, "all partitions")
        for _ in range(3):
            second, other = bench.start("Writing", "sink-moves", {"topics": "sink-moves"}, task=1)
            wait_for(lambda task=second: task.metrics().get("partition-count", 0) == 3, "half of them")  # type: ignore[misc]
            bench.stop(second)
            assert other.states == [State.RUNNING, State.UNASSIGNED]
            wait_for(lambda: first.metrics().get("partition-count") == 6, "all partitions again")
    finally:
        stop.set()
        feeder.join()
    wait_for(lambda: sum(committed(bench, "sink-moves", "sink-moves", 6)) == sent[0], "all offsets committed")
    bench.stop(first)
    assert heard.states == [State.RUNNING, State.UNASSIGNED]
    assert written(bench) == list(range(sent[0])), "what is flushed before it is given away is written once"


def test_a_task_that_is_killed_writes_again_only_what_was_not_committed(bench: Bench, broker: EmbeddedBroker) -> None:
    broker.create_topic("sink-killed", 2)
    bench.produce("sink-killed", [{"n": n} for n in range(1000)])
    config = {"topics": "sink-killed", "caudal.task.isolation": "process"}
    task, heard = bench.start("Writing", "sink-killed", config)
    wait_for(lambda: sum(committed(bench, "sink-killed", "sink-killed", 2)) == 1000, "the first thousand")
    assert isinstance(task, TaskProcess)
    os.kill(task.pid, signal.SIGKILL)
    heard.wait(State.FAILED)
    bench.produce("sink-killed", [{"n": n} for n in range(1000, 1500)])
    task, heard = bench.start("Writing", "sink-killed", config)
    wait_for(lambda: sum(committed(bench, "sink-killed", "sink-killed", 2)) == 1500, "the rest")
    bench.stop(task)
    assert written(bench) == list(range(1500))


def test_a_stuck_task_is_abandoned_and_another_has_its_partitions_at_once(bench: Bench) -> None:
    bench.produce("sink-stuck", [{"n": n} for n in range(10)])
    config = {"topics": "sink-stuck", "fail.on": "7", "fail.with": "stuck"}
    task, heard = bench.start("Writing", "sink-stuck", config)
    heard.wait(State.RUNNING)
    wait_for(lambda: bench.notes("stuck"), "it is stuck")
    task.stop()
    assert not task.wait(1)
    bench.abandon(task)
    began = time.monotonic()
    task, heard = bench.start("Writing", "sink-stuck", {"topics": "sink-stuck"})
    wait_for(lambda: committed(bench, "sink-stuck", "sink-stuck") == [10], "all offsets committed")
    assert time.monotonic() - began < 60
    bench.stop(task)
    assert written(bench) == list(range(10))


def test_a_task_that_was_silent_for_too_long_commits_nothing_of_what_it_lost(bench: Bench) -> None:
    bench.produce("sink-lost", [{"n": n} for n in range(10)])
    config = {"topics": "sink-lost", "consumer.override.max.poll.interval.ms": "6000"}
    slow, heard = bench.start("Writing", "sink-lost", {**config, "sleep.on": "7", "sleep.ms": "9000"})
    wait_for(lambda: bench.notes("sleep"), "the slow put")
    quick, _ = bench.start("Writing", "sink-lost", config, task=1)
    wait_for(lambda: committed(bench, "sink-lost", "sink-lost") == [10], "the other has done its work")
    assert written(bench) == list(range(10))
    wait_for(lambda: bench.notes("close"), "the slow one hears that it has lost them")
    bench.stop(quick)
    bench.produce("sink-lost", [{"n": 10}])
    wait_for(lambda: written(bench) == list(range(11)), "the slow one is in the group again")
    bench.stop(slow)
    assert heard.states == [State.RUNNING, State.UNASSIGNED]
    assert written(bench) == list(range(11)), "what it had kept was not written"


def test_a_sink_that_cannot_start_has_failed_and_is_in_no_group(bench: Bench) -> None:
    task, heard = bench.start("Writing", "sink-unstarted", {"topics": "sink-unstarted", "fail.with": "start"})
    heard.wait(State.FAILED)
    assert "no such database" in heard.traces[0]
    assert task.wait(LIMIT)
    for config, words in [({}, "topics"), ({"topics": "a", "topics.regex": "b"}, "topics")]:
        _, heard = bench.start("Writing", "sink-unmade", config)
        heard.wait(State.FAILED)
        assert words in heard.traces[0]


def test_a_partition_that_is_paused_when_it_is_opened_is_not_read(bench: Bench) -> None:
    bench.produce("sink-held", [{"n": 1}])
    task, heard = bench.start("Writing", "sink-held", {"topics": "sink-held", "pause.in.open": "true"})
    wait_for(lambda: bench.notes("open"), "the partition")
    time.sleep(1)  # in which it must not be read
    bench.stop(task)
    assert heard.states == [State.RUNNING, State.UNASSIGNED]
    assert task.metrics()["sink-record-read-total"] == 0


def test_a_sink_that_knows_its_offsets_begins_there(bench: Bench) -> None:
    bench.produce("sink-seek", [{"n": n} for n in range(100)])
    task, _ = bench.start("Writing", "sink-seek", {"topics": "sink-seek", "seek": "90"})
    wait_for(lambda: committed(bench, "sink-seek", "sink-seek") == [100], "all offsets committed")
    bench.stop(task)
    assert written(bench) == list(range(90, 100))


def test_topics_by_pattern_new_ones_too(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caudal.connect.runtime.tasks.subscription.REFRESH_SECONDS", 0.3)
    bench.produce("pattern-1", [{"n": 1}])
    bench.produce("pattern-x", [{"n": 0}])
    config = {"topics.regex": r"pattern-\d+", "transforms": "r", "transforms.r.type": "Renamed"}
    task, heard = bench.start("Writing", "pattern", config)
    wait_for(lambda: written(bench) == [1], "the first topic")
    bench.produce("pattern-22", [{"n": 22}])
    wait_for(lambda: written(bench) == [1, 22], "the new topic")
    bench.stop(task)
    assert heard.topics == {"pattern-1", "pattern-22"}
    assert {(one[0], one[4]) for one in bench.notes("record", "sink-")} == {
        ("pattern-1", "new-pattern-1"),
        ("pattern-22", "new-pattern-22"),
    }, "the original place, and the name that the transform gave"


def test_only_committed_records_are_read(bench: Bench) -> None:
    producer = Producer({"bootstrap.servers": bench.bootstrap, "transactional.id": "t"})
    producer.init_transactions(30)
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce("sink-committed", b'{"n": %d}' % (end == producer.commit_transaction))
        producer.flush(30)
        end(30)
    task, _ = bench.start("Writing", "sink-committed", {"topics": "sink-committed"})
    wait_for(lambda: written(bench) == [1], "the committed one")
    bench.stop(task)


def test_paused_it_reads_nothing_and_stays_in_the_group(bench: Bench) -> None:
    bench.produce("sink-paused", [{"n": 0}])
    task, heard = bench.start("Writing", "sink-paused", {"topics": "sink-paused"})
    wait_for(lambda: written(bench) == [0], "the first record")
    task.pause()
    heard.wait(State.PAUSED)
    read = task.metrics()["sink-record-read-total"]
    bench.produce("sink-paused", [{"n": 1}])
    time.sleep(1.5)  # in which it must not be read
    assert task.metrics()["sink-record-read-total"] == read
    task.resume()
    wait_for(lambda: written(bench) == [0, 1], "the second record")
    bench.stop(task)
    assert heard.states == [State.RUNNING, State.PAUSED, State.RUNNING, State.UNASSIGNED]
    assert len(bench.notes("open")) == 1, "no rebalance in between"


def test_the_broker_restarts_in_the_middle(tmp_path: Path) -> None:
    with embedded_broker() as own:
        bench = Bench(own.bootstrap, tmp_path)
        try:
            own.create_topic("sink-restart", 2)
            bench.produce("sink-restart", [{"n": n} for n in range(1000)])
            task, heard = bench.start("Writing", "sink-restart", {"topics": "sink-restart"})
            wait_for(lambda: len(set(written(bench))) == 1000, "the first thousand")
            for first, stop in ((1000, own.stop), (2000, own.kill)):
                stop()
                time.sleep(1)
                own.start()
                bench.produce("sink-restart", [{"n": n} for n in range(first, first + 1000)])
                wait_for(lambda end=first + 1000: len(set(written(bench))) == end, "the next")  # type: ignore[misc]
            bench.stop(task)
            assert heard.states == [State.RUNNING, State.UNASSIGNED]
            assert sorted(set(written(bench))) == list(range(3000))
        finally:
            bench.close()
