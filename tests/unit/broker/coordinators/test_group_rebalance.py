"""The state machine of a classic group under a clock of the test's own: who gets which answer, and when."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.broker.coordinators.group_fakes import FakeHost, subscription

from caudal.broker.coordinators.group import Group, Reply, State
from caudal.broker.coordinators.group_rebalance import RECONNECT_GRACE_MS, Rebalances
from caudal.broker.coordinators.group_requests import JoinRequest, Leaver
from caudal.broker.errors import ErrorCode

RANGE = (("range", subscription("orders")),)


class Client:
    """One consumer's side: it remembers what it was told."""

    def __init__(self, world: World, name: str, **defaults: Any) -> None:
        self.world = world
        self.name = name
        self.member_id = ""
        self.generation = -1
        self.joins: list[dict[str, Any]] = []
        self.syncs: list[dict[str, Any]] = []
        self.defaults: dict[str, Any] = {"instance_id": None, "protocols": RANGE, **defaults}
        self.last_reply: Reply | None = None

    def join(self, **changes: Any) -> dict[str, Any] | None:
        """The answer if there is one at once (after the member id dance), else None."""
        waiting = len(self.joins)
        self._join(**changes)
        if len(self.joins) > waiting and self.joins[-1]["error_code"] is ErrorCode.member_id_required:
            self.joins.pop()
            self._join(**changes)
        return self.joins[-1] if len(self.joins) > waiting else None

    def _join(self, **changes: Any) -> None:
        values = {
            "member_id": self.member_id,
            "client_id": self.name,
            "client_host": "/test",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            **self.defaults,
            **changes,
        }

        def reply(answer: dict[str, Any]) -> None:
            self.joins.append(answer)
            if answer["error_code"] in (ErrorCode.none, ErrorCode.member_id_required):
                self.member_id = answer["member_id"]
                self.generation = answer["generation_id"]

        self.last_reply = reply
        self.world.rebalances.join(self.world.group, JoinRequest(**values), reply)

    def sync(self, **assignments: bytes) -> dict[str, Any] | None:
        waiting = len(self.syncs)
        self.last_reply = self.syncs.append
        self.world.rebalances.sync(
            self.world.group,
            self.member_id,
            self.defaults["instance_id"],
            self.generation,
            "consumer",
            None,
            list(assignments.items()),
            self.last_reply,
        )
        return self.syncs[-1] if len(self.syncs) > waiting else None

    def heartbeat(self) -> ErrorCode:
        return self.world.rebalances.heartbeat(
            self.world.group, self.member_id, self.defaults["instance_id"], self.generation
        )

    @property
    def leads(self) -> bool:
        return bool(self.joins[-1]["leader"] == self.member_id)


class World:
    def __init__(self) -> None:
        self.host = FakeHost()
        self.rebalances = Rebalances(self.host)
        self.group = Group("g", 0)

    def client(self, name: str, **defaults: Any) -> Client:
        return Client(self, name, **defaults)

    def wait(self, seconds: float) -> None:
        self.host.clock.advance(seconds)

    def stable(self, *clients: Client) -> None:
        """Brings these clients together to a stable group."""
        for client in clients:
            client.join()
        while self.group.state is State.PREPARING_REBALANCE:
            self.wait(0.5)
        leader = next(client for client in clients if client.leads)
        leader.sync(**{client.member_id: client.name.encode() for client in clients})
        for client in clients:
            if client is not leader:
                client.sync()
        assert self.group.state is State.STABLE

    def rejoined(self, *clients: Client) -> None:
        """The clients learn of a rebalance, rejoin and sync."""
        for client in clients:
            client.join()
        assert self.group.state is State.COMPLETING_REBALANCE
        leader = next(client for client in clients if client.leads)
        for client in clients:
            if client is not leader:
                assert client.sync() is None, "a follower waits for the leader"
        leader.sync(**{client.member_id: client.name.encode() for client in clients})


@pytest.fixture
def world() -> World:
    return World()


# ---------------------------------------------------------------- joining


def test_a_new_dynamic_member_is_given_an_id_first(world: World) -> None:
    client = world.client("c1")
    client._join()
    assert client.joins[-1]["error_code"] is ErrorCode.member_id_required
    assert client.member_id.startswith("c1-")
    assert world.group.state is State.EMPTY and not world.group.members


