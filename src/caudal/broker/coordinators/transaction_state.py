"""The state machine of one transactional id, with Kafka's rules under `transaction.version=2`.

Pure: every function looks at a `Transaction` and either raises the protocol error that the request deserves or gives
the value to write next. Nothing here writes, waits or knows the time by itself.

Invariants:
- `Transaction.value` is what the log says; it changes only in `complete`, after the new value is durable.
- While `pending` is set one transition is under way, and every other request for the id gets CONCURRENT_TRANSACTIONS.
- From a Prepare state on the outcome is decided: nothing but the matching Complete state can follow.

Two kinds of clients live side by side. Those of version 2 (EndTxn 5 and later) get a new epoch with every transaction,
so a late or repeated request is known by its epoch. Older ones keep their epoch, and only the partitions that they
added tell what belongs to the transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

from caudal.broker.coordinators.transaction_records import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TopicPartition,
    TransactionState,
    TransactionValue,
)
from caudal.broker.errors import ErrorCode, KafkaError

MAX_EPOCH = 32767
# The highest epoch is the coordinator's own, to fence with; clients never hold it.
LAST_CLIENT_EPOCH = MAX_EPOCH - 1
NO_TIMEOUT_MS = 2**31 - 1  # a two-phase transaction: it waits for its outside coordinator for ever

LEGACY_CLIENT = 0
EPOCH_BUMPING_CLIENT = 2

State = TransactionState

_BEFORE: dict[State, frozenset[State]] = {
    State.EMPTY: frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}),
    State.ONGOING: frozenset({State.ONGOING, State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}),
    State.PREPARE_COMMIT: frozenset({State.ONGOING}),
    State.PREPARE_ABORT: frozenset({State.ONGOING, State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}),
    State.COMPLETE_COMMIT: frozenset({State.PREPARE_COMMIT}),
    State.COMPLETE_ABORT: frozenset({State.PREPARE_ABORT}),
    State.DEAD: frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT}),
    State.PREPARE_EPOCH_FENCE: frozenset({State.ONGOING}),
}
_PREPARED = (State.PREPARE_COMMIT, State.PREPARE_ABORT)
_MAY_EXPIRE = _BEFORE[State.DEAD]


class IllegalTransition(RuntimeError):
    """A transition that the rules exclude: a fault of ours, never of a client."""


class ProducerIdentity(NamedTuple):
    producer_id: int
    producer_epoch: int


class Transaction:
    """The state of one transactional id and the transition under way."""

    __slots__ = ("id", "pending", "value")

    def __init__(self, transactional_id: str, value: TransactionValue) -> None:
        self.id = transactional_id
        self.value = value
        self.pending: State | None = None

    def begin(self, state: State) -> None:
        """Reserve the next transition; the caller must `complete` or `cancel` it whatever happens."""
        if self.pending is not None or self.value.state not in _BEFORE[state]:
            raise IllegalTransition(f"{self.id}: {self.value.state.title} to {state.title}, pending {self.pending}")
        self.pending = state

    def complete(self, value: TransactionValue) -> None:
        if self.pending is not value.state:
            raise IllegalTransition(f"{self.id}: completes {value.state.title}, pending {self.pending}")
        self.value = value
        self.pending = None

    def cancel(self) -> None:
        self.pending = None

    @property
    def epoch_exhausted(self) -> bool:
        return self.value.producer_epoch >= LAST_CLIENT_EPOCH

    def holds(self, producer_id: int, producer_epoch: int, partition: TopicPartition) -> bool:
        """Whether the producer may write to the partition in the transaction that is open right now."""
        value = self.value
        return (
            value.state is State.ONGOING
            and value.producer_id == producer_id
            and value.producer_epoch == producer_epoch
            and partition in value.partitions
            and self.pending in (None, State.ONGOING)
        )

    def has_timed_out(self, now_ms: int) -> bool:
        value = self.value
        return (
            value.state is State.ONGOING
            and self.pending is None
            and value.timeout_ms != NO_TIMEOUT_MS
            and value.start_ms + value.timeout_ms < now_ms
        )

    def has_expired(self, now_ms: int, expiration_ms: int) -> bool:
        value = self.value
        return value.state in _MAY_EXPIRE and self.pending is None and value.last_update_ms + expiration_ms <= now_ms


def created(producer_id: int, timeout_ms: int, now_ms: int) -> TransactionValue:
    """A transactional id seen for the first time; epoch -1 until its first InitProducerId is written."""
    return TransactionValue(producer_id, NO_PRODUCER_EPOCH, timeout_ms, last_update_ms=now_ms)


# ------------------------------------------------------------------------------------------------- InitProducerId


def initialised(
    txn: Transaction, timeout_ms: int, expected: ProducerIdentity | None, spare_producer_id: int | None, now_ms: int
) -> TransactionValue | None:
    """The value after InitProducerId, or None when an open transaction has to be aborted first.

    `expected` is what a producer says it holds when it wants a new epoch after an error; None for a new producer,
    which fences whoever came before. `spare_producer_id` is used when the epochs of the current id have run out.
    """
    value = txn.value
    if txn.pending is not None:
        raise KafkaError(ErrorCode.concurrent_transactions)
    if expected is not None and not _may_continue(value, expected):
        raise KafkaError(ErrorCode.producer_fenced)
    if value.state in _PREPARED:
        raise KafkaError(ErrorCode.concurrent_transactions)
    if value.state is State.ONGOING:
        # Stricter than Kafka, which lets a zombie abort its successor's transaction before it is fenced itself.
        if expected is not None and expected.producer_epoch != value.producer_epoch:
            raise KafkaError(ErrorCode.producer_fenced)
        return None
    fresh = replace(
        value,
        state=State.EMPTY,
        partitions=frozenset(),
        timeout_ms=timeout_ms,
        start_ms=NO_TIMESTAMP,
        last_update_ms=now_ms,
        previous_producer_id=value.producer_id,
    )
    if txn.epoch_exhausted and (expected is None or expected.producer_epoch == value.producer_epoch):
        if spare_producer_id is None:  # the epochs ran out while the caller waited for something else
            raise KafkaError(ErrorCode.concurrent_transactions)
        last_epoch = NO_PRODUCER_EPOCH if expected is None else value.producer_epoch
        return replace(fresh, producer_id=spare_producer_id, producer_epoch=0, last_producer_epoch=last_epoch)
    if expected is None:
        return replace(fresh, producer_epoch=value.producer_epoch + 1, last_producer_epoch=NO_PRODUCER_EPOCH)
    if value.producer_epoch in (NO_PRODUCER_EPOCH, expected.producer_epoch):
        return replace(fresh, producer_epoch=value.producer_epoch + 1, last_producer_epoch=value.producer_epoch)
    if expected.producer_epoch == value.last_producer_epoch:
        return fresh  # a repeated request whose first answer was lost: the same epoch again
    raise KafkaError(ErrorCode.producer_fenced)


def _may_continue(value: TransactionValue, expected: ProducerIdentity) -> bool:
    return (
        value.producer_epoch == NO_PRODUCER_EPOCH  # just created: the id was unknown here, for example expired
        or expected.producer_id == value.producer_id
        or (expected.producer_id == value.previous_producer_id and expected.producer_epoch >= LAST_CLIENT_EPOCH)
    )


# --------------------------------------------------------------------------------------------- partitions of it


def with_partitions(
    txn: Transaction,
    identity: ProducerIdentity,
    partitions: Collection[TopicPartition],
    client_version: int,
    now_ms: int,
) -> TransactionValue | None:
    """The value with the partitions added (opening a transaction if none is), or None when they are all in it."""
    value = txn.value
    if txn.pending is not None:
        raise KafkaError(ErrorCode.concurrent_transactions)
    _check_identity(value, identity)
    if value.state in _PREPARED:
        raise KafkaError(ErrorCode.concurrent_transactions)
    if value.state is State.ONGOING and value.partitions.issuperset(partitions):
        return None
    return replace(
        value,
        state=State.ONGOING,
        partitions=value.partitions.union(partitions),
        start_ms=value.start_ms if value.state is State.ONGOING else now_ms,
        last_update_ms=now_ms,
        previous_producer_id=value.producer_id,
        client_version=client_version,
    )


def verified(
    txn: Transaction, identity: ProducerIdentity, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """Which of the partitions are in the open transaction, for a Produce of a client that must have added them."""
    value = txn.value
    _check_identity(value, identity)
    if value.state in _PREPARED or txn.pending in _PREPARED or txn.pending is State.PREPARE_EPOCH_FENCE:
        raise KafkaError(ErrorCode.concurrent_transactions)
    return {
        partition: ErrorCode.none if partition in value.partitions else ErrorCode.transaction_abortable
        for partition in partitions
    }


def _check_identity(value: TransactionValue, identity: ProducerIdentity) -> None:
    if value.producer_id != identity.producer_id:
        raise KafkaError(ErrorCode.invalid_producer_id_mapping)
    if value.producer_epoch != identity.producer_epoch:
        raise KafkaError(ErrorCode.producer_fenced)


# -------------------------------------------------------------------------------------------------------- EndTxn


def end_target(txn: Transaction, identity: ProducerIdentity, commit: bool, client_version: int) -> State | None:
    """The Prepare state that an EndTxn of a client leads to, or None when it repeats one that is complete already."""
    if client_version >= EPOCH_BUMPING_CLIENT:
        return _end_target_by_epoch(txn, identity, commit)
    return _end_target_legacy(txn, identity, commit)


def _end_target_legacy(txn: Transaction, identity: ProducerIdentity, commit: bool) -> State | None:
    value = txn.value
    _check_identity(value, identity)
    if txn.pending is not None:
        raise KafkaError(ErrorCode.concurrent_transactions)
    if value.state is State.ONGOING:
        return State.PREPARE_COMMIT if commit else State.PREPARE_ABORT
    if value.state is (State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT):
        return None
    if value.state is (State.PREPARE_COMMIT if commit else State.PREPARE_ABORT):
        raise KafkaError(ErrorCode.concurrent_transactions)
    raise KafkaError(ErrorCode.invalid_txn_state)


def _end_target_by_epoch(txn: Transaction, identity: ProducerIdentity, commit: bool) -> State | None:
    """The epoch, not the state, tells a repeated EndTxn (one behind) from the next one (current)."""
    value = txn.value
    state = value.state
    if txn.pending is not None:
        raise KafkaError(ErrorCode.concurrent_transactions)
    current = identity.producer_epoch == value.producer_epoch
    one_behind = identity.producer_epoch + 1 == value.producer_epoch
    before_rotation = (
        identity.producer_id == value.previous_producer_id
        and identity.producer_epoch == LAST_CLIENT_EPOCH
        and value.producer_epoch == 0
    )
    if identity.producer_id != value.producer_id and not before_rotation:
        raise KafkaError(ErrorCode.invalid_producer_id_mapping)
    if state in _PREPARED:
        if not one_behind:
            raise KafkaError(ErrorCode.producer_fenced)
        if state is (State.PREPARE_COMMIT if commit else State.PREPARE_ABORT):
            raise KafkaError(ErrorCode.concurrent_transactions)
        raise KafkaError(ErrorCode.invalid_txn_state)
    if state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT) and (one_behind or before_rotation):
        if state is (State.COMPLETE_COMMIT if commit else State.COMPLETE_ABORT):
            return None
        raise KafkaError(ErrorCode.invalid_txn_state)
    if not current or identity.producer_id != value.producer_id:
        raise KafkaError(ErrorCode.producer_fenced)
    if state is State.ONGOING:
        return State.PREPARE_COMMIT if commit else State.PREPARE_ABORT
    if commit:
        raise KafkaError(ErrorCode.invalid_txn_state)
    # A client cannot know whether its first Produce opened the transaction here: aborting nothing is allowed.
    return State.PREPARE_ABORT


def prepared(
    value: TransactionValue, state: State, client_version: int, next_producer_id: int, now_ms: int
) -> TransactionValue:
    """The value that decides the outcome. For version 2 it takes the next epoch, which the markers will carry."""
    if client_version >= EPOCH_BUMPING_CLIENT:
        epoch, last_epoch = min(value.producer_epoch + 1, MAX_EPOCH), value.producer_epoch
    else:
        epoch, last_epoch = value.producer_epoch, value.last_producer_epoch
    return replace(
        value,
        state=state,
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        start_ms=value.start_ms if value.state is State.ONGOING else now_ms,
        last_update_ms=now_ms,
        previous_producer_id=value.producer_id,
        next_producer_id=next_producer_id,
        client_version=client_version,
    )


def completed(value: TransactionValue, now_ms: int) -> TransactionValue:
    """The value once all markers are written. If the epochs ran out, the producer goes on under its next id."""
    rotates = value.client_version >= EPOCH_BUMPING_CLIENT and value.next_producer_id != NO_PRODUCER_ID
    return replace(
        value,
        state=State.COMPLETE_COMMIT if value.state is State.PREPARE_COMMIT else State.COMPLETE_ABORT,
        producer_id=value.next_producer_id if rotates else value.producer_id,
        producer_epoch=0 if rotates else value.producer_epoch,
        partitions=frozenset(),
        last_update_ms=now_ms,
        previous_producer_id=value.producer_id,
        next_producer_id=NO_PRODUCER_ID,
    )
