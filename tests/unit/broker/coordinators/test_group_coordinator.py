"""The coordinator with its log, through the real handlers and wire formats: commits, restarts, expiry, disconnects."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.broker.coordinators.group_fakes import FakeBroker, call, subscription

from caudal.broker.apis import group_offsets, groups
from caudal.broker.coordinators.group import State
from caudal.broker.coordinators.group_coordinator import OFFSETS_TOPIC
from caudal.broker.coordinators.group_requests import JoinRequest, Leaver
from caudal.broker.coordinators.offset_commits import Commit, Committer
from caudal.broker.coordinators.offset_records import decode
from caudal.broker.errors import ErrorCode, KafkaError

NONE = ErrorCode.none


def join_request(member_id: str = "", **changes: Any) -> JoinRequest:
    values: dict[str, Any] = {
        "member_id": member_id,
        "instance_id": None,
        "client_id": "c",
        "client_host": "/h",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": (("range", subscription("orders")),),
        **changes,
    }
    return JoinRequest(**values)


async def member_of(broker: FakeBroker, group: str, **changes: Any) -> str:
    """Joins and syncs as the only member; its id."""
    joined = await broker.groups.join(group, join_request(requires_known_member_id=False, **changes))
    assert joined["error_code"] is NONE
    member_id: str = joined["member_id"]
    synced = await broker.groups.sync(group, member_id, None, joined["generation_id"], None, None, [(member_id, b"A")])
    assert synced["assignment"] == b"A"
    return member_id


async def commit(
    broker: FakeBroker, group: str, offset: int, topic: str = "orders", partition: int = 0
) -> list[ErrorCode]:
    return await broker.groups.commits.commit(group, Committer(), [Commit(topic, None, partition, offset)], version=9)


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.01)


def shown(broker: FakeBroker) -> list[dict[str, Any]]:
    return [decode(record.key, record.value) for log in broker.offsets_log for record in log.all_records()]


@pytest.fixture
async def broker() -> Any:
    made = FakeBroker("orders", "other")
    await made.start()
    yield made
    await made.groups.close()


async def test_until_loaded_everything_says_so() -> None:
    broker = FakeBroker("orders")
    with pytest.raises(KafkaError) as raised:
        broker.groups.heartbeat("g", "m", None, 1)
    assert raised.value.code is ErrorCode.coordinator_load_in_progress
    answer = await call(groups.list_groups, broker, 5, {"states_filter": [], "types_filter": []})
    assert answer.error_code is ErrorCode.coordinator_load_in_progress


async def test_a_group_survives_a_restart_with_members_and_offsets(broker: FakeBroker) -> None:
    member_id = await member_of(broker, "g")
    committer = Committer(member_id, None, 1)
    assert await broker.groups.commits.commit(
        "g", committer, [Commit("orders", None, 2, 42, 3, "note")], version=9
    ) == [NONE]
    after = await broker.restarted()
    group = after.groups.groups["g"]
    assert group.state is State.STABLE and list(group.members) == [member_id]
    assert after.groups.heartbeat("g", member_id, None, 1) is NONE
    entry, _ = after.groups.commits.fetch("g", "orders", None, 2, require_stable=True)
    assert entry is not None and (entry.offset, entry.leader_epoch, entry.metadata) == (42, 3, "note")
    assert list(after.groups.committed()) == [("g", "orders", 2, 42)]
    assert after.groups.states() == {"Empty": 0, "PreparingRebalance": 0, "CompletingRebalance": 0, "Stable": 1}
    await after.groups.close()


async def test_the_states_may_be_asked_in_any_thread(broker: FakeBroker) -> None:
    """Embedded brokers are looked at from the thread of a test while groups come and go on the loop."""
    await member_of(broker, "g")
    known = broker.groups.groups
    group = known["g"]
    done = threading.Event()

    def ask() -> int:
        asked = 0
        while not done.is_set():
            assert broker.groups.states()["Stable"] >= 1
            asked += 1
        return asked

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        asking = asyncio.ensure_future(asyncio.to_thread(ask))
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline and not asking.done():
            for number in range(50):
                known[str(number)] = group
            await asyncio.sleep(0)
            for number in range(50):
                del known[str(number)]
    finally:
        sys.setswitchinterval(interval)
        done.set()
    assert await asking > 0


async def test_loaded_members_time_out_for_real(broker: FakeBroker) -> None:
    await member_of(broker, "g", session_timeout_ms=1000)
    after = await broker.restarted()
    assert after.groups.states()["Stable"] == 1
    await until(lambda: after.groups.states()["Empty"] == 1)
    again = await after.restarted()
    assert again.groups.groups["g"].members == {}
    await again.groups.close()


async def test_a_disconnected_join_does_not_hold_the_group(broker: FakeBroker) -> None:
    member_id = await member_of(broker, "g")
    second = asyncio.create_task(broker.groups.join("g", join_request(requires_known_member_id=False)))
    await asyncio.sleep(0)
    assert broker.groups.groups["g"].state is State.PREPARING_REBALANCE
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    joined = await asyncio.wait_for(broker.groups.join("g", join_request(member_id)), 1)
    assert joined["generation_id"] == 2 and len(joined["members"]) == 1


async def test_a_disconnected_sync_leaves_no_waiter(broker: FakeBroker) -> None:
    first = asyncio.create_task(broker.groups.join("g", join_request(requires_known_member_id=False)))
    second = asyncio.create_task(broker.groups.join("g", join_request(requires_known_member_id=False)))
    answers = await asyncio.gather(first, second)
    follower = next(answer for answer in answers if answer["leader"] != answer["member_id"])
    waiting = asyncio.create_task(broker.groups.sync("g", follower["member_id"], None, 1, None, None, []))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert all(member.awaiting_sync is None for member in broker.groups.groups["g"].members.values())


async def test_closing_answers_what_is_parked() -> None:
    broker = FakeBroker("orders", group_initial_rebalance_delay_ms=60_000)
    await broker.start()
    waiting = asyncio.create_task(broker.groups.join("g", join_request(requires_known_member_id=False)))
    await asyncio.sleep(0)
    await broker.groups.close()
    assert (await waiting)["error_code"] is ErrorCode.coordinator_not_available


async def test_session_time_out_limits_and_group_id(broker: FakeBroker) -> None:
    broker.config["group.min.session.timeout.ms"] = 6000
    short = await broker.groups.join("g", join_request(session_timeout_ms=5999))
    assert short["error_code"] is ErrorCode.invalid_session_timeout
    assert (await broker.groups.join("", join_request()))["error_code"] is ErrorCode.invalid_group_id
    assert (await broker.groups.join("g", join_request("m")))["error_code"] is ErrorCode.unknown_member_id
    assert "g" not in broker.groups.groups


# ---------------------------------------------------------------- who may commit


async def test_simple_consumers_commit_without_membership(broker: FakeBroker) -> None:
    assert await commit(broker, "simple", 5) == [NONE]
    group = broker.groups.groups["simple"]
    assert group.state is State.EMPTY and group.protocol_type is None
    assert shown(broker)[-1]["key"] == {"group": "simple", "topic": "orders", "partition": 0}
    assert shown(broker)[-1]["value"]["offset"] == 5


async def test_members_and_strangers(broker: FakeBroker) -> None:
    member_id = await member_of(broker, "g")

    async def code(*committer: Any, version: int = 9) -> ErrorCode:
        try:
            await broker.groups.commits.commit(
                "g", Committer(*committer), [Commit("orders", None, 0, 1)], version=version
            )
        except KafkaError as error:
            return error.code
        return NONE

    assert await code(member_id, None, 1) is NONE
    assert await code(member_id, None, 2) is ErrorCode.illegal_generation
    assert await code("stranger", None, 1) is ErrorCode.unknown_member_id
    assert await code() is ErrorCode.unknown_member_id, "an outsider may not move the offsets of a group at work"
    waiting = asyncio.create_task(broker.groups.join("g", join_request(member_id)))
    await asyncio.sleep(0.01)
    assert broker.groups.groups["g"].state is State.COMPLETING_REBALANCE
    assert await code(member_id, None, 2) is ErrorCode.rebalance_in_progress
    await waiting
    with pytest.raises(KafkaError) as raised:
        await broker.groups.commits.commit("new", Committer("m", None, 1), [], version=8)
    assert raised.value.code is ErrorCode.illegal_generation
    with pytest.raises(KafkaError) as raised:
        await broker.groups.commits.commit("new", Committer("m", None, 1), [], version=9)
    assert raised.value.code is ErrorCode.group_id_not_found


async def test_metadata_too_large_fails_alone(broker: FakeBroker) -> None:
    broker.config["offset.metadata.max.bytes"] = 3
    commits = [Commit("orders", None, 0, 1, -1, "long"), Commit("orders", None, 1, 1, -1, "ok")]
    assert await broker.groups.commits.commit("g", Committer(), commits, version=9) == [
        ErrorCode.offset_metadata_too_large,
        NONE,
    ]
    assert [row[2] for row in broker.groups.committed()] == [1]


async def test_a_failed_append_is_not_kept_in_memory(broker: FakeBroker) -> None:
    await commit(broker, "g", 1)
    for log in broker.offsets_log:
        log.failure = KafkaError(ErrorCode.kafka_storage_error, "disk full")
    with pytest.raises(KafkaError) as raised:
        await commit(broker, "g", 2)
    assert raised.value.code is ErrorCode.not_coordinator
    assert [row[3] for row in broker.groups.committed()] == [1]


# ---------------------------------------------------------------- the wire


@pytest.mark.parametrize("version", range(2, 11))
async def test_offset_commit_and_fetch_in_every_version(broker: FakeBroker, version: int) -> None:
    info = broker.metadata.topics["orders"]
    name: dict[str, Any] = {"name": "orders", "topic_id": info.topic_id}
    unknown: dict[str, Any] = {"name": "nope", "topic_id": broker.metadata.topics["other"].topic_id}
    rows = [
        {"partition_index": index, "committed_offset": 7, "committed_leader_epoch": 1, "committed_metadata": None}
        for index in (0, 99)
    ]
    if version < 10:
        topics = [{**name, "partitions": rows}, {**unknown, "partitions": rows[:1]}]
    else:
        topics = [{**name, "partitions": rows}]
    answer = await call(
        group_offsets.offset_commit,
        broker,
        version,
        {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics, "retention_time": -1},
    )
    codes = [row.error_code for topic in answer.topics for row in topic.partitions]
    missing = ErrorCode.unknown_topic_or_partition
    assert codes == ([NONE, missing, missing] if version < 10 else [NONE, missing])

    wanted = [{**name, "partition_indexes": [0, 1]}]
    request = {
        "group_id": "g",
        "topics": wanted,
        "groups": [{"group_id": "g", "topics": wanted}],
        "require_stable": True,
    }
    fetched = await call(group_offsets.offset_fetch, broker, version, request)
    found = (fetched.groups[0] if version >= 8 else fetched).topics[0]
    assert [row.committed_offset for row in found.partitions] == [7, -1]
    request = {"group_id": "g", "topics": None, "groups": [{"group_id": "g", "topics": None}], "require_stable": False}
    everything = await call(group_offsets.offset_fetch, broker, version, request)
    found = (everything.groups[0] if version >= 8 else everything).topics[0]
    assert [(row.partition_index, row.committed_offset) for row in found.partitions] == [(0, 7)]


async def test_fetch_by_an_unknown_topic_id(broker: FakeBroker) -> None:
    gone = broker.metadata.topic_ids.pop(broker.metadata.topics["other"].topic_id)
    request = {"groups": [{"group_id": "g", "topics": [{"topic_id": gone.topic_id, "partition_indexes": [0]}]}]}
    answer = await call(group_offsets.offset_fetch, broker, 10, request)
    assert answer.groups[0].topics[0].partitions[0].error_code is ErrorCode.unknown_topic_id


async def test_offset_fetch_1_says_loading_in_its_partitions() -> None:
    broker = FakeBroker("orders")
    request = {"group_id": "g", "topics": [{"name": "orders", "partition_indexes": [0]}]}
    answer = await call(group_offsets.offset_fetch, broker, 1, request)
    assert answer.topics[0].partitions[0].error_code is ErrorCode.coordinator_load_in_progress


@pytest.mark.parametrize("version", range(10))
async def test_a_whole_membership_in_every_version(broker: FakeBroker, version: int) -> None:
    request: dict[str, Any] = {
        "group_id": "g",
        "session_timeout": 10_000,
        "rebalance_timeout": 20_000,
        "member_id": "",
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription("orders")}],
        "reason": "test",
    }
    joined = await call(groups.join_group, broker, version, request)
    if version >= 4:
        assert joined.error_code is ErrorCode.member_id_required
        joined = await call(groups.join_group, broker, version, {**request, "member_id": joined.member_id})
    assert joined.error_code is NONE and joined.leader == joined.member_id and joined.member_id.startswith("tester-")
    member: dict[str, Any] = {
        "group_id": "g",
        "generation_id": 1,
        "member_id": joined.member_id,
        "group_instance_id": None,
    }
    synced = await call(
        groups.sync_group,
        broker,
        min(version, 5),
        {
            **member,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [{"member_id": joined.member_id, "assignment": b"mine"}],
        },
    )
    assert (synced.error_code, synced.assignment) == (NONE, b"mine")
    assert (await call(groups.heartbeat, broker, min(version, 4), member)).error_code is NONE
    for v in range(7):
        described = await call(
            groups.describe_groups, broker, v, {"groups": ["g", "nope"], "include_authorized_operations": True}
        )
        assert [group.group_state for group in described.groups] == ["Stable", "Dead"]
        assert described.groups[0].members[0].client_host == "/127.0.0.1"
        assert described.groups[1].error_code is (ErrorCode.group_id_not_found if v >= 6 else NONE)
    left = await call(
        groups.leave_group,
        broker,
        min(version, 5),
        {**member, "members": [{"member_id": joined.member_id, "group_instance_id": None, "reason": None}]},
    )
    assert left.error_code is NONE
    left = await call(groups.leave_group, broker, min(version, 2), member)
    assert left.error_code is ErrorCode.unknown_member_id


async def test_sync_5_must_name_its_protocol(broker: FakeBroker) -> None:
    member_id = await member_of(broker, "g")
    base = {"group_id": "g", "generation_id": 1, "member_id": member_id, "assignments": []}
    for kind, name in ((None, "range"), ("consumer", None), ("connect", "range"), ("consumer", "sticky")):
        answer = await call(groups.sync_group, broker, 5, {**base, "protocol_type": kind, "protocol_name": name})
        assert answer.error_code is ErrorCode.inconsistent_group_protocol


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        ([], [], ["g", "simple"]),
        (["stable"], [], ["g"]),
        (["Empty", "Dead"], [], ["simple"]),
        ([], ["Classic"], ["g", "simple"]),
        ([], ["consumer"], []),
    ],
)
async def test_list_groups(broker: FakeBroker, states: list[str], types: list[str], found: list[str]) -> None:
    await member_of(broker, "g")
    await commit(broker, "simple", 1)
    answer = await call(groups.list_groups, broker, 5, {"states_filter": states, "types_filter": types})
    assert [group.group_id for group in answer.groups] == found
    assert all(group.group_type == "classic" for group in answer.groups)
    for version in range(5):
        plain = await call(groups.list_groups, broker, version, {})
        assert [group.group_id for group in plain.groups] == ["g", "simple"]


# ---------------------------------------------------------------- deleting and expiring


async def test_delete_groups(broker: FakeBroker) -> None:
    member_id = await member_of(broker, "g")
    await commit(broker, "old", 5)
    answer = await call(groups.delete_groups, broker, 2, {"groups_names": ["g", "old", "nope"]})
    codes = [result.error_code for result in answer.results]
    assert codes == [ErrorCode.non_empty_group, NONE, ErrorCode.group_id_not_found]
    after = await broker.restarted()
    assert list(after.groups.groups) == ["g"], "the tombstones are read too"
    after.groups.leave("g", [Leaver(member_id)])
    assert await after.groups.delete("g") is NONE
    await after.groups.close()


async def test_offset_delete(broker: FakeBroker) -> None:
    member_id = await member_of(broker, "g")
    commits = [Commit("orders", None, 0, 1), Commit("other", None, 0, 1)]
    await broker.groups.commits.commit("g", Committer(member_id, None, 1), commits, version=9)
    wanted = [{"name": name, "partitions": [{"partition_index": 0}]} for name in ("orders", "other", "nope")]
    answer = await call(group_offsets.offset_delete, broker, 0, {"group_id": "g", "topics": wanted})
    codes = [topic.partitions[0].error_code for topic in answer.topics]
    assert codes == [ErrorCode.group_subscribed_to_topic, NONE, ErrorCode.unknown_topic_or_partition]
    assert [row[1] for row in broker.groups.committed()] == ["orders"]
    answer = await call(group_offsets.offset_delete, broker, 0, {"group_id": "nope", "topics": wanted})
    assert answer.error_code is ErrorCode.group_id_not_found
    await member_of(broker, "connect", protocol_type="connect")
    answer = await call(group_offsets.offset_delete, broker, 0, {"group_id": "connect", "topics": wanted})
    assert answer.error_code is ErrorCode.non_empty_group


async def test_a_deleted_topic_takes_its_offsets_along(broker: FakeBroker) -> None:
    for topic in ("orders", "other"):
        await commit(broker, "g", 1, topic)
    broker.groups.topic_deleted("other")
    assert [row[1] for row in broker.groups.committed()] == ["orders"]
    after = await broker.restarted()
    assert [row[1] for row in after.groups.committed()] == ["orders"]
    await after.groups.close()


async def test_expiry_writes_tombstones_and_ends_empty_groups(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.config["offsets.retention.minutes"] = 1
    await commit(broker, "old", 1)
    await member_of(broker, "busy")
    assert await broker.groups.commits.expire() == 0
    later = broker.groups.now_ms() + 61_000
    monkeypatch.setattr(broker.groups, "now_ms", lambda: later)
    await commit(broker, "fresh", 1)
    assert await broker.groups.commits.expire() == 1
    assert set(broker.groups.groups) == {"busy", "fresh"}
    after = await broker.restarted()
    assert set(after.groups.groups) == {"busy", "fresh"}
    await after.groups.close()


async def test_expiry_runs_by_itself() -> None:
    broker = FakeBroker("orders", offsets_retention_minutes=0, offsets_retention_check_interval_ms=20)
    await broker.start()
    await commit(broker, "g", 1)
    await until(lambda: broker.groups.groups == {})
    await broker.groups.close()


# ---------------------------------------------------------------- transactions


async def txn_commit(broker: FakeBroker, offset: int, version: int = 5, **changes: Any) -> ErrorCode:
    row = {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": None}
    request = {
        "transactional_id": "tx",
        "group_id": "g",
        "producer_id": 9,
        "producer_epoch": 2,
        "generation_id": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": [{"name": "orders", "partitions": [row]}],
        **changes,
    }
    answer = await call(group_offsets.txn_offset_commit, broker, version, request)
    code: ErrorCode = answer.topics[0].partitions[0].error_code
    return code


@pytest.mark.parametrize("version", range(6))
async def test_offsets_in_a_transaction(broker: FakeBroker, version: int) -> None:
    assert await txn_commit(broker, 11, version) is NONE
    index = broker.groups.log.partition_of("g")
    assert broker.transactions.asked == [("tx", 9, 2, [(OFFSETS_TOPIC, index)], version >= 5)]
    fetch = broker.groups.commits.fetch
    assert fetch("g", "orders", None, 0, require_stable=True) == (None, ErrorCode.unstable_offset_commit)
    assert fetch("g", "orders", None, 0, require_stable=False) == (None, NONE)
    broker.groups.transaction_completed(index, 9, commit=True)
    entry, code = fetch("g", "orders", None, 0, require_stable=True)
    assert code is NONE and entry is not None and entry.offset == 11


async def test_a_transaction_that_is_not_verified_commits_nothing(broker: FakeBroker) -> None:
    broker.transactions.code = ErrorCode.invalid_txn_state
    assert await txn_commit(broker, 11) is ErrorCode.invalid_txn_state
    assert shown(broker) == []


async def test_a_stale_generation_is_fenced_in_transactions(broker: FakeBroker) -> None:
    member_id = await member_of(broker, "g")
    assert await txn_commit(broker, 1, generation_id=7, member_id=member_id) is ErrorCode.illegal_generation
    assert await txn_commit(broker, 1, generation_id=1, member_id="zombie") is ErrorCode.unknown_member_id
    assert await txn_commit(broker, 1, generation_id=1, member_id=member_id) is NONE


@pytest.mark.parametrize(("commit_it", "expected"), [(True, 11), (False, 3)])
async def test_transactions_across_a_restart(broker: FakeBroker, commit_it: bool, expected: int) -> None:
    await commit(broker, "g", 3)
    await txn_commit(broker, 11)
    index = broker.groups.log.partition_of("g")
    open_still = await broker.restarted()
    assert open_still.groups.commits.fetch("g", "orders", None, 0, True)[1] is ErrorCode.unstable_offset_commit
    broker.offsets_log[index].append_marker(9, commit_it)
    after = await open_still.restarted()
    entry, code = after.groups.commits.fetch("g", "orders", None, 0, require_stable=True)
    assert code is NONE and entry is not None and entry.offset == expected
    await after.groups.close()


# ---------------------------------------------------------------- loading


async def test_records_that_cannot_be_read_do_not_stop_loading(
    broker: FakeBroker, caplog: pytest.LogCaptureFixture
) -> None:
    await commit(broker, "g", 1)
    log = broker.offsets_log[broker.groups.log.partition_of("g")]
    log.append_records([(b"\x00\x01\x00\x09x", b""), (b"", b""), (b"\x00\x08abc", b"x"), (None, b"x")])
    await commit(broker, "g", 2)
    after = await broker.restarted()
    assert [row[3] for row in after.groups.committed()] == [2]
    assert "skipped 3 records that cannot be read and 1 of group types" in caplog.text
    await after.groups.close()


async def test_a_partition_that_cannot_be_read_takes_only_its_own_groups_down(
    broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        await commit(broker, f"group-{number}", 1)

    def broken(_start: int = 0) -> Any:
        raise OSError("input/output error")

    monkeypatch.setattr(broker.offsets_log[0], "iter_records", broken)
    after = await broker.restarted()
    assert {after.groups.log.partition_of(name) for name in after.groups.groups} == {1, 2}
    lost = next(f"group-{number}" for number in range(6) if f"group-{number}" not in after.groups.groups)
    with pytest.raises(KafkaError) as raised:
        await commit(after, lost, 2)
    assert raised.value.code is ErrorCode.coordinator_not_available
    await after.groups.close()


async def test_ten_thousand_groups_load_quickly(broker: FakeBroker) -> None:
    commits = [Commit("orders", broker.metadata.topics["orders"].topic_id, index, 1) for index in range(4)]
    for number in range(10_000):
        await broker.groups.commits.commit(f"group-{number}", Committer(), commits, version=9)
    started = time.process_time()
    after = await broker.restarted()
    spent = time.process_time() - started
    assert len(after.groups.groups) == 10_000 and sum(1 for _ in after.groups.committed()) == 40_000
    assert spent < 10, f"loading took {spent:.1f} s of CPU"
    keys = {id(key) for offsets in after.groups.commits.offsets.committed.values() for key in offsets}
    assert len(keys) == 4, "the keys are shared between groups"
    await after.groups.close()
