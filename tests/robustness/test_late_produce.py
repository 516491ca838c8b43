"""A Produce that comes after the end of its transaction neither holds the last stable offset nor joins the next one.

Both transaction protocols (KIP-890): version 1, where the partition has to be in the open transaction when the batch is
appended, and version 2, where every transaction has an epoch of its own. The request is held back by fault injection
or simply sent late; the answer may be an error or none at all, what counts is the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey
from caudal.testing import EmbeddedBroker, embedded_broker

from .raw import PATIENCE_SECONDS, Raw
from .transactions import RawTransactions

REFUSALS = {
    ErrorCode.invalid_txn_state,
    ErrorCode.invalid_producer_epoch,
    ErrorCode.producer_fenced,
    ErrorCode.invalid_producer_id_mapping,
    ErrorCode.transaction_abortable,
}


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as started:
        started.create_topic("t")
        yield started


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[Raw]:
    with Raw(broker.port) as connection:
        yield connection


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def producer(client: Raw, request: pytest.FixtureRequest) -> RawTransactions:
    return RawTransactions(client, "producer", request.param)


def check_nothing_hangs(client: Raw) -> list[bytes]:
    """No open transaction; what a read_committed consumer sees."""
    answer = client.fetch("t", committed=True)
    assert answer.last_stable_offset == answer.high_watermark, "the last stable offset hangs"
    return RawTransactions.visible(answer)[0]


@pytest.mark.parametrize("commit", [True, False])
def test_sent_after_the_end(client: Raw, producer: RawTransactions, commit: bool) -> None:
    producer.run("t", b"first", commit=True)
    if producer.version == 1:
        producer.add("t")
    producer.produce("t", producer.batch("t", b"in time"))
    late = producer.batch("t", b"late")
    assert producer.end(commit=commit) == ErrorCode.none
    assert producer.produce("t", late).error_code in REFUSALS
    assert check_nothing_hangs(client) == ([b"first", b"in time"] if commit else [b"first"])


@pytest.mark.parametrize("commit", [True, False])
def test_held_back_until_after_the_end(
    broker: EmbeddedBroker, client: Raw, producer: RawTransactions, commit: bool
) -> None:
    """The batch reaches the broker inside its transaction and is handled after it."""
    if producer.version == 1:
        producer.add("t")
    producer.produce("t", producer.batch("t", b"in time"))
    with Raw(broker.port) as other:
        broker.faults.hold("PRODUCE")
        sent = producer.send_produce("t", producer.batch("t", b"late"), other)
        wait_until(lambda: broker.faults.held, "the request has not arrived")
        assert producer.end(commit=commit) == ErrorCode.none
        broker.faults.release()
        answer = other.receive_response(ApiKey.PRODUCE, producer.produce_version, sent)
        assert answer.responses[0].partition_responses[0].error_code in REFUSALS
    assert check_nothing_hangs(client) == ([b"in time"] if commit else [])


@pytest.mark.parametrize("commit", [True, False])
def test_does_not_land_in_the_next_transaction(
    broker: EmbeddedBroker, client: Raw, producer: RawTransactions, commit: bool
) -> None:
    """The next transaction is open on the same partition when the late batch is handled.

    In version 1 a producer whose request got no answer takes a new epoch before it goes on (KIP-360), as the clients
    do; in version 2 the end of the transaction has given it one.
    """
    if producer.version == 1:
        producer.add("t")
    producer.produce("t", producer.batch("t", b"in time"))
    with Raw(broker.port) as other:
        broker.faults.hold("PRODUCE")
        sent = producer.send_produce("t", producer.batch("t", b"late"), other)
        wait_until(lambda: broker.faults.held, "the request has not arrived")
        assert producer.end(commit=False) == ErrorCode.none
        if producer.version == 1:
            producer.initialise(keep_identity=True)
            producer.add("t")
        assert producer.produce("t", producer.batch("t", b"next")).error_code == ErrorCode.none
        broker.faults.release()
        answer = other.receive_response(ApiKey.PRODUCE, producer.produce_version, sent)
        assert answer.responses[0].partition_responses[0].error_code in REFUSALS
    assert producer.end(commit=commit) == ErrorCode.none
    assert check_nothing_hangs(client) == ([b"next"] if commit else [])


def test_a_repeated_batch_of_an_ended_transaction_is_not_written_again(client: Raw, producer: RawTransactions) -> None:
    """A network duplicate: the batch was written in time, and arrives once more while the next transaction is open."""
    if producer.version == 1:
        producer.add("t")
    batch = producer.batch("t", b"once")
    assert producer.produce("t", bytearray(batch)).error_code == ErrorCode.none
    assert producer.end(commit=True) == ErrorCode.none
    producer.produce("t", bytearray(batch))
    if producer.version == 1:
        producer.add("t")
    producer.produce("t", bytearray(batch))
    assert producer.produce("t", producer.batch("t", b"next")).error_code == ErrorCode.none
    assert producer.end(commit=True) == ErrorCode.none
    assert check_nothing_hangs(client) == [b"once", b"next"]


def test_after_a_fencing_abort(broker: EmbeddedBroker, client: Raw, producer: RawTransactions) -> None:
    """A new instance takes over while a Produce of the old one is on its way."""
    if producer.version == 1:
        producer.add("t")
    producer.produce("t", producer.batch("t", b"old"))
    late = producer.batch("t", b"late")
    with Raw(broker.port) as other:
        heir = RawTransactions(other, "producer", producer.version)
        assert producer.produce("t", late).error_code in REFUSALS
        heir.run("t", b"new", commit=True)
        assert producer.produce("t", late).error_code in REFUSALS
        assert producer.end(commit=True) in REFUSALS
    assert check_nothing_hangs(client) == [b"new"]


def test_after_the_transaction_timed_out(client: Raw, broker: EmbeddedBroker, producer: RawTransactions) -> None:
    if producer.version == 1:
        producer.add("t")
    producer.produce("t", producer.batch("t", b"slow"))
    late = producer.batch("t", b"late")
    coordinator = broker.broker.transactions
    coordinator._now_ms = lambda: int(time.time() * 1000) + 120_000  # two minutes later
    broker.run(coordinator.abort_timed_out())
    assert producer.produce("t", late).error_code in REFUSALS
    assert check_nothing_hangs(client) == []


@pytest.mark.parametrize("clean", [True, False], ids=["clean stop", "kill"])
def test_after_a_restart(broker: EmbeddedBroker, producer: RawTransactions, clean: bool) -> None:
    producer.run("t", b"before", commit=True)
    if producer.version == 1:
        producer.add("t")
    producer.produce("t", producer.batch("t", b"in time"))
    late = producer.batch("t", b"late")
    assert producer.end(commit=True) == ErrorCode.none
    broker.stop() if clean else broker.kill()
    broker.start()
    with Raw(broker.port) as client:
        wait_until(lambda: broker.broker.transactions.loaded, "the transactions are not loaded")
        assert producer.produce("t", late, client).error_code in REFUSALS
        assert check_nothing_hangs(client) == [b"before", b"in time"]


def wait_until(question: Callable[[], object], otherwise: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not question():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.01)
