"""Metadata and logs together, on a real broker: what a crash between the two may not do."""

from __future__ import annotations

from pathlib import Path

from caudal.broker.broker import Broker
from caudal.broker.config import BrokerConfig
from caudal.broker.controller.journal import encode_line


async def started(folder: Path) -> Broker:
    broker = Broker(BrokerConfig({"log.dirs": str(folder), "listeners": "PLAINTEXT://127.0.0.1:0"}))
    await broker.start()
    return broker


async def test_a_new_topic_never_shows_the_records_of_a_deleted_one_of_its_name(tmp_path: Path) -> None:
    """The crash: the deletion is in the journal, the folder is still there; then the name is used again."""
    broker = await started(tmp_path)
    await broker.metadata.create_topic("orders", 1, 1, {})
    partition = broker.partition("orders", 0)
    assert partition is not None
    partition.append_records([(b"key", b"value")])
    await broker.stop()
    with (tmp_path / "metadata.jsonl").open("ab") as journal:
        journal.write(encode_line([{"type": "topic_deleted", "name": "orders"}]))

    broker = await started(tmp_path)
    assert broker.partition("orders", 0) is None
    await broker.metadata.create_topic("orders", 1, 1, {})
    partition = broker.partition("orders", 0)
    assert partition is not None
    assert partition.log_end_offset == 0
    partition.append_records([(b"key", b"new"), (b"key", b"newer")])
    await broker.stop()

    broker = await started(tmp_path)
    partition = broker.partition("orders", 0)
    assert partition is not None
    assert partition.log_end_offset == 2
    await broker.stop()


async def test_configs_reach_the_logs_and_survive_a_restart(tmp_path: Path) -> None:
    broker = await started(tmp_path)
    await broker.metadata.create_topic("orders", 1, 1, {"retention.ms": "5"})
    await broker.metadata.set_broker_configs(None, {"message.max.bytes": "2000"})
    for _ in range(2):
        partition = broker.partition("orders", 0)
        assert partition is not None
        assert (partition.log.config.retention_ms, partition.log.config.max_message_bytes) == (5, 2000)
        await broker.stop()
        broker = await started(tmp_path)
    await broker.metadata.set_topic_configs("orders", {"max.message.bytes": "3000"})
    partition = broker.partition("orders", 0)
    assert partition is not None
    assert partition.log.config.max_message_bytes == 3000
    assert partition.log.config.retention_ms == 7 * 24 * 3_600_000
    await broker.stop()
