"""The rules of one transactional id, without a broker: which request leads where, and which is refused with what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from caudal.broker.coordinators import transaction_state as rules
from caudal.broker.coordinators.transaction_records import TransactionState as S
from caudal.broker.coordinators.transaction_records import TransactionValue
from caudal.broker.coordinators.transaction_state import (
    EPOCH_BUMPING_CLIENT,
    LEGACY_CLIENT,
    IllegalTransition,
    ProducerIdentity,
    Transaction,
)
from caudal.broker.errors import ErrorCode, KafkaError

EPOCH = 5
PARTITIONS = frozenset({("t", 0)})


def transaction(state: S, epoch: int = EPOCH, **changes: object) -> Transaction:
    partitions = PARTITIONS if state in (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT) else frozenset()
    value = TransactionValue(7, epoch, 60_000, state, partitions, 100, 100, 7)
    return Transaction("app", replace(value, **changes))  # type: ignore[arg-type]


def outcome_of_end(txn: Transaction, epoch: int, commit: bool, version: int, producer_id: int = 7) -> object:
    try:
        return rules.end_target(txn, ProducerIdentity(producer_id, epoch), commit, version)
    except KafkaError as error:
        return error.code


FENCED, BAD_STATE, BUSY = ErrorCode.producer_fenced, ErrorCode.invalid_txn_state, ErrorCode.concurrent_transactions

# state, abort one epoch behind, abort now, commit one epoch behind, commit now (None: already done)
VERSION_2 = [
    (S.EMPTY, FENCED, S.PREPARE_ABORT, FENCED, BAD_STATE),
    (S.ONGOING, FENCED, S.PREPARE_ABORT, FENCED, S.PREPARE_COMMIT),
    (S.PREPARE_COMMIT, BAD_STATE, FENCED, BUSY, FENCED),
    (S.PREPARE_ABORT, BUSY, FENCED, BAD_STATE, FENCED),
    (S.COMPLETE_COMMIT, BAD_STATE, S.PREPARE_ABORT, None, BAD_STATE),
    (S.COMPLETE_ABORT, None, S.PREPARE_ABORT, BAD_STATE, BAD_STATE),
]
LEGACY = [
    (S.EMPTY, FENCED, BAD_STATE, FENCED, BAD_STATE),
    (S.ONGOING, FENCED, S.PREPARE_ABORT, FENCED, S.PREPARE_COMMIT),
    (S.PREPARE_COMMIT, FENCED, BAD_STATE, FENCED, BUSY),
    (S.PREPARE_ABORT, FENCED, BUSY, FENCED, BAD_STATE),
    (S.COMPLETE_COMMIT, FENCED, BAD_STATE, FENCED, None),
    (S.COMPLETE_ABORT, FENCED, None, FENCED, BAD_STATE),
]


@pytest.mark.parametrize(("version", "row"), [(2, row) for row in VERSION_2] + [(0, row) for row in LEGACY])
def test_end_txn_by_state_epoch_and_version(version: int, row: tuple[S, object, object, object, object]) -> None:
    state, *expected = row
    got = [
        outcome_of_end(transaction(state), epoch, commit, version)
        for commit in (False, True)
        for epoch in (EPOCH - 1, EPOCH)
    ]
    assert got == expected


@pytest.mark.parametrize("version", [LEGACY_CLIENT, EPOCH_BUMPING_CLIENT])
def test_end_txn_with_a_foreign_id_or_a_later_epoch_is_refused(version: int) -> None:
    txn = transaction(S.ONGOING)
    assert outcome_of_end(txn, EPOCH, True, version, producer_id=8) is ErrorCode.invalid_producer_id_mapping
    assert outcome_of_end(txn, EPOCH + 1, True, version) is FENCED


@pytest.mark.parametrize("version", [LEGACY_CLIENT, EPOCH_BUMPING_CLIENT])
def test_end_txn_while_another_transition_is_under_way(version: int) -> None:
    txn = transaction(S.ONGOING)
    txn.begin(S.PREPARE_COMMIT)
    assert outcome_of_end(txn, EPOCH, True, version) is BUSY


def test_end_txn_repeated_after_the_producer_id_was_rotated() -> None:
    value = transaction(S.ONGOING, epoch=32766).value
    done = rules.completed(rules.prepared(value, S.PREPARE_COMMIT, EPOCH_BUMPING_CLIENT, 8, 1), 2)
    txn = Transaction("app", done)
    assert (done.producer_id, done.producer_epoch) == (8, 0)
    assert outcome_of_end(txn, 32766, True, 2, producer_id=7) is None
    assert outcome_of_end(txn, 32766, False, 2, producer_id=7) is BAD_STATE
    assert outcome_of_end(txn, 32765, True, 2, producer_id=7) is ErrorCode.invalid_producer_id_mapping


def test_version_2_takes_the_next_epoch_when_it_is_decided_and_keeps_the_partitions_till_it_is_complete() -> None:
    value = rules.prepared(transaction(S.ONGOING).value, S.PREPARE_COMMIT, EPOCH_BUMPING_CLIENT, -1, 200)
    assert (value.producer_epoch, value.last_producer_epoch) == (EPOCH + 1, EPOCH)
    assert (value.partitions, value.start_ms, value.last_update_ms) == (PARTITIONS, 100, 200)
    done = rules.completed(value, 300)
    assert (done.state, done.producer_epoch, done.partitions) == (S.COMPLETE_COMMIT, EPOCH + 1, frozenset())


def test_a_legacy_client_keeps_its_epoch() -> None:
    value = rules.prepared(transaction(S.ONGOING).value, S.PREPARE_ABORT, LEGACY_CLIENT, -1, 200)
    assert (value.producer_epoch, value.client_version) == (EPOCH, 0)
    assert rules.completed(value, 300).state is S.COMPLETE_ABORT


def test_aborting_nothing_sets_a_start_time() -> None:
    value = rules.prepared(transaction(S.EMPTY, start_ms=-1).value, S.PREPARE_ABORT, EPOCH_BUMPING_CLIENT, -1, 200)
    assert value.start_ms == 200


def test_the_highest_epoch_is_never_passed() -> None:
    value = rules.prepared(transaction(S.ONGOING, epoch=32767).value, S.PREPARE_ABORT, EPOCH_BUMPING_CLIENT, 9, 1)
    assert value.producer_epoch == 32767


# ------------------------------------------------------------------------------------------------ InitProducerId


def init(
    txn: Transaction, expected: tuple[int, int] | None = None, spare: int | None = None
) -> TransactionValue | None:
    identity = None if expected is None else ProducerIdentity(*expected)
    return rules.initialised(txn, 30_000, identity, spare, 500)


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_init_takes_the_next_epoch(state: S) -> None:
    value = init(transaction(state))
    assert value is not None
    assert (value.state, value.producer_id, value.producer_epoch) == (S.EMPTY, 7, EPOCH + 1)
    assert (value.timeout_ms, value.start_ms, value.last_update_ms) == (30_000, -1, 500)


def test_init_of_an_open_transaction_asks_to_abort_it_first() -> None:
    assert init(transaction(S.ONGOING)) is None
    assert init(transaction(S.ONGOING), expected=(7, EPOCH)) is None


def test_a_zombie_that_asks_for_a_new_epoch_does_not_abort_its_successors_transaction() -> None:
    with pytest.raises(KafkaError) as caught:
        init(transaction(S.ONGOING), expected=(7, EPOCH - 1))
    assert caught.value.code is FENCED


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_init_waits_for_the_end_of_a_decided_transaction(state: S) -> None:
    with pytest.raises(KafkaError) as caught:
        init(transaction(state))
    assert caught.value.code is BUSY


def test_a_producer_that_names_its_epoch_gets_the_next_and_may_repeat_the_request() -> None:
    txn = transaction(S.EMPTY)
    value = init(txn, expected=(7, EPOCH))
    assert value is not None and value.producer_epoch == EPOCH + 1
    txn.value = value
    again = init(txn, expected=(7, EPOCH))
    assert again is not None and again.producer_epoch == EPOCH + 1
    # A new producer in between makes the repetition a zombie's.
    fenced_by = init(txn)
    assert fenced_by is not None
    txn.value = fenced_by
    with pytest.raises(KafkaError) as caught:
        init(txn, expected=(7, EPOCH))
    assert caught.value.code is FENCED


def test_a_producer_with_a_foreign_id_is_fenced_unless_the_id_is_new_here() -> None:
    with pytest.raises(KafkaError) as caught:
        init(transaction(S.EMPTY), expected=(99, 0))
    assert caught.value.code is FENCED
    created = Transaction("app", rules.created(7, 1, 0))
    value = init(created, expected=(99, 3))
    assert value is not None and (value.producer_id, value.producer_epoch) == (7, 0)


def test_exhausted_epochs_lead_to_a_new_producer_id() -> None:
    txn = transaction(S.EMPTY, epoch=32766)
    value = init(txn, spare=8)
    assert value is not None and (value.producer_id, value.producer_epoch) == (8, 0)
    assert value.previous_producer_id == 7
    named = init(txn, expected=(7, 32766), spare=8)
    assert named is not None and named.last_producer_epoch == 32766
    # The repetition of that request, under the old id, gets the new one again.
    txn.value = named
    again = init(txn, expected=(7, 32766))
    assert again is not None and (again.producer_id, again.producer_epoch) == (8, 0)


def test_exhausted_epochs_without_a_spare_id_are_tried_again_by_the_client() -> None:
    with pytest.raises(KafkaError) as caught:
        init(transaction(S.EMPTY, epoch=32766))
    assert caught.value.code is BUSY


# ------------------------------------------------------------------------------------------------ partitions


def test_the_first_partition_opens_the_transaction_and_later_ones_keep_its_start() -> None:
    txn = transaction(S.COMPLETE_COMMIT)
    me = ProducerIdentity(7, EPOCH)
    value = rules.with_partitions(txn, me, [("t", 0)], EPOCH_BUMPING_CLIENT, 200)
    assert value is not None and (value.state, value.start_ms, value.client_version) == (S.ONGOING, 200, 2)
    txn.value = value
    assert rules.with_partitions(txn, me, [("t", 0)], EPOCH_BUMPING_CLIENT, 300) is None
    more = rules.with_partitions(txn, me, [("t", 1)], EPOCH_BUMPING_CLIENT, 300)
    assert more is not None and (more.start_ms, len(more.partitions)) == (200, 2)


@pytest.mark.parametrize(
    ("state", "identity", "code"),
    [
        (S.ONGOING, (8, EPOCH), ErrorCode.invalid_producer_id_mapping),
        (S.ONGOING, (7, EPOCH - 1), FENCED),
        (S.ONGOING, (7, EPOCH + 1), FENCED),
        (S.PREPARE_COMMIT, (7, EPOCH), BUSY),
        (S.PREPARE_ABORT, (7, EPOCH), BUSY),
    ],
)
def test_partitions_are_refused(state: S, identity: tuple[int, int], code: ErrorCode) -> None:
    txn = transaction(state)
    for ask in (
        lambda: rules.with_partitions(txn, ProducerIdentity(*identity), [("t", 1)], 2, 1),
        lambda: rules.verified(txn, ProducerIdentity(*identity), [("t", 0)]),
    ):
        with pytest.raises(KafkaError) as caught:
            ask()
        assert caught.value.code is code


def test_verification_tells_which_partitions_were_never_added() -> None:
    got = rules.verified(transaction(S.ONGOING), ProducerIdentity(7, EPOCH), [("t", 0), ("t", 1)])
    assert got == {("t", 0): ErrorCode.none, ("t", 1): ErrorCode.transaction_abortable}
    # After the end nothing is in the transaction: this is what stops the late Produce of a legacy client.
    after = rules.verified(transaction(S.COMPLETE_COMMIT), ProducerIdentity(7, EPOCH), [("t", 0)])
    assert after == {("t", 0): ErrorCode.transaction_abortable}


def test_only_the_open_transaction_holds_a_partition() -> None:
    assert transaction(S.ONGOING).holds(7, EPOCH, ("t", 0))
    assert not transaction(S.ONGOING).holds(7, EPOCH - 1, ("t", 0))
    assert not transaction(S.ONGOING).holds(7, EPOCH, ("t", 1))
    assert not transaction(S.PREPARE_COMMIT).holds(7, EPOCH, ("t", 0))
    ending = transaction(S.ONGOING)
    ending.begin(S.PREPARE_COMMIT)
    assert not ending.holds(7, EPOCH, ("t", 0))


# ------------------------------------------------------------------------------------------------ time and order


def test_time_out_and_expiry() -> None:
    txn = transaction(S.ONGOING)
    assert not txn.has_timed_out(100 + 60_000)
    assert txn.has_timed_out(100 + 60_001)
    assert not transaction(S.ONGOING, timeout_ms=2**31 - 1).has_timed_out(2**40)
    assert not txn.has_expired(2**40, 1000)
    assert transaction(S.COMPLETE_COMMIT).has_expired(1100, 1000)
    assert not transaction(S.COMPLETE_COMMIT).has_expired(1099, 1000)


def test_transitions_that_the_rules_exclude_are_our_fault_and_loud() -> None:
    txn = transaction(S.PREPARE_COMMIT)
    with pytest.raises(IllegalTransition):
        txn.begin(S.COMPLETE_ABORT)
    txn.begin(S.COMPLETE_COMMIT)
    with pytest.raises(IllegalTransition):
        txn.begin(S.COMPLETE_COMMIT)
