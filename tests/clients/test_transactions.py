"""Transactions on a whole broker: with confluent-kafka's producers, and with single requests where moments matter."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.unit.broker.coordinators.raw_requests import RawConnection

LEGACY = 11, 4  # versions of Produce and EndTxn before KIP-890's second part
VERSION_2 = 12, 5
PATIENCE_SECONDS = 60.0


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker(
        {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100, "auto.create.topics.enable": False}
    ) as broker:
        broker.create_topic("in")
        broker.create_topic("out")
        yield broker


@pytest.fixture
def raw(broker: EmbeddedBroker) -> Iterator[RawConnection]:
    connection = RawConnection(broker.bootstrap)
    yield connection
    connection.close()


def producer(broker: EmbeddedBroker, transactional_id: str, **settings: Any) -> Producer:
    made = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": transactional_id, **settings})
    made.init_transactions(PATIENCE_SECONDS)
    return made


def consumer(broker: EmbeddedBroker, group: str, isolation: str = "read_committed", **settings: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            **settings,
        }
    )


def values(broker: EmbeddedBroker, topic: str, isolation: str = "read_committed") -> list[bytes]:
    """Everything that is to be read from partition 0 up to its end (or its last stable offset)."""
    reader = consumer(broker, "reader", isolation, **{"enable.partition.eof": True})
    reader.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        assert time.monotonic() < deadline, f"the end was not reached; found {found}"
        message = reader.poll(0.2)
        if message is None:
            continue
        if message.error() is None:
            found.append(message.value())
        elif message.error().code() == KafkaError._PARTITION_EOF:
            break
    reader.close()
    return found


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in {PATIENCE_SECONDS:.0f} s"
        time.sleep(0.02)


# ------------------------------------------------------------------------------------------------ confluent-kafka


def test_commit_and_abort_as_consumers_see_them(broker: EmbeddedBroker) -> None:
    writer = producer(broker, "app")
    for number, commit in enumerate((True, False, True)):
        writer.begin_transaction()
        writer.produce("out", f"v{number}")
        if commit:
            writer.commit_transaction(20)
        else:
            writer.flush(20)
            writer.abort_transaction(20)
    assert values(broker, "out") == [b"v0", b"v2"]
    assert values(broker, "out", "read_uncommitted") == [b"v0", b"v1", b"v2"]


def test_consume_transform_produce(broker: EmbeddedBroker) -> None:
    source = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(5):
        source.produce("in", str(number))
    source.flush(20)
    reader, writer = consumer(broker, "app"), producer(broker, "app")
    reader.subscribe(["in"])
    taken = 0
    attempt = 0
    while taken < 5:
        message = reader.poll(10)
        assert message is not None and message.error() is None
        attempt += 1
        writer.begin_transaction()
        writer.produce("out", b"<" + message.value() + b">")
        writer.send_offsets_to_transaction(reader.position(reader.assignment()), reader.consumer_group_metadata(), 20)
        if attempt % 3 == 0:  # changes its mind: neither the output nor the offset may count
            writer.abort_transaction(20)
            reader.seek(TopicPartition("in", 0, message.offset()))
            continue
        writer.commit_transaction(20)
        taken += 1
        assert reader.committed([TopicPartition("in", 0)], 10)[0].offset == message.offset() + 1
    reader.close()
    assert values(broker, "out") == [f"<{number}>".encode() for number in range(5)]


def test_two_producers_of_one_id_fence_each_other(broker: EmbeddedBroker) -> None:
    first = producer(broker, "app")
    first.begin_transaction()
    first.produce("out", "zombie")
    first.flush(20)
    second = producer(broker, "app")
    with pytest.raises(KafkaException) as caught:
        first.commit_transaction(20)
    assert caught.value.args[0].fatal()
    second.begin_transaction()
    second.produce("out", "alive")
    second.commit_transaction(20)
    assert values(broker, "out") == [b"alive"]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_an_open_transaction_survives_a_restart(broker: EmbeddedBroker, end: str) -> None:
    writer = producer(broker, "app")
    writer.begin_transaction()
    writer.produce("out", "before")
    writer.flush(20)
    getattr(broker, end)()
    broker.start()
    assert values(broker, "out") == []
    writer.produce("out", "after")
    writer.commit_transaction(30)
    assert values(broker, "out") == [b"before", b"after"]
    writer.begin_transaction()
    writer.produce("out", "next")
    writer.commit_transaction(30)
    assert values(broker, "out") == [b"before", b"after", b"next"]


def test_a_transaction_whose_time_is_up_is_aborted(broker: EmbeddedBroker, raw: RawConnection) -> None:
    writer = producer(broker, "app", **{"transaction.timeout.ms": 1000})
    writer.begin_transaction()
    writer.produce("out", "slow")
    writer.flush(20)
    assert raw.hangs("out")
    until(lambda: not raw.hangs("out"))
    assert values(broker, "out") == []
    with pytest.raises(KafkaException):
        writer.commit_transaction(20)


def test_producer_ids_are_not_repeated_after_a_restart(broker: EmbeddedBroker, raw: RawConnection) -> None:
    before, _ = raw.init("one")
    broker.restart()
    again = RawConnection(broker.bootstrap)
    until(lambda: broker.broker.transactions.loaded)
    after, _ = again.init("two")
    assert after > before
    assert again.init("one") == (before, 1)
    again.close()


# ------------------------------------------------------------------------------------------------ single requests


def test_version_2_adds_by_producing_and_bumps_the_epoch(broker: EmbeddedBroker, raw: RawConnection) -> None:
    me = raw.init("app")
    assert raw.produce(12, "app", me, "out", b"one") == ErrorCode.none
    assert raw.hangs("out")
    ended = raw.end("app", me, True, 5)
    assert (ended.error_code, ended.producer_id, ended.producer_epoch) == (ErrorCode.none, me[0], me[1] + 1)
    assert not raw.hangs("out")
    again = raw.end("app", me, True, 5)
    assert (again.error_code, again.producer_epoch) == (ErrorCode.none, me[1] + 1)
    bumped = (me[0], me[1] + 1)
    assert raw.produce(12, "app", bumped, "out", b"two") == ErrorCode.none
    raw.end("app", bumped, False, 5)
    assert values(broker, "out") == [b"one"]


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize(("produce_version", "end_version"), [LEGACY, VERSION_2])
def test_a_produce_after_the_end_of_its_transaction_is_refused(
    broker: EmbeddedBroker, raw: RawConnection, produce_version: int, end_version: int, commit: bool
) -> None:
    me = raw.init("app")
    if produce_version < 12:
        raw.add("app", me, "out")
    assert raw.produce(produce_version, "app", me, "out", b"in time") == ErrorCode.none
    assert raw.end("app", me, commit, end_version).error_code == ErrorCode.none

    refused = raw.produce(produce_version, "app", me, "out", b"late", sequence=1)
    assert refused == (ErrorCode.invalid_producer_epoch if produce_version == 12 else ErrorCode.transaction_abortable)
    assert not raw.hangs("out")

    # Nor does it join the next transaction, which has other partitions than the late record's.
    now = (me[0], me[1] + 1) if end_version == 5 else me
    broker.create_topic("elsewhere")
    if produce_version < 12:
        raw.add("app", now, "elsewhere")
    assert raw.produce(produce_version, "app", now, "elsewhere", b"next") == ErrorCode.none
    assert raw.produce(produce_version, "app", me, "out", b"late", sequence=1) == refused
    assert raw.end("app", now, True, end_version).error_code == ErrorCode.none
    assert not raw.hangs("out")
    assert values(broker, "out", "read_uncommitted") == [b"in time"]
    assert values(broker, "elsewhere") == [b"next"]


def test_a_late_produce_of_version_2_to_a_partition_that_was_never_in_the_transaction(
    broker: EmbeddedBroker, raw: RawConnection
) -> None:
    me = raw.init("app")
    raw.produce(12, "app", me, "out", b"in time")
    raw.end("app", me, True, 5)
    assert raw.produce(12, "app", me, "in", b"late") == ErrorCode.invalid_producer_epoch
    assert raw.latest("in") == 0


@pytest.mark.parametrize(("produce_version", "end_version"), [LEGACY, VERSION_2])
def test_a_produce_that_the_broker_holds_back_until_after_the_end(
    broker: EmbeddedBroker, raw: RawConnection, produce_version: int, end_version: int
) -> None:
    """Two connections, as when a client gives up on a request that is still on its way."""
    me = raw.init("app")
    raw.add("app", me, "out")
    assert raw.produce(produce_version, "app", me, "out", b"in time") == ErrorCode.none
    broker.faults.hold(ApiKey.PRODUCE)
    slow = RawConnection(broker.bootstrap)
    results: list[Any] = []
    sender = threading.Thread(
        target=lambda: results.append(slow.produce(produce_version, "app", me, "out", b"late", sequence=1))
    )
    sender.start()
    until(lambda: broker.faults.held)
    assert raw.end("app", me, True, end_version).error_code == ErrorCode.none
    broker.faults.release()
    sender.join()
    slow.close()
    assert results != [ErrorCode.none]
    assert not raw.hangs("out")
    assert values(broker, "out", "read_uncommitted") == [b"in time"]


def test_no_transactional_record_without_a_transaction(broker: EmbeddedBroker, raw: RawConnection) -> None:
    me = raw.init("app")
    assert raw.produce(10, "app", me, "out", b"x") == ErrorCode.invalid_txn_state
    assert raw.produce(11, "app", me, "out", b"x") == ErrorCode.transaction_abortable
    assert raw.produce(12, "nobody", me, "out", b"x") == ErrorCode.invalid_producer_id_mapping
    assert raw.latest("out") == 0


def test_a_topic_deleted_in_the_middle_does_not_hold_the_rest(broker: EmbeddedBroker, raw: RawConnection) -> None:
    me = raw.init("app")
    raw.produce(12, "app", me, "in", b"gone")
    raw.produce(12, "app", me, "out", b"kept")
    broker.run(broker.broker.metadata.delete_topic("in"))
    assert raw.end("app", me, True, 5).error_code == ErrorCode.none
    assert values(broker, "out") == [b"kept"]
    described = raw.call(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=["app"])
    assert described.transaction_states[0].transaction_state == "CompleteCommit"


def test_describe_producers_shows_the_open_transaction(broker: EmbeddedBroker, raw: RawConnection) -> None:
    me = raw.init("app")
    raw.produce(12, "app", me, "out", b"x")
    asked = [{"name": "out", "partition_indexes": [0, 5]}]
    there, missing = raw.call(ApiKey.DESCRIBE_PRODUCERS, 0, topics=asked).topics[0].partitions
    assert [(row.producer_id, row.current_txn_start_offset) for row in there.active_producers] == [(me[0], 0)]
    assert missing.error_code == ErrorCode.unknown_topic_or_partition
