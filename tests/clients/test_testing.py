"""`caudal.testing`: the embedded broker's life, its faults, and the pytest fixtures."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from caudal.testing import EmbeddedBroker, embedded_broker


def produce(broker: EmbeddedBroker, topic: str, *values: str, **config: object) -> None:
    failures: list[object] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0, "linger.ms": 0, **config})
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(20) == 0
    if failures:
        raise KafkaException(failures[0])


def read(broker: EmbeddedBroker, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader", "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[str] = []
    deadline = time.monotonic() + 20
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message.value().decode())
    consumer.close()
    return found


def test_a_client_can_use_it_and_nothing_stays_behind() -> None:
    threads = threading.active_count()
    with embedded_broker() as broker:
        produce(broker, "orders", "a", "b")
        assert read(broker, "orders", 2) == ["a", "b"]
        folder = broker.data
        assert folder.is_dir()
    assert not folder.exists()
    assert threading.active_count() == threads
    broker.stop()


def test_it_starts_in_a_third_of_a_second() -> None:
    with embedded_broker():
        pass  # imports are paid once per process
    best = 9.0
    for _ in range(3):
        before = time.perf_counter()
        with embedded_broker():
            best = min(best, time.perf_counter() - before)
    assert best < 0.34


def test_properties_come_as_keywords_or_as_a_mapping() -> None:
    with embedded_broker({"log.retention.ms": 5000}, num_partitions=3, auto_create_topics_enable=False) as broker:
        assert broker.broker.config["num.partitions"] == 3
        assert broker.broker.config["log.retention.ms"] == 5000
        assert broker.broker.config["auto.create.topics.enable"] is False
        assert broker.broker.config["group.initial.rebalance.delay.ms"] == 0


def test_a_wrong_property_is_raised_where_the_broker_is_made() -> None:
    with pytest.raises(Exception, match=r"no\.such\.property"), embedded_broker({"no.such.property": 1}):
        pass


def test_topics_are_made_without_a_client() -> None:
    with embedded_broker() as broker:
        broker.create_topic("orders", 3, cleanup_policy="compact")
        info = broker.broker.metadata.topics["orders"]
        assert len(info.partitions) == 3
        assert info.configs == {"cleanup.policy": "compact"}


def test_a_folder_of_ones_own_stays_and_is_found_again(tmp_path: Path) -> None:
    with embedded_broker(data=tmp_path) as broker:
        produce(broker, "orders", "kept")
    assert any(tmp_path.iterdir())
    with embedded_broker(data=tmp_path) as broker:
        assert read(broker, "orders", 1) == ["kept"]


def test_a_restart_keeps_port_and_records() -> None:
    with embedded_broker() as broker:
        port = broker.port
        produce(broker, "orders", "a")
        broker.restart()
        assert broker.port == port
        produce(broker, "orders", "b")
        assert read(broker, "orders", 2) == ["a", "b"]


def test_a_kill_loses_nothing_acknowledged() -> None:
    with embedded_broker() as broker:
        produce(broker, "orders", "a", "b", acks="all")
        broker.kill()
        assert not broker.is_running
        broker.start()
        assert read(broker, "orders", 2) == ["a", "b"]


def test_several_brokers_at_once() -> None:
    with embedded_broker() as first, embedded_broker() as second:
        assert first.port != second.port
        produce(first, "t", "1")
        produce(second, "t", "2")
        assert (read(first, "t", 1), read(second, "t", 1)) == (["1"], ["2"])


def test_an_injected_error_reaches_the_client_and_is_retried() -> None:
    with embedded_broker() as broker:
        broker.create_topic("t")
        broker.faults.error("produce", "not_leader_or_follower", times=1)
        produce(broker, "t", "retried")
        assert read(broker, "t", 1) == ["retried"]
        broker.faults.error("produce", "topic_authorization_failed")
        with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
            produce(broker, "t", "refused")


def test_a_dropped_request_is_sent_again() -> None:
    with embedded_broker() as broker:
        broker.create_topic("t")
        broker.faults.drop("PRODUCE")
        produce(broker, "t", "again", **{"retry.backoff.ms": 10})
        assert read(broker, "t", 1) == ["again"]


def test_a_lost_response_does_not_double_an_idempotent_record() -> None:
    with embedded_broker() as broker:
        broker.create_topic("t")
        broker.faults.lose_response("PRODUCE")
        produce(broker, "t", "once", **{"enable.idempotence": True, "retry.backoff.ms": 10})
        produce(broker, "t", "after")
        assert read(broker, "t", 2) == ["once", "after"]


def test_a_delay_is_felt_and_clear_forgets_it() -> None:
    with embedded_broker() as broker:
        broker.create_topic("t")
        produce(broker, "t", "warm")
        broker.faults.delay("PRODUCE", 0.6)
        before = time.perf_counter()
        produce(broker, "t", "late")
        assert time.perf_counter() - before >= 0.6
        broker.faults.delay("PRODUCE", 30)
        broker.faults.clear()
        before = time.perf_counter()
        produce(broker, "t", "soon")
        assert time.perf_counter() - before < 10


def test_an_unknown_api_or_error_is_refused_by_name() -> None:
    with embedded_broker() as broker:
        with pytest.raises(ValueError, match="'producing' is not a Kafka API"):
            broker.faults.drop("producing")
        with pytest.raises(ValueError, match="'oops' is not a Kafka error code"):
            broker.faults.error("produce", "oops")


async def test_it_can_be_used_with_async_with() -> None:
    async with EmbeddedBroker() as broker:
        assert broker.is_running
    assert not broker.is_running


def test_the_pytest_fixtures_work_in_a_project_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.caudal(num_partitions=4)\n"
        "def test_fresh(caudal_broker):\n"
        "    assert caudal_broker.broker.config['num.partitions'] == 4\n"
        "def test_shared(caudal_session_broker, caudal_broker):\n"
        "    assert caudal_session_broker.port != caudal_broker.port\n"
    )
    # The entry point may or may not be installed here: load the plugin by its module either way.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:caudal",
        "-p",
        "caudal.pytest_plugin",
        "--strict-markers",
        str(tmp_path),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env={**os.environ}, timeout=60, check=False
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
