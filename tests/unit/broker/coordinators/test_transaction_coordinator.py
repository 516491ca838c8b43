"""The coordinator with a broker made of lists: what it writes, in which order, and what it takes up after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.unit.broker.coordinators.transaction_fakes import Clock, FakeBroker

from caudal.broker.coordinators import transaction_coordinator, transaction_records
from caudal.broker.coordinators.java_hash import partition_for
from caudal.broker.coordinators.transaction_coordinator import TransactionCoordinator
from caudal.broker.coordinators.transaction_records import TransactionState
from caudal.broker.coordinators.transaction_state import EPOCH_BUMPING_CLIENT, LEGACY_CLIENT, ProducerIdentity
from caudal.broker.errors import ErrorCode, KafkaError

T0, T1, OFFSETS = ("t", 0), ("t", 1), "__consumer_offsets"


@pytest.fixture
def broker() -> FakeBroker:
    return FakeBroker()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def coordinator(broker: FakeBroker, clock: Clock) -> Any:
    coordinator = TransactionCoordinator(cast(Any, broker), clock)
    await coordinator.load()
    yield coordinator
    await coordinator.close()


async def restarted(broker: FakeBroker, clock: Clock) -> TransactionCoordinator:
    """A coordinator that knows only what the first one wrote."""
    broker.events.clear()
    coordinator = TransactionCoordinator(cast(Any, broker), clock)
    await coordinator.load()
    return coordinator


async def refused(work: Any) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        await work
    return caught.value.code


def state_of(coordinator: TransactionCoordinator, transactional_id: str = "app") -> TransactionState:
    return coordinator.describe(transactional_id)[0].state


# ------------------------------------------------------------------------------------------------ life cycle


async def test_life_cycle_of_version_2(coordinator: TransactionCoordinator, broker: FakeBroker) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    assert me == (1000, 0)
    assert await coordinator.verify_or_add("app", *me, [T0], add=True) == {T0: ErrorCode.none}
    assert coordinator.is_ongoing("app", *me, "t", 0)
    assert not coordinator.is_ongoing("app", *me, "t", 1)
    await coordinator.verify_or_add("app", *me, [T1], add=True)
    after = await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT)
    assert after == (1000, 1)
    # Prepare before the markers, Complete after them; the markers carry the new epoch.
    assert broker.events == [
        ("state", "Empty"),
        ("state", "Ongoing"),
        ("state", "Ongoing"),
        ("state", "PrepareCommit"),
        ("marker", "t", 0, 1000, 1, True, 3),
        ("marker", "t", 1, 1000, 1, True, 3),
        ("state", "CompleteCommit"),
    ]
    assert not coordinator.is_ongoing("app", *me, "t", 0)
    # The next transaction goes on with the new epoch; the old one is worth nothing any more.
    assert await coordinator.verify_or_add("app", *me, [T0], add=True) == {T0: ErrorCode.producer_fenced}
    assert await coordinator.verify_or_add("app", *after, [T0], add=True) == {T0: ErrorCode.none}
    assert await coordinator.end_txn("app", after, False, EPOCH_BUMPING_CLIENT) == (1000, 2)
    assert broker.events[-2:] == [("marker", "t", 0, 1000, 2, False, 3), ("state", "CompleteAbort")]


async def test_life_cycle_of_a_legacy_client(coordinator: TransactionCoordinator, broker: FakeBroker) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.add_partitions("app", me, [T0])
    assert await coordinator.verify_or_add("app", *me, [T0, T1], add=False) == {
        T0: ErrorCode.none,
        T1: ErrorCode.transaction_abortable,
    }
    assert await coordinator.end_txn("app", me, True, LEGACY_CLIENT) == me
    assert ("marker", "t", 0, 1000, 0, True, 3) in broker.events
    # A late Produce has the epoch of the next transaction, but the partition is in none.
    assert not coordinator.is_ongoing("app", *me, "t", 0)
    late = await coordinator.verify_or_add("app", *me, [T0], add=False)
    assert late == {T0: ErrorCode.transaction_abortable}
    await coordinator.add_partitions("app", me, [T1])
    assert not coordinator.is_ongoing("app", *me, "t", 0)


async def test_both_kinds_of_clients_side_by_side(coordinator: TransactionCoordinator, broker: FakeBroker) -> None:
    old, new = await coordinator.init_producer_id("old", 1000), await coordinator.init_producer_id("new", 1000)
    await coordinator.add_partitions("old", old, [T0])
    await coordinator.verify_or_add("new", *new, [T0], add=True)
    assert await coordinator.end_txn("old", old, True, LEGACY_CLIENT) == old
    assert (await coordinator.end_txn("new", new, True, EPOCH_BUMPING_CLIENT)).producer_epoch == 1
    assert (broker.last_value("old").client_version, broker.last_value("new").client_version) == (0, 2)


async def test_offsets_take_part_and_the_group_is_told(coordinator: TransactionCoordinator, broker: FakeBroker) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.add_offsets("app", me, "readers")
    index = partition_for("readers", 2)
    assert coordinator.is_ongoing("app", *me, OFFSETS, index)
    await coordinator.end_txn("app", me, True, LEGACY_CLIENT)
    assert broker.completed == [(index, 1000, True)]


async def test_end_txn_repeated_is_answered_alike_and_does_nothing(
    coordinator: TransactionCoordinator, broker: FakeBroker
) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.verify_or_add("app", *me, [T0], add=True)
    first = await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT)
    written = len(broker.events)
    assert await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT) == first
    assert len(broker.events) == written
    # ... but not with the other outcome, and not once the next transaction is open
    assert await refused(coordinator.end_txn("app", me, False, EPOCH_BUMPING_CLIENT)) is ErrorCode.invalid_txn_state
    await coordinator.verify_or_add("app", *first, [T0], add=True)
    assert await refused(coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT)) is ErrorCode.producer_fenced


async def test_a_deleted_topic_needs_no_marker(coordinator: TransactionCoordinator, broker: FakeBroker) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    broker.create("gone", 1)
    await coordinator.verify_or_add("app", *me, [T0, ("gone", 0)], add=True)
    del broker.partitions["gone", 0], broker.metadata.topics["gone"]
    await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT)
    assert state_of(coordinator) is TransactionState.COMPLETE_COMMIT
    assert [event[1] for event in broker.events if event[0] == "marker"] == ["t"]


# ------------------------------------------------------------------------------------------------ fencing


async def test_a_second_producer_fences_the_first_and_aborts_its_transaction(
    coordinator: TransactionCoordinator, broker: FakeBroker
) -> None:
    first = await coordinator.init_producer_id("app", 60_000)
    await coordinator.verify_or_add("app", *first, [T0], add=True)
    second = await coordinator.init_producer_id("app", 60_000)
    # One epoch for the abort, which no client ever holds, and one for the new producer.
    assert second == (1000, 2)
    assert ("marker", "t", 0, 1000, 1, False, 3) in broker.events
    assert await refused(coordinator.end_txn("app", first, True, EPOCH_BUMPING_CLIENT)) is ErrorCode.producer_fenced
    assert await refused(coordinator.add_partitions("app", first, [T0])) is ErrorCode.producer_fenced
    assert await coordinator.verify_or_add("app", *first, [T0], add=False) == {T0: ErrorCode.producer_fenced}


async def test_init_answers_concurrent_transactions_while_the_abort_is_not_complete(
    coordinator: TransactionCoordinator, broker: FakeBroker
) -> None:
    first = await coordinator.init_producer_id("app", 60_000)
    await coordinator.verify_or_add("app", *first, [T0], add=True)
    broker.partitions[T0].lagging = True
    assert await refused(coordinator.init_producer_id("app", 60_000)) is ErrorCode.concurrent_transactions
    assert state_of(coordinator) is TransactionState.PREPARE_ABORT
    broker.partitions[T0].catch_up()
    await until(lambda: state_of(coordinator) is TransactionState.COMPLETE_ABORT)
    assert await coordinator.init_producer_id("app", 60_000) == (1000, 2)


async def test_a_recovering_producer_names_its_epoch_and_goes_on(coordinator: TransactionCoordinator) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.verify_or_add("app", *me, [T0], add=True)
    again = await coordinator.init_producer_id("app", 60_000, me)
    assert again.producer_id == me.producer_id and again.producer_epoch > me.producer_epoch
    await coordinator.verify_or_add("app", *again, [T0], add=True)
    assert await refused(coordinator.init_producer_id("app", 60_000, me)) is ErrorCode.producer_fenced
    assert state_of(coordinator) is TransactionState.ONGOING


# ------------------------------------------------------------------------------------------------ epochs run out


async def test_exhausted_epoch_ends_under_a_new_producer_id(
    coordinator: TransactionCoordinator, broker: FakeBroker
) -> None:
    await coordinator.init_producer_id("app", 60_000)
    me = at_epoch(coordinator, 32766)
    await coordinator.verify_or_add("app", *me, [T0], add=True)
    after = await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT)
    assert after == (1001, 0)
    assert ("marker", "t", 0, 1000, 32767, True, 3) in broker.events
    assert await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT) == after
    assert await coordinator.verify_or_add("app", *after, [T0], add=True) == {T0: ErrorCode.none}


async def test_exhausted_epoch_of_a_transaction_that_a_new_producer_fences(
    coordinator: TransactionCoordinator, broker: FakeBroker
) -> None:
    await coordinator.init_producer_id("app", 60_000)
    me = at_epoch(coordinator, 32766)
    await coordinator.verify_or_add("app", *me, [T0], add=True)
    assert await coordinator.init_producer_id("app", 60_000) == (1001, 1)
    assert ("marker", "t", 0, 1000, 32767, False, 3) in broker.events


async def test_exhausted_epoch_at_init(coordinator: TransactionCoordinator) -> None:
    await coordinator.init_producer_id("app", 60_000)
    at_epoch(coordinator, 32766)
    assert await coordinator.init_producer_id("app", 60_000) == (1001, 0)


def at_epoch(coordinator: TransactionCoordinator, epoch: int) -> ProducerIdentity:
    txn = coordinator._transactions["app"]
    txn.value = replace(txn.value, producer_epoch=epoch)
    return ProducerIdentity(txn.value.producer_id, epoch)


# ------------------------------------------------------------------------------------------------ time


@pytest.mark.parametrize("client_version", [LEGACY_CLIENT, EPOCH_BUMPING_CLIENT])
async def test_time_out_aborts_with_a_new_epoch(
    coordinator: TransactionCoordinator, broker: FakeBroker, clock: Clock, client_version: int
) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.add_partitions("app", me, [T0], client_version)
    clock.now += 60_000
    await coordinator.abort_timed_out()
    assert state_of(coordinator) is TransactionState.ONGOING
    clock.now += 1
    await coordinator.abort_timed_out()
    assert state_of(coordinator) is TransactionState.COMPLETE_ABORT
    assert broker.events[-2] == ("marker", "t", 0, 1000, 1, False, 3)
    commit = coordinator.end_txn("app", me, True, client_version)
    expected = ErrorCode.invalid_txn_state if client_version == EPOCH_BUMPING_CLIENT else ErrorCode.producer_fenced
    assert await refused(commit) is expected


async def test_a_version_2_client_that_aborts_after_the_time_out_goes_on(
    coordinator: TransactionCoordinator, clock: Clock
) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.verify_or_add("app", *me, [T0], add=True)
    clock.now += 60_001
    await coordinator.abort_timed_out()
    assert await coordinator.end_txn("app", me, False, EPOCH_BUMPING_CLIENT) == (1000, 1)


async def test_unused_ids_expire_with_a_tombstone(
    coordinator: TransactionCoordinator, broker: FakeBroker, clock: Clock
) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    other = await coordinator.init_producer_id("other", 60_000)
    await coordinator.verify_or_add("other", *other, [T0], add=True)
    clock.now += 604_800_000
    await coordinator.remove_expired()
    assert [id_ for id_, _ in coordinator.list()] == ["other"]  # an open transaction never expires
    assert broker.state_partition().records[-1] == (transaction_records.encode_key("app"), None)
    assert await refused(coordinator.add_partitions("app", me, [T0])) is ErrorCode.invalid_producer_id_mapping
    after = await restarted(broker, clock)
    assert [id_ for id_, _ in after.list()] == ["other"]
    # The producer that comes back, naming what it held, gets a new id.
    assert await after.init_producer_id("app", 60_000, me) != me
    await after.close()


# ------------------------------------------------------------------------------------------------ restart


async def test_restart_with_every_settled_state(
    coordinator: TransactionCoordinator, broker: FakeBroker, clock: Clock
) -> None:
    for name, commit in (("empty", None), ("open", None), ("committed", True), ("aborted", False)):
        me = await coordinator.init_producer_id(name, 60_000)
        if name != "empty":
            await coordinator.verify_or_add(name, *me, [T0], add=True)
        if commit is not None:
            await coordinator.end_txn(name, me, commit, EPOCH_BUMPING_CLIENT)
    before = dict(coordinator.list())
    after = await restarted(broker, clock)
    assert broker.events == []
    found = dict(after.list())
    assert {name: value.state for name, value in found.items()} == {
        "empty": TransactionState.EMPTY,
        "open": TransactionState.ONGOING,
        "committed": TransactionState.COMPLETE_COMMIT,
        "aborted": TransactionState.COMPLETE_ABORT,
    }
    for name, value in found.items():
        identity = (value.producer_id, value.producer_epoch, value.partitions)
        assert identity == (before[name].producer_id, before[name].producer_epoch, before[name].partitions)
    # The open one can be committed, the committed one's EndTxn repeated.
    opened, committed = found["open"], found["committed"]
    assert after.is_ongoing("open", opened.producer_id, opened.producer_epoch, "t", 0)
    await after.end_txn("open", ProducerIdentity(opened.producer_id, 0), True, EPOCH_BUMPING_CLIENT)
    assert await after.end_txn("committed", ProducerIdentity(committed.producer_id, 0), True, 2) == (
        committed.producer_id,
        1,
    )
    await after.close()


@pytest.mark.parametrize(("commit", "version"), [(True, 2), (False, 2), (True, 0), (False, 0)])
async def test_restart_completes_what_was_decided(
    coordinator: TransactionCoordinator, broker: FakeBroker, clock: Clock, commit: bool, version: int
) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.add_partitions("app", me, [T0, T1], version)
    # The broker dies after Prepare: the second partition gets no marker, Complete is never written.
    broker.partitions[T1].failures = [ErrorCode.kafka_storage_error] * 1000
    promised = await coordinator.end_txn("app", me, commit, version)
    await coordinator.close()
    assert broker.last_value().state is (TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT)
    broker.partitions[T1].failures = []

    after = await restarted(broker, clock)
    epoch = 1 if version == 2 else 0
    assert broker.events == [
        ("marker", "t", 0, 1000, epoch, commit, 3),
        ("marker", "t", 1, 1000, epoch, commit, 3),
        ("state", "CompleteCommit" if commit else "CompleteAbort"),
    ]
    value = after.describe("app")[0]
    assert (value.producer_id, value.producer_epoch) == (promised if version == 2 else me)
    await after.close()


async def test_restart_keeps_the_rotation_of_an_exhausted_producer_id(
    coordinator: TransactionCoordinator, broker: FakeBroker, clock: Clock
) -> None:
    await coordinator.init_producer_id("app", 60_000)
    me = at_epoch(coordinator, 32766)
    await coordinator.verify_or_add("app", *me, [T0], add=True)
    broker.partitions[T0].failures = [ErrorCode.kafka_storage_error] * 1000
    promised = await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT)
    await coordinator.close()
    broker.partitions[T0].failures = []
    after = await restarted(broker, clock)
    value = after.describe("app")[0]
    assert (value.producer_id, value.producer_epoch) == promised == (1001, 0)
    await after.close()


async def test_a_record_of_an_unknown_version_does_not_stop_the_load(
    coordinator: TransactionCoordinator, broker: FakeBroker, clock: Clock
) -> None:
    await coordinator.init_producer_id("app", 60_000)
    partition = broker.state_partition()
    partition.records[:0] = [(b"\0\7", b""), (transaction_records.encode_key("x"), b"\0\7"), (b"\0\0\0\7x", b"")]
    partition.high_watermark = partition.log_end_offset
    after = await restarted(broker, clock)
    assert [id_ for id_, _ in after.list()] == ["app"]
    await after.close()


# ------------------------------------------------------------------------------------------------ waiting and failing


async def test_no_marker_before_prepare_is_replicated(coordinator: TransactionCoordinator, broker: FakeBroker) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.verify_or_add("app", *me, [T0], add=True)
    broker.state_partition().lagging = True
    ending = asyncio.ensure_future(coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT))
    await asyncio.sleep(0.01)
    assert broker.events[-1] == ("state", "PrepareCommit")
    # Meanwhile the id is busy, and nothing more may be written in the transaction.
    assert not coordinator.is_ongoing("app", *me, "t", 0)
    assert await refused(coordinator.end_txn("app", me, True, 2)) is ErrorCode.concurrent_transactions
    assert await refused(coordinator.init_producer_id("app", 60_000)) is ErrorCode.concurrent_transactions
    assert await coordinator.verify_or_add("app", *me, [T0], add=False) == {T0: ErrorCode.concurrent_transactions}
    broker.state_partition().catch_up()
    assert await ending == (1000, 1)
    assert state_of(coordinator) is TransactionState.COMPLETE_COMMIT


async def test_a_client_that_disconnects_does_not_leave_its_transition_half_done(
    coordinator: TransactionCoordinator, broker: FakeBroker
) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.verify_or_add("app", *me, [T0], add=True)
    broker.state_partition().lagging = True
    ending = asyncio.ensure_future(coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT))
    await asyncio.sleep(0.01)
    ending.cancel()
    await asyncio.gather(ending, return_exceptions=True)
    broker.state_partition().catch_up()
    await until(lambda: state_of(coordinator) is TransactionState.COMPLETE_COMMIT)
    assert ("marker", "t", 0, 1000, 1, True, 3) in broker.events


async def test_markers_that_fail_are_tried_until_they_succeed(
    coordinator: TransactionCoordinator, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_coordinator, "_RETRY_FIRST_S", 0.001)
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.verify_or_add("app", *me, [T0, T1], add=True)
    broker.partitions[T1].failures = [ErrorCode.kafka_storage_error] * 3
    after = await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT)  # decided, so answered
    assert coordinator.describe("app")[1] == {T1}
    assert await refused(coordinator.end_txn("app", me, True, 2)) is ErrorCode.concurrent_transactions
    # The next transaction waits a moment for this one instead of failing.
    assert await coordinator.verify_or_add("app", *after, [T0], add=True) == {T0: ErrorCode.none}
    assert [event[2] for event in broker.events if event[0] == "marker"] == [0, 1]
    assert [event[1] for event in broker.events if event[0] == "state"][-2:] == ["CompleteCommit", "Ongoing"]


async def test_complete_that_fails_to_be_written_is_tried_again(
    coordinator: TransactionCoordinator, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_coordinator, "_RETRY_FIRST_S", 0.001)
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.verify_or_add("app", *me, [T0], add=True)
    state = broker.state_partition()
    appended = state.append_records

    def fail_after_prepare(items: Any) -> Any:
        result = appended(items)
        state.failures = [ErrorCode.kafka_storage_error] * 2
        state.append_records = appended  # type: ignore[method-assign]
        return result

    state.append_records = fail_after_prepare  # type: ignore[method-assign]
    await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT)
    await until(lambda: state_of(coordinator) is TransactionState.COMPLETE_COMMIT)
    assert len([event for event in broker.events if event[0] == "marker"]) == 1


async def test_a_failed_append_changes_nothing_and_can_be_repeated(
    coordinator: TransactionCoordinator, broker: FakeBroker
) -> None:
    me = await coordinator.init_producer_id("app", 60_000)
    state = broker.state_partition()
    state.failures = [ErrorCode.kafka_storage_error]
    assert await coordinator.verify_or_add("app", *me, [T0], add=True) == {T0: ErrorCode.not_coordinator}
    assert state_of(coordinator) is TransactionState.EMPTY
    assert await coordinator.verify_or_add("app", *me, [T0], add=True) == {T0: ErrorCode.none}
    state.failures = [ErrorCode.not_enough_replicas]
    assert await refused(coordinator.end_txn("app", me, True, 2)) is ErrorCode.coordinator_not_available
    assert coordinator.is_ongoing("app", *me, "t", 0)
    assert await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT) == (1000, 1)


async def test_many_partitions_do_not_hold_the_loop(coordinator: TransactionCoordinator, broker: FakeBroker) -> None:
    broker.create("wide", 1000)
    me = await coordinator.init_producer_id("app", 60_000)
    await coordinator.verify_or_add("app", *me, [("wide", index) for index in range(1000)], add=True)
    await coordinator.end_txn("app", me, True, EPOCH_BUMPING_CLIENT)
    assert 0 < len([event for event in broker.events if event[0] == "marker"]) < 1000
    await until(lambda: state_of(coordinator) is TransactionState.COMPLETE_COMMIT)
    assert sorted(event[2] for event in broker.events if event[0] == "marker") == list(range(1000))


# ------------------------------------------------------------------------------------------------ bad input


async def test_init_refuses(coordinator: TransactionCoordinator, broker: FakeBroker) -> None:
    init = coordinator.init_producer_id
    assert await init(None, 0) == (1000, 0)
    assert await refused(init("", 1000)) is ErrorCode.invalid_request
    assert await refused(init("app", 0)) is ErrorCode.invalid_transaction_timeout
    assert await refused(init("app", 900_001)) is ErrorCode.invalid_transaction_timeout
    two_phase = init("app", 1000, two_phase_commit=True)
    assert await refused(two_phase) is ErrorCode.transactional_id_authorization_failed
    assert await refused(init("app", 1000, keep_prepared=True)) is ErrorCode.unsupported_version
    broker.config["transaction.two.phase.commit.enable"] = True
    await init("app", 0, two_phase_commit=True)
    assert coordinator.describe("app")[0].timeout_ms == 2**31 - 1


async def test_unknown_and_empty_ids(coordinator: TransactionCoordinator) -> None:
    me = ProducerIdentity(1, 0)
    assert await refused(coordinator.end_txn("nobody", me, True, 2)) is ErrorCode.invalid_producer_id_mapping
    assert await refused(coordinator.add_offsets("nobody", me, "g")) is ErrorCode.invalid_producer_id_mapping
    assert await refused(coordinator.add_partitions("", me, [T0])) is ErrorCode.invalid_request
    unknown = await coordinator.verify_or_add("nobody", 1, 0, [T0], add=True)
    assert unknown == {T0: ErrorCode.invalid_producer_id_mapping}
    assert await coordinator.verify_or_add(None, 1, 0, [T0], add=False) == {T0: ErrorCode.invalid_request}
    with pytest.raises(KafkaError):
        coordinator.describe("nobody")


async def test_before_it_is_loaded_it_asks_for_patience(broker: FakeBroker) -> None:
    coordinator = TransactionCoordinator(cast(Any, broker))
    assert await refused(coordinator.init_producer_id("app", 1000)) is ErrorCode.coordinator_load_in_progress
    got = await coordinator.verify_or_add("app", 1, 0, [T0], add=True)
    assert got == {T0: ErrorCode.coordinator_load_in_progress}


async def test_counts_by_state(coordinator: TransactionCoordinator) -> None:
    me = await coordinator.init_producer_id("app", 1000)
    await coordinator.init_producer_id("other", 1000)
    await coordinator.verify_or_add("app", *me, [T0], add=True)
    counts = coordinator.count_by_state()
    assert (counts["Empty"], counts["Ongoing"], counts["PrepareCommit"]) == (1, 1, 0)


async def test_two_first_producers_at_once_get_different_epochs(coordinator: TransactionCoordinator) -> None:
    got = await asyncio.gather(*(coordinator.init_producer_id("app", 1000) for _ in range(5)))
    assert len(set(got)) == 5 and len({producer_id for producer_id, _ in got}) == 1


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  (what is waited for has no event)
            await asyncio.sleep(0.001)