def test_an_old_client_joins_without_that_round(world: World) -> None:
    client = world.client("c1", requires_known_member_id=False)
    client._join()
    assert client.joins == [] and len(world.group.members) == 1


def test_one_member_forms_a_group_after_the_initial_delay(world: World) -> None:
    client = world.client("c1")
    assert client.join() is None
    world.wait(2.9)
    assert client.joins == [], "the initial delay is not over"
    world.wait(0.2)
    answer = client.joins[-1]
    assert answer["error_code"] is ErrorCode.none
    assert (answer["generation_id"], answer["protocol_name"], answer["leader"]) == (1, "range", client.member_id)
    assert [member["member_id"] for member in answer["members"]] == [client.member_id]
    assert client.sync(**{client.member_id: b"all"}) == {
        "error_code": ErrorCode.none,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignment": b"all",
    }
    assert world.group.state is State.STABLE
    assert world.host.stored[-1].members[0].assignment == b"all"
    assert client.heartbeat() is ErrorCode.none


def test_who_comes_during_the_initial_delay_extends_it(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    one.join()
    world.wait(2)
    two.join()
    world.wait(2)
    assert one.joins == [], "extended because of the second"
    world.wait(2)
    assert one.joins and two.joins and one.generation == two.generation == 1
    assert [len(client.joins[-1]["members"]) for client in (one, two)] == [2, 0], "only the leader sees the members"


def test_without_delay_a_group_forms_at_once(world: World) -> None:
    world.host.initial_rebalance_delay_ms = 0
    client = world.client("c1")
    client.join()
    world.wait(0)
    assert client.generation == 1


def test_three_members_and_one_more_rebalance(world: World) -> None:
    one, two, three = (world.client(f"c{n}") for n in range(3))
    world.stable(one, two)
    assert three.join() is None
    assert one.heartbeat() is ErrorCode.rebalance_in_progress
    assert one.join() is None
    assert two.heartbeat() is ErrorCode.rebalance_in_progress
    two.join()
    assert [c.generation for c in (one, two, three)] == [2, 2, 2], "it ends as soon as the last has rejoined"
    assert one.leads and two.sync() is None and three.sync() is None
    one.sync(**{one.member_id: b"1", two.member_id: b"2"})
    assert two.syncs[-1]["assignment"] == b"2"
    assert three.syncs[-1]["assignment"] == b"", "who is not in the assignment gets nothing"


def test_protocol_by_vote(world: World) -> None:
    a, b, c = b"a", b"b", b"c"
    one = world.client("c1", protocols=(("range", a), ("sticky", a)))
    two = world.client("c2", protocols=(("sticky", b), ("range", b)))
    three = world.client("c3", protocols=(("sticky", c), ("range", c), ("odd", c)))
    world.stable(one, two, three)
    assert world.group.protocol_name == "sticky"
    assert {member["metadata"] for member in one.joins[-1]["members"]} == {a, b, c}


def test_nothing_in_common_is_inconsistent(world: World) -> None:
    world.stable(world.client("c1"))
    other = world.client("c2", protocols=(("odd", b""),))
    answer = other.join()
    assert answer is not None and answer["error_code"] is ErrorCode.inconsistent_group_protocol
    connect = world.client("c3", protocol_type="connect")
    answer = connect.join()
    assert answer is not None and answer["error_code"] is ErrorCode.inconsistent_group_protocol
    assert world.client("c4", protocols=()).join()["error_code"] is ErrorCode.inconsistent_group_protocol  # type: ignore[index]


def test_max_size(world: World) -> None:
    world.host.max_group_size = 1
    world.stable(world.client("c1"))
    answer = world.client("c2").join()
    assert answer is not None and answer["error_code"] is ErrorCode.group_max_size_reached


def test_an_unknown_member_id_is_refused(world: World) -> None:
    world.stable(world.client("c1"))
    answer = world.client("c2").join(member_id="made-up")
    assert answer is not None and answer["error_code"] is ErrorCode.unknown_member_id


def test_a_follower_that_rejoins_unchanged_gets_the_same_generation(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one, two)
    answer = two.join()
    assert answer is not None and answer["generation_id"] == 1
    assert world.group.state is State.STABLE


def test_a_leader_that_rejoins_starts_a_rebalance(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one, two)
    assert one.join() is None and world.group.state is State.PREPARING_REBALANCE


def test_a_changed_subscription_starts_a_rebalance(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one, two)
    assert two.join(protocols=(("range", subscription("other")),)) is None
    one.join()
    assert world.group.subscribed_topics == frozenset({"orders", "other"})


def test_a_lost_join_answer_is_given_again(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    one.join()
    two.join()
    world.wait(10)
    assert world.group.state is State.COMPLETING_REBALANCE
    answer = one.join()
    assert answer is not None and answer["generation_id"] == 1 and len(answer["members"]) == 2


def test_the_same_member_joining_twice_leaves_no_request_behind(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one, two)
    one.join()
    one.join()
    assert [answer["error_code"] for answer in one.joins[1:]] == [ErrorCode.rebalance_in_progress]
    assert world.group.awaiting_joins == 1
    two.join()
    assert one.generation == two.generation == 2


# ---------------------------------------------------------------- time-outs


def test_a_silent_member_is_removed_after_its_session(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one, two)
    for _ in range(4):
        world.wait(4)
        one.heartbeat()
    assert two.member_id not in world.group.members
    assert world.group.state is State.PREPARING_REBALANCE
    world.rejoined(one)
    assert one.generation == 2
    assert two.heartbeat() is ErrorCode.unknown_member_id


def test_heartbeats_keep_a_member(world: World) -> None:
    one = world.client("c1")
    world.stable(one)
    for _ in range(20):
        world.wait(9)
        assert one.heartbeat() is ErrorCode.none
    assert world.host.clock.live_timers <= 2, "heartbeats do not pile up timers"


def test_a_group_without_members_becomes_empty_and_is_written_so(world: World) -> None:
    world.stable(world.client("c1"))
    world.wait(11)
    assert world.group.state is State.EMPTY
    last = world.host.stored[-1]
    assert (last.members, last.protocol, last.leader, last.generation) == ((), None, None, 2)
    assert last.protocol_type == "consumer"


def test_who_does_not_rejoin_in_time_is_out(world: World) -> None:
    one, two, three = (world.client(f"c{n}", rebalance_timeout_ms=20_000) for n in range(3))
    world.stable(one, two)
    three.join()
    one.join()
    for _ in range(4):
        world.wait(5)
        two.heartbeat()  # alive, but its poll loop is stuck
    assert [one.generation, three.generation] == [2, 2]
    assert two.member_id not in world.group.members


def test_who_does_not_sync_in_time_is_out(world: World) -> None:
    one, two = (world.client(f"c{n}", rebalance_timeout_ms=20_000) for n in range(2))
    one.join()
    two.join()
    world.wait(4)
    world.wait(4)
    leader, other = (one, two) if one.leads else (two, one)
    leader.sync()
    for _ in range(5):
        world.wait(4)
        leader.heartbeat()
        other.heartbeat()
    assert other.member_id not in world.group.members
    assert world.group.state is State.PREPARING_REBALANCE


def test_a_pending_member_id_expires(world: World) -> None:
    one, ghost = world.client("c1"), world.client("ghost")
    world.stable(one)
    ghost._join()
    one.join()
    assert world.group.state is State.PREPARING_REBALANCE, "it waits for the one it gave an id"
    world.wait(10.1)
    assert world.group.pending_joins == {}
    assert one.generation == 2


def test_a_waiting_member_is_not_timed_out(world: World) -> None:
    one, two, three = (world.client(f"c{n}") for n in range(3))
    world.stable(one, two)
    three.join()
    one.join()
    for _ in range(6):
        world.wait(5)
        two.heartbeat()
    assert one.member_id in world.group.members, "its JoinGroup is parked here, so it lives"


# ---------------------------------------------------------------- disconnects


def test_a_new_member_that_disconnects_while_joining_is_gone_at_once(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one)
    two.join()
    assert two.last_reply is not None
    world.rebalances.join_abandoned(world.group, two.last_reply)
    assert two.member_id not in world.group.members
    one.join()
    assert one.generation == 2, "the rebalance does not wait for who has gone"


def test_a_known_member_may_reconnect_for_a_moment(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one, two)
    two.join(protocols=(("range", subscription("x")),))
    assert two.last_reply is not None
    world.rebalances.join_abandoned(world.group, two.last_reply)
    assert world.group.awaiting_joins == 0
    one.join()
    assert one.generation == 1
    world.wait(RECONNECT_GRACE_MS / 1000 - 1)
    two.join()
    assert one.generation == two.generation == 2


def test_a_known_member_that_stays_away_is_removed_soon(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one, two)
    two.join(protocols=(("range", subscription("x")),))
    assert two.last_reply is not None
    world.rebalances.join_abandoned(world.group, two.last_reply)
    one.join()
    world.wait(RECONNECT_GRACE_MS / 1000 + 0.1)
    assert one.generation == 2 and list(world.group.members) == [one.member_id]


def test_a_follower_that_disconnects_while_syncing_has_its_session(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    one.join()
    two.join()
    world.wait(10)
    leader, other = (one, two) if one.leads else (two, one)
    assert other.sync() is None
    assert other.last_reply is not None
    world.rebalances.sync_abandoned(world.group, other.last_reply)
    world.wait(5)
    leader.sync()
    world.wait(5.5)
    assert other.member_id not in world.group.members


# ---------------------------------------------------------------- syncing


def test_sync_errors(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one, two)
    one.generation = 7
    assert one.sync()["error_code"] is ErrorCode.illegal_generation  # type: ignore[index]
    one.generation = 1
    one.join()
    one.generation = 1
    assert two.sync()["error_code"] is ErrorCode.rebalance_in_progress  # type: ignore[index]


def test_a_rebalance_frees_those_who_wait_for_the_leader(world: World) -> None:
    one, two, three = (world.client(f"c{n}") for n in range(3))
    one.join()
    two.join()
    world.wait(10)
    leader, other = (one, two) if one.leads else (two, one)
    assert other.sync() is None
    three.join()
    assert other.syncs[-1]["error_code"] is ErrorCode.rebalance_in_progress
    assert leader.heartbeat() is ErrorCode.rebalance_in_progress


def test_a_failed_write_of_the_assignment_starts_over(world: World) -> None:
    one = world.client("c1")
    one.join()
    world.wait(4)
    world.host.store_code = ErrorCode.not_coordinator
    assert one.sync()["error_code"] is ErrorCode.not_coordinator  # type: ignore[index]
    assert world.group.state is State.PREPARING_REBALANCE


def test_an_assignment_that_arrives_after_a_new_rebalance_is_ignored(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    one.join()
    world.wait(4)
    world.host.hold_stores = True
    assert one.sync(**{one.member_id: b"old"}) is None
    two.join()
    assert one.syncs[-1]["error_code"] is ErrorCode.rebalance_in_progress
    world.host.held[0]()
    assert world.group.state is State.PREPARING_REBALANCE


# ---------------------------------------------------------------- leaving


def test_leaving_rebalances_the_others(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one, two)
    assert world.rebalances.leave(world.group, [Leaver(two.member_id), Leaver("nobody")]) == [
        ErrorCode.none,
        ErrorCode.unknown_member_id,
    ]
    assert one.heartbeat() is ErrorCode.rebalance_in_progress
    world.rejoined(one)
    assert world.group.state is State.STABLE


def test_the_last_to_leave_empties_the_group(world: World) -> None:
    one = world.client("c1")
    world.stable(one)
    world.rebalances.leave(world.group, [Leaver(one.member_id)])
    assert world.group.state is State.EMPTY
    assert world.host.clock.live_timers == 0, "an empty group has nothing to wait for"


def test_a_pending_member_leaves(world: World) -> None:
    client = world.client("c1")
    client._join()
    assert world.rebalances.leave(world.group, [Leaver(client.member_id)]) == [ErrorCode.none]
    assert world.group.pending_joins == {}


# ---------------------------------------------------------------- static members


def test_a_static_member_comes_back_without_rebalance(world: World) -> None:
    one, two = world.client("c1", instance_id="i1"), world.client("c2", instance_id="i2")
    world.stable(one, two)
    follower = two if one.leads else one
    old_id = follower.member_id
    again = world.client(follower.name, instance_id=follower.defaults["instance_id"])
    answer = again.join()
    assert answer is not None and answer["error_code"] is ErrorCode.none
    assert answer["generation_id"] == 1 and world.group.state is State.STABLE
    assert again.member_id != old_id
    assert again.sync()["assignment"] == follower.name.encode()  # type: ignore[index]
    assert follower.heartbeat() is ErrorCode.fenced_instance_id, "the old instance is told that it was replaced"
    assert again.member_id in [member.member_id for member in world.host.stored[-1].members], "the new id is durable"


def test_a_static_leader_that_comes_back_skips_the_assignment(world: World) -> None:
    one = world.client("c1", instance_id="i1")
    world.stable(one)
    again = world.client("c1", instance_id="i1")
    answer = again.join()
    assert answer is not None and answer["skip_assignment"] is True
    assert answer["leader"] == again.member_id and len(answer["members"]) == 1
    older = world.client("c1", instance_id="i1", supports_skipping_assignment=False)
    answer = older.join()
    assert answer is not None and answer["skip_assignment"] is False
    assert answer["leader"] != older.member_id, "a client that cannot skip is told that another one leads"
    assert answer["members"] == []


def test_a_static_member_that_changes_the_protocol_rebalances(world: World) -> None:
    one = world.client("c1", instance_id="i1", protocols=(("range", b""), ("sticky", b"")))
    world.stable(one)
    again = world.client("c1", instance_id="i1", protocols=(("sticky", b""), ("range", b"")))
    again.join()
    assert again.generation == 2 and world.group.protocol_name == "sticky"


def test_a_static_member_whose_new_id_cannot_be_stored_keeps_the_old(world: World) -> None:
    one = world.client("c1", instance_id="i1")
    world.stable(one)
    world.host.store_code = ErrorCode.not_coordinator
    answer = world.client("c1", instance_id="i1").join()
    assert answer is not None and answer["error_code"] is ErrorCode.not_coordinator
    assert one.heartbeat() is ErrorCode.none


def test_a_static_member_replaced_while_it_waits_is_fenced(world: World) -> None:
    one, two = world.client("c1", instance_id="i1"), world.client("c2")
    world.stable(one, two)
    one.join(protocols=(("range", subscription("x")),))
    again = world.client("c1", instance_id="i1")
    assert again.join() is None
    assert one.joins[-1]["error_code"] is ErrorCode.fenced_instance_id
    two.join()
    assert again.generation == two.generation == 2


def test_a_static_member_survives_a_missed_rejoin_until_its_session_ends(world: World) -> None:
    static = world.client("c1", instance_id="i1", rebalance_timeout_ms=8_000, session_timeout_ms=30_000)
    other = world.client("c2", rebalance_timeout_ms=8_000)
    world.stable(static, other)
    other.join(protocols=(("range", subscription("x")),))
    world.wait(8.1)
    assert other.generation == 2 and static.member_id in world.group.members
    assert other.leads, "who has not come back does not lead"
    other.sync()
    for _ in range(6):
        world.wait(5)
        other.heartbeat()
    assert static.member_id not in world.group.members


def test_leave_by_instance_id(world: World) -> None:
    one = world.client("c1", instance_id="i1")
    world.stable(one)
    leave = world.rebalances.leave
    assert leave(world.group, [Leaver("", "nobody")]) == [ErrorCode.unknown_member_id]
    assert leave(world.group, [Leaver("other-id", "i1")]) == [ErrorCode.fenced_instance_id]
    assert leave(world.group, [Leaver("", "i1")]) == [ErrorCode.none]
    assert world.group.state is State.EMPTY


# ---------------------------------------------------------------- restart and end


def test_loaded_members_have_a_session_to_show_themselves(world: World) -> None:
    one, two = world.client("c1"), world.client("c2")
    world.stable(one, two)
    world.group = Group.from_value("g", world.host.stored[-1])
    world.rebalances.loaded(world.group)
    assert world.group.state is State.STABLE and world.group.leader == one.member_id
    assert world.group.subscribed_topics == frozenset({"orders"})
    world.wait(9)
    assert one.heartbeat() is ErrorCode.none
    assert two.sync()["assignment"] == b"c2"  # type: ignore[index]
    world.wait(9.9)
    assert set(world.group.members) == {one.member_id, two.member_id}
    world.wait(0.2)
    assert world.group.state is not State.STABLE


def test_the_end_answers_everybody_and_stops_every_timer(world: World) -> None:
    one, two, three = (world.client(f"c{n}") for n in range(3))
    world.stable(one, two)
    three.join()
    one.join()
    world.rebalances.end(world.group)
    assert one.joins[-1]["error_code"] is three.joins[-1]["error_code"] is ErrorCode.coordinator_not_available
    assert world.host.clock.live_timers == 0
    assert two.heartbeat() is ErrorCode.coordinator_not_available
