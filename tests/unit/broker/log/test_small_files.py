"""The text files beside the logs: Kafka's formats, and what happens when one is damaged."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

import pytest

from caudal.broker.log import aborted, checkpoints
from caudal.broker.log.aborted import AbortedTransaction
from caudal.broker.log.leader_epochs import FILE_NAME, LeaderEpochs


def test_offset_checkpoints_have_kafkas_lines(tmp_path: Path) -> None:
    path = tmp_path / checkpoints.RECOVERY_POINT
    checkpoints.write_offsets(path, {("orders", 0): 17, ("a.b_c-d", 3): 0})
    assert path.read_text() == "0\n2\norders 0 17\na.b_c-d 3 0\n"
    assert checkpoints.read_offsets(path) == {("orders", 0): 17, ("a.b_c-d", 3): 0}


@pytest.mark.parametrize("text", ["", "0\n", "1\n0\n", "0\n2\na 0 1\n", "0\n1\na 0 x\n", "0\n1\na 0\n", "\x00\x00\x00"])
def test_a_damaged_checkpoint_counts_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    assert checkpoints.read_offsets(path) == {}


def test_a_missing_checkpoint_counts_as_none(tmp_path: Path) -> None:
    assert checkpoints.read_offsets(tmp_path / "none") == {}


def test_the_clean_shutdown_marker_is_taken_once(tmp_path: Path) -> None:
    assert not checkpoints.take_clean_shutdown(tmp_path)
    checkpoints.write_clean_shutdown(tmp_path)
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":-1}'
    assert checkpoints.take_clean_shutdown(tmp_path)
    assert not checkpoints.take_clean_shutdown(tmp_path)


def test_partition_metadata_has_kafkas_lines(tmp_path: Path) -> None:
    topic_id = UUID("01234567-89ab-cdef-0123-456789abcdef")
    checkpoints.write_partition_metadata(tmp_path, topic_id)
    assert (tmp_path / "partition.metadata").read_text() == "version: 0\ntopic_id: ASNFZ4mrze8BI0VniavN7w"
    assert checkpoints.read_partition_metadata(tmp_path) == topic_id


def test_partition_metadata_that_is_missing_or_damaged_is_none(tmp_path: Path) -> None:
    assert checkpoints.read_partition_metadata(tmp_path) is None
    (tmp_path / "partition.metadata").write_text("version: 0\ntopic_id: !!\n")
    assert checkpoints.read_partition_metadata(tmp_path) is None


def test_every_topic_id_survives_its_text() -> None:
    for _ in range(50):
        topic_id = uuid4()
        assert checkpoints.decode_uuid(checkpoints.encode_uuid(topic_id)) == topic_id


def test_the_transaction_index_has_34_bytes_an_entry(tmp_path: Path) -> None:
    path = str(tmp_path / "x.txnindex")
    first, second = AbortedTransaction(7, 10, 15, 12), AbortedTransaction(8, 12, 20, 21)
    aborted.write(path, [first, second])
    assert (tmp_path / "x.txnindex").stat().st_size == 68
    assert (tmp_path / "x.txnindex").read_bytes()[:10] == b"\x00\x00" + (7).to_bytes(8, "big")
    assert aborted.read(path) == [first, second]
    aborted.write(path, [])
    assert aborted.read(path) == [] and not (tmp_path / "x.txnindex").exists()


def test_a_damaged_transaction_index_is_noticed() -> None:
    for data in (b"\x00" * 33, b"\x00\x01" + b"\x00" * 32):
        with pytest.raises(aborted.CorruptTransactionIndex):
            aborted.decode(data)


class TestLeaderEpochs:
    def test_the_file_has_kafkas_lines(self, tmp_path: Path) -> None:
        epochs = LeaderEpochs(str(tmp_path))
        epochs.assign(0, 0)
        epochs.assign(0, 5)
        epochs.assign(3, 40)
        assert not (tmp_path / FILE_NAME).exists()  # not in the way of the append
        epochs.persist()
        assert (tmp_path / FILE_NAME).read_text() == "0\n2\n0 0\n3 40\n"
        again = LeaderEpochs(str(tmp_path))
        again.load()
        assert again.entries == [(0, 0), (3, 40)] and again.latest == 3

    def test_where_an_epoch_ends(self, tmp_path: Path) -> None:
        epochs = LeaderEpochs(str(tmp_path))
        for epoch, start in ((2, 10), (5, 30)):
            epochs.assign(epoch, start)
        assert epochs.end_offset(5, 99) == (5, 99)
        assert epochs.end_offset(2, 99) == (2, 30)
        assert epochs.end_offset(4, 99) == (2, 30)
        assert epochs.end_offset(1, 99) == (1, 10)
        assert epochs.end_offset(6, 99) == (-1, -1)
        assert epochs.end_offset(-1, 99) == (-1, -1)
        assert [epochs.epoch_at(offset) for offset in (9, 10, 29, 30)] == [-1, 2, 2, 5]

    def test_truncation(self, tmp_path: Path) -> None:
        epochs = LeaderEpochs(str(tmp_path))
        for epoch, start in ((0, 0), (1, 10), (2, 20)):
            epochs.assign(epoch, start)
        epochs.truncate_from_end(20)
        assert epochs.entries == [(0, 0), (1, 10)]
        epochs.truncate_from_start(15)
        assert epochs.entries == [(1, 15)]
        epochs.clear()
        assert epochs.entries == []

    def test_an_entry_that_contradicts_goes(self, tmp_path: Path) -> None:
        epochs = LeaderEpochs(str(tmp_path))
        epochs.assign(1, 10)
        epochs.assign(4, 20)
        epochs.assign(3, 15)
        assert epochs.entries == [(1, 10), (3, 15)]

    def test_a_damaged_file_counts_as_none(self, tmp_path: Path) -> None:
        (tmp_path / FILE_NAME).write_text("0\n3\n1 1\n")
        epochs = LeaderEpochs(str(tmp_path))
        epochs.load()
        assert epochs.entries == []
