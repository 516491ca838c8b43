"""SIGTERM and Ctrl-C: what was acknowledged is there, those who wait get an answer, the next start skips recovery."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from caudal.broker.errors import ErrorCode
from caudal.broker.log.checkpoints import CLEAN_SHUTDOWN
from caudal.broker.log.store import LogStore
from caudal.broker.wire.api_keys import ApiKey
from caudal.testing import embedded_broker
from tests.robustness.raw import Closed, Raw, batch_of, serves

from .process import STOP_SECONDS, BrokerProcess, running_broker
from .test_kill import begin
from .verify import check_files, check_plain, check_table, check_transactions, read_topic
from .workload import PlainProducer, TableProducer, TransactionalProducer

NOT_ORDERLY = "not orderly"
LONG_MS = 10 * 60_000  # much longer than a client of these tests waits


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
@pytest.mark.timeout(300)
def test_stop_under_load(tmp_path: Path, number: signal.Signals) -> None:
    with running_broker(tmp_path / "data") as broker:
        workers = begin(broker.bootstrap, seed=1)
        for _ in range(2):
            time.sleep(1.0)
            assert broker.stop(number) == 0
            assert (broker.data / CLEAN_SHUTDOWN).exists()
            assert check_files(broker.data, compacted={"table"}) > 0
            broker.start()
            assert not (broker.data / CLEAN_SHUTDOWN).exists(), "a crash from now on would go unnoticed"
        assert NOT_ORDERLY not in broker.said(), "an orderly stop was followed by a recovery"
        assert "Traceback" not in broker.said(), broker.said()[-3000:]
        for worker in workers:
            worker.stopping.set()
        for worker in workers:
            worker.thread.join(60)
            assert worker.failure is None, worker.failure
        plain, orders = read_topic(broker.bootstrap, "plain"), read_topic(broker.bootstrap, "orders")
        transactions = read_topic(broker.bootstrap, "txn", committed=True)
        for worker in workers:
            if isinstance(worker, TableProducer):
                check_table(worker, read_topic(broker.bootstrap, "table"))
            elif isinstance(worker, PlainProducer):
                assert worker.progress > 0
                check_plain(worker, orders if worker.idempotent else plain)
            elif isinstance(worker, TransactionalProducer):
                assert worker.progress > 0
                check_transactions(worker, transactions)


def test_a_kill_is_noticed_by_the_next_start(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data") as broker:
        with Raw(broker.port) as client:
            client.create_topic("t")
            client.produce("t", batch_of(b"a"))
        broker.kill()
        broker.start()
        assert NOT_ORDERLY in broker.said()


def stop_while_it_waits(broker: BrokerProcess) -> None:
    """Stops the broker in the background, once it has what was sent before: that came before this question."""
    assert serves(broker.port)
    threading.Thread(target=broker.stop, daemon=True).start()


def test_long_polls_are_answered(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data") as broker, Raw(broker.port) as client:
        client.create_topic("t")
        client.produce("t", batch_of(b"a"))
        sent = client.send_fetch("t", 1, max_wait_ms=LONG_MS)
        stop_while_it_waits(broker)
        answer = client.receive_response(ApiKey.FETCH, 11, sent)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.none
        assert client.is_closed()


def test_members_that_wait_for_a_rebalance_are_not_left_alone(tmp_path: Path) -> None:
    """A JoinGroup that waits for company gets an answer or a closed connection, not silence."""
    patient = {"group.initial.rebalance.delay.ms": str(LONG_MS)}
    with running_broker(tmp_path / "data", patient) as broker, Raw(broker.port) as client:
        client.request(ApiKey.FIND_COORDINATOR, 1, {"key": "group", "key_type": 0})
        values = {
            "group_id": "group",
            "session_timeout": LONG_MS,
            "rebalance_timeout": LONG_MS,
            "member_id": "",
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }
        sent = client.send_request(ApiKey.JOIN_GROUP, 3, values)
        stop_while_it_waits(broker)
        try:
            client.receive_response(ApiKey.JOIN_GROUP, 3, sent)
        except Closed:
            pass


def test_pipelined_requests_at_the_moment_of_the_stop(tmp_path: Path) -> None:
    """Every acknowledgement that was sent counts; requests that were not handled get none."""
    with running_broker(tmp_path / "data") as broker:
        with Raw(broker.port) as client:
            client.create_topic("t")
            sent = [client.send_produce("t", batch_of(b"%d" % number)) for number in range(2000)]
            thread = threading.Thread(target=broker.stop, daemon=True)
            thread.start()
            acknowledged = 0
            try:
                for correlation_id in sent:
                    answer = client.receive_response(ApiKey.PRODUCE, 9, correlation_id)
                    partition = answer.responses[0].partition_responses[0]
                    if partition.error_code == ErrorCode.none:
                        assert partition.base_offset == acknowledged
                        acknowledged += 1
            except Closed:
                pass
            thread.join(STOP_SECONDS)
        broker.start()
        with Raw(broker.port) as client:
            assert client.fetch("t").high_watermark >= acknowledged


def test_a_second_signal_does_not_hurt(tmp_path: Path) -> None:
    with running_broker(tmp_path / "data") as broker:
        with Raw(broker.port) as client:
            client.create_topic("t")
            client.produce("t", batch_of(b"a"))
        assert broker.process is not None
        broker.process.send_signal(signal.SIGINT)
        broker.process.send_signal(signal.SIGINT)
        assert broker.process.wait(STOP_SECONDS) == 0
        assert (broker.data / CLEAN_SHUTDOWN).exists()


def test_a_stop_does_not_wait_for_a_topic_that_is_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An internal topic has fifty partitions, and on a slow disk they take longer than a stop may."""
    made = threading.Semaphore(0)
    count = 0
    create = LogStore.create

    def slow(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        log = create(*arguments)
        made.release()
        time.sleep(0.05)
        return log

    with embedded_broker(data=tmp_path / "data") as broker:
        monkeypatch.setattr(LogStore, "create", slow)
        with Raw(broker.port, 60) as client:
            topic = {"name": "t", "num_partitions": 500, "replication_factor": 1, "assignments": [], "configs": []}
            client.send_request(ApiKey.CREATE_TOPICS, 5, {"topics": [topic], "timeout": 10_000, "validate_only": False})
            for _ in range(3):
                assert made.acquire(timeout=60)
            broker.stop()
        assert count < 500
        assert (broker.data / CLEAN_SHUTDOWN).exists()
        monkeypatch.undo()
        broker.start()
        assert "t" not in broker.broker.metadata.topics
        with Raw(broker.port) as client:
            assert client.create_topic("t") == ErrorCode.none
            assert client.produce("t", batch_of(b"a")).base_offset == 0
    assert "belongs to no topic" not in caplog.text
