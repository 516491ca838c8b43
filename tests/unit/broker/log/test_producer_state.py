"""Kafka's rules for idempotent and transactional producers, and the snapshot file."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.log.producer_state import CorruptSnapshot, ProducerStates, snapshot_path
from caudal.broker.wire.batch import BatchHeader, Record, build_batch, read_header


def header(
    sequence: int, count: int = 1, *, offset: int = 0, epoch: int = 0, producer_id: int = 9, transactional: bool = False
) -> BatchHeader:
    items = [Record(offset + i, 1000, None, b"v") for i in range(count)]
    return read_header(
        build_batch(
            items,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
    )


def written(*items: BatchHeader) -> ProducerStates:
    states = ProducerStates()
    for item in items:
        states.update(item)
    return states


def refused(states: ProducerStates, item: BatchHeader, code: ErrorCode, **options: bool) -> None:
    with pytest.raises(KafkaError) as caught:
        states.check(item, from_client=True, **options)
    assert caught.value.code is code


def test_the_next_sequence_is_accepted_and_a_gap_is_not() -> None:
    states = written(header(0, 3))
    assert states.check(header(3), from_client=True) is None
    refused(states, header(4), ErrorCode.out_of_order_sequence_number)
    refused(states, header(1), ErrorCode.out_of_order_sequence_number)


def test_a_retry_of_the_last_five_batches_gets_the_first_answer() -> None:
    states = written(*(header(i, offset=100 + i) for i in range(7)))
    for number in range(2, 7):
        duplicate = states.check(header(number), from_client=True)
        assert duplicate is not None and duplicate.base_offset == duplicate.last_offset == 100 + number
    refused(states, header(1), ErrorCode.out_of_order_sequence_number)


def test_a_batch_of_other_length_is_no_retry() -> None:
    refused(written(header(0, 3)), header(0, 2), ErrorCode.out_of_order_sequence_number)


def test_a_new_epoch_begins_at_zero_and_fences_the_old() -> None:
    states = written(header(0, 5))
    refused(states, header(5, epoch=1), ErrorCode.out_of_order_sequence_number)
    assert states.check(header(0, epoch=1), from_client=True) is None
    states.update(header(0, epoch=1))
    refused(states, header(5, epoch=0), ErrorCode.invalid_producer_epoch)
    refused(states, header(0, 5, epoch=0), ErrorCode.invalid_producer_epoch)


def test_an_unknown_producer_may_begin_anywhere_unless_it_bumps_its_own_epoch() -> None:
    states = ProducerStates()
    assert states.check(header(17), from_client=True) is None
    refused(states, header(17), ErrorCode.out_of_order_sequence_number, require_zero=True)
    assert states.check(header(0), from_client=True, require_zero=True) is None


def test_sequences_wrap_around() -> None:
    top = 2**31 - 1
    states = written(header(top - 1, 2))
    assert states.check(header(0), from_client=True) is None
    states = written(header(top - 1, 4))  # …, top, 0, 1
    assert states.describe()[0].last_sequence == 1
    assert states.check(header(2), from_client=True) is None
    duplicate = states.check(header(top - 1, 4), from_client=True)
    assert duplicate is not None


def test_coordinators_write_without_sequence() -> None:
    states = written(header(-1, epoch=3))
    assert states.check(header(-1, epoch=3), from_client=False) is None
    with pytest.raises(KafkaError):
        states.check(header(-1, epoch=2), from_client=False)


def test_the_first_unstable_offset_is_that_of_the_oldest_open_transaction() -> None:
    states = written(
        header(0, producer_id=1, offset=10, transactional=True),
        header(0, producer_id=2, offset=11, transactional=True),
        header(1, producer_id=1, offset=12, transactional=True),
    )
    assert states.first_unstable_offset() == 10
    assert states.ongoing(1) == 10 and states.ongoing(2) == 11 and states.ongoing(3) is None
    completed = states.complete(1, 0, 13, False, 0, 2000)
    assert completed is not None and completed.aborted
    assert completed.transaction == (1, 10, 13, 11)  # stable only up to the other one
    assert states.first_unstable_offset() == 11
    completed = states.complete(2, 0, 14, True, 0, 2000)
    assert completed is not None and not completed.aborted
    assert completed.transaction.last_stable_offset == 15
    assert states.first_unstable_offset() is None


def test_a_marker_without_data_completes_nothing_but_keeps_the_epoch() -> None:
    states = ProducerStates()
    assert states.complete(5, 7, 0, True, 2, 3000) is None
    assert states.describe() == [(5, 7, -1, 3000, 2, -1)]
    refused(states, header(0, producer_id=5, epoch=6), ErrorCode.invalid_producer_epoch)
    # The marker left no sequence behind: the epoch goes on at 0.
    assert states.check(header(0, producer_id=5, epoch=7), from_client=True) is None
    refused(states, header(3, producer_id=5, epoch=7), ErrorCode.out_of_order_sequence_number)


def test_a_plain_write_in_a_transaction_is_refused() -> None:
    states = written(header(0, transactional=True))
    refused(states, header(1), ErrorCode.invalid_txn_state)


def test_markers_of_old_epochs_and_fenced_coordinators_are_refused() -> None:
    states = written(header(0, epoch=4, transactional=True))
    states.check_marker(9, 4, 0)
    for version in (0, 2):
        with pytest.raises(KafkaError) as caught:
            states.check_marker(9, 3, 0, transaction_version=version)
        assert caught.value.code is ErrorCode.invalid_producer_epoch
    with pytest.raises(KafkaError):
        states.check_marker(9, 4, 0, transaction_version=2)  # late: the epoch was not bumped
    states.check_marker(9, 5, 0, transaction_version=2)
    states.complete(9, 5, 1, True, 3, 1000)
    states.check_marker(9, 5, 3, transaction_version=2)  # the same marker again
    with pytest.raises(KafkaError) as caught:
        states.check_marker(9, 6, 2, transaction_version=2)
    assert caught.value.code is ErrorCode.transaction_coordinator_fenced


def test_silent_producers_expire_unless_a_transaction_is_open() -> None:
    states = written(header(0, producer_id=1), header(0, producer_id=2, transactional=True))
    assert states.expire(1000 + 500, 1000) == 0
    assert states.expire(1000 + 1000, 1000) == 1
    assert [row.producer_id for row in states.describe()] == [2]


class TestSnapshot:
    def test_it_has_kafkas_bytes(self) -> None:
        states = written(header(4, 3, offset=20, epoch=2, transactional=True))
        data = states.encode()
        version, _, count = struct.unpack_from(">hIi", data)
        assert (version, count) == (1, 1)
        assert struct.unpack_from(">qhiqiqiq", data, 10) == (9, 2, 6, 22, 2, 1000, -1, 20)
        assert len(data) == 10 + 46

    def test_it_restores_sequence_epoch_and_open_transactions(self) -> None:
        states = written(header(0, 2, producer_id=1), header(0, offset=2, producer_id=2, transactional=True))
        again = ProducerStates()
        again.decode(states.encode())
        assert again.describe() == states.describe()
        assert again.first_unstable_offset() == 2
        duplicate = again.check(header(0, 2, producer_id=1), from_client=True)
        assert duplicate is not None and (duplicate.base_offset, duplicate.last_offset) == (0, 1)

    def test_damage_is_noticed(self, tmp_path: Path) -> None:
        data = written(header(0)).encode()
        for damaged in (b"", data[:-1], data[:20] + b"\xff" + data[21:], b"\x00\x02" + data[2:]):
            with pytest.raises(CorruptSnapshot):
                ProducerStates().decode(damaged)

    def test_a_damaged_file_is_removed(self, tmp_path: Path) -> None:
        path = Path(snapshot_path(str(tmp_path), 12))
        path.write_bytes(b"\x00\x01garbage")
        assert not ProducerStates().load_snapshot(str(tmp_path), 12)
        assert not path.exists()
