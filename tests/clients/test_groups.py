"""Groups as real clients see them: rebalances, static members across a kill, offsets in transactions, readable records.

The conformance suite proves the protocol client by client; here are the cases that need a hand on the broker.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from caudal.broker.coordinators.offset_records import decode
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey
from caudal.testing import EmbeddedBroker, embedded_broker

SECONDS = 30.0


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as running:
        running.create_topic("t", 4)
        yield running


def consumer(broker: EmbeddedBroker, group: str, **settings: Any) -> Consumer:
    made = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 200,
            "enable.auto.commit": False,
            "log_level": 0,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
    made.subscribe(["t"])
    return made


def poll_until(condition: Callable[[], bool], *consumers: Consumer) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, [each.assignment() for each in consumers]
        for each in consumers:
            each.poll(0.02)


def sizes(*consumers: Consumer) -> list[int]:
    return sorted(len(each.assignment()) for each in consumers)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_three_members_then_two(broker: EmbeddedBroker, strategy: str) -> None:
    members = [consumer(broker, f"three-{strategy}", partition_assignment_strategy=strategy) for _ in range(3)]
    poll_until(lambda: sizes(*members) == [1, 1, 2], *members)
    members.pop().close()
    poll_until(lambda: sizes(*members) == [2, 2], *members)
    for member in members:
        member.close()
    group = broker.broker.groups.groups[f"three-{strategy}"]
    assert group.state.value == "Empty" and not group.pending_joins


def test_static_members_keep_their_partitions_over_restarts_of_client_and_broker(broker: EmbeddedBroker) -> None:
    one, two = (consumer(broker, "static", group_instance_id=name) for name in ("one", "two"))
    poll_until(lambda: sizes(one, two) == [2, 2], one, two)
    generation = broker.broker.groups.groups["static"].generation
    had = sorted(each.partition for each in one.assignment())
    one.close()
    one = consumer(broker, "static", group_instance_id="one")
    poll_until(lambda: sizes(one, two) == [2, 2], one, two)
    assert sorted(each.partition for each in one.assignment()) == had
    two.commit(offsets=[TopicPartition("t", two.assignment()[0].partition, 7)], asynchronous=False)

    broker.kill()
    broker.start()
    deadline = time.monotonic() + SECONDS
    while not broker.broker.groups.is_loaded:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    group = broker.broker.groups.groups["static"]
    assert group.state.value == "Stable" and set(group.static_members) == {"one", "two"}
    until = time.monotonic() + 2
    poll_until(lambda: time.monotonic() > until, one, two)
    assert group.generation == generation, "nobody had to rejoin"
    assert [row[3] for row in broker.broker.groups.committed() if row[0] == "static"] == [7]
    one.close()
    two.close()


@pytest.mark.parametrize(("commit", "expected"), [(False, -1001), (True, 6)])
def test_offsets_in_transactions(broker: EmbeddedBroker, commit: bool, expected: int) -> None:
    group = f"transactional-{commit}"
    reader = consumer(broker, group)
    poll_until(lambda: sizes(reader) == [4], reader)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": group, "log_level": 0})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition("t", 0, 6)], reader.consumer_group_metadata(), SECONDS)
    assert broker.broker.groups.commits.offsets.is_unstable(group, "t", 0)
    (producer.commit_transaction if commit else producer.abort_transaction)(SECONDS)
    assert reader.committed([TopicPartition("t", 0)], SECONDS)[0].offset == expected
    reader.close()


def test_a_plain_consumer_reads_the_internal_topic(broker: EmbeddedBroker) -> None:
    writer = consumer(broker, "written")
    poll_until(lambda: sizes(writer) == [4], writer)
    writer.commit(offsets=[TopicPartition("t", 1, 42)], asynchronous=False)
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.auto.commit": False})
    reader.assign([TopicPartition("__consumer_offsets", index, 0) for index in range(4)])
    found: dict[str, Any] = {}
    deadline = time.monotonic() + SECONDS
    while len(found) < 2 and time.monotonic() < deadline:
        message = reader.poll(0.2)
        if message is not None and message.error() is None:
            record = decode(message.key(), message.value())
            if record["key"]["group"] == "written" and record["value"] is not None:
                found[record["type"]] = record["value"]
    assert found["OffsetCommit"]["offset"] == 42
    assert found["OffsetCommit"]["topic_id"] == str(broker.broker.metadata.topics["t"].topic_id)
    assert found["GroupMetadata"]["members"][0]["assignment"] == ["t-0", "t-1", "t-2", "t-3"]
    reader.close()
    writer.close()


def test_a_client_that_vanishes_while_it_joins_is_forgotten() -> None:
    request = {
        "group_id": "vanished",
        "session_timeout": 30_000,
        "rebalance_timeout": 60_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    # Version 3 joins at once, without being given a member id first.
    header = struct.pack(">hhih", ApiKey.JOIN_GROUP, 3, 1, 4) + b"gone"
    frame = header + messages.encode_request(ApiKey.JOIN_GROUP, 3, request)
    with embedded_broker(group_initial_rebalance_delay_ms=60_000) as broker:
        groups = broker.broker.groups
        with socket.create_connection((broker.host, broker.port)) as connection:
            deadline = time.monotonic() + SECONDS
            while not groups.is_loaded:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            connection.sendall(struct.pack(">i", len(frame)) + frame)
            while not groups.states()["PreparingRebalance"]:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        while not groups.states()["Empty"]:
            assert time.monotonic() < deadline, "the member is still waited for"
            time.sleep(0.01)
        assert not groups.groups["vanished"].members


def test_kafka_python_rebalances(broker: EmbeddedBroker) -> None:
    from kafka import KafkaConsumer

    def member() -> Any:
        return KafkaConsumer(
            "t", bootstrap_servers=broker.bootstrap, group_id="kp", session_timeout_ms=6000, heartbeat_interval_ms=200
        )

    one, two = member(), member()
    done = threading.Event()

    def poll(each: Any) -> None:
        # One thread each and long polls: this client forgets an assignment that arrives as its poll times out.
        while not done.is_set():
            each.poll(timeout_ms=1000)
        each.close()

    threads = [threading.Thread(target=poll, args=(each,)) for each in (one, two)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + SECONDS
    while sizes(one, two) != [2, 2] and time.monotonic() < deadline:
        time.sleep(0.02)
    shared = sizes(one, two)
    done.set()
    for thread in threads:
        thread.join()
    assert shared == [2, 2]


async def test_aiokafka_rebalances(broker: EmbeddedBroker) -> None:
    from aiokafka import AIOKafkaConsumer

    def member() -> Any:
        return AIOKafkaConsumer(
            "t", bootstrap_servers=broker.bootstrap, group_id="aio", session_timeout_ms=6000, heartbeat_interval_ms=200
        )

    one, two = member(), member()
    await one.start()
    await two.start()
    deadline = time.monotonic() + SECONDS
    while sizes(one, two) != [2, 2]:
        assert time.monotonic() < deadline
        await one.getmany(timeout_ms=20)
        await two.getmany(timeout_ms=20)
    await one.stop()
    await two.stop()
