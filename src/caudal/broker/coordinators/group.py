"""One classic consumer group: who is in it, which state it is in, what it voted for. Data and rules, no time and no
I/O.

What happens when (joining, rebalancing, time-outs) is in `group_rebalance`; what is written, in `group_coordinator`.

Invariants:
- `awaiting_joins` is the number of members with a parked JoinGroup; `supported` counts, per protocol, the members
  that speak it.
- A member id is in at most one of `members` and `pending_joins`; `static_members` maps every instance id in `members`
  to its member id.
- `leader` is a member whenever there are members, except in PreparingRebalance before anyone has joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol
from uuid import uuid4

from caudal.broker.coordinators.consumer_protocol import subscribed_topics
from caudal.broker.coordinators.offset_records import GroupValue, MemberValue
from caudal.broker.errors import ErrorCode, KafkaError

__all__ = ["CONSUMER_PROTOCOL", "Group", "Member", "Protocols", "Reply", "State", "Timer"]

CONSUMER_PROTOCOL = "consumer"

Protocols = tuple[tuple[str, bytes], ...]
"""What a member can speak, most wanted first: (name, subscription)."""

Reply = Callable[[dict[str, Any]], None]
"""Answers a parked request with the values of its response."""


class State(StrEnum):
    """The states of a classic group, named as Kafka's tools print them."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_BEFORE: dict[State, frozenset[State]] = {
    State.EMPTY: frozenset({State.PREPARING_REBALANCE}),
    State.PREPARING_REBALANCE: frozenset({State.EMPTY, State.STABLE, State.COMPLETING_REBALANCE}),
    State.COMPLETING_REBALANCE: frozenset({State.PREPARING_REBALANCE}),
    State.STABLE: frozenset({State.COMPLETING_REBALANCE}),
    State.DEAD: frozenset(State),
}


class Timer(Protocol):
    """What a clock's `call_later` gives back."""

    def cancel(self) -> None: ...


class Member:
    """One consumer in the group."""

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "deadline",
        "instance_id",
        "is_new",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "timer",
        "timer_at",
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.awaiting_join: Reply | None = None
        self.awaiting_sync: Reply | None = None
        # True until the first completed join: until then the client cannot heartbeat.
        self.is_new = False
        # The session: a heartbeat only moves `deadline`; the timer looks at it when it fires.
        self.deadline = 0.0
        self.timer: Timer | None = None
        self.timer_at = 0.0

    def subscription(self, protocol: str | None) -> bytes:
        for name, data in self.protocols:
            if name == protocol:
                return data
        raise ValueError(f"member {self.member_id} does not speak {protocol}")

    def vote(self, candidates: set[str]) -> str:
        """The protocol this member wants most among those that everybody speaks."""
        return next(name for name, _ in self.protocols if name in candidates)


class Group:
    """A classic group's membership and state."""

    __slots__ = (
        "awaiting_joins",
        "generation",
        "group_id",
        "join_timer",
        "leader",
        "members",
        "new_member_added",
        "pending_joins",
        "pending_syncs",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_timestamp",
        "static_members",
        "subscribed_topics",
        "supported",
        "sync_timer",
    )

    def __init__(self, group_id: str, now_ms: int | None = None) -> None:
        self.group_id = group_id
        self.state = State.EMPTY
        self.previous_state = State.EMPTY
        self.state_timestamp = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.pending_joins: dict[str, Timer | None] = {}
        self.pending_syncs: dict[str, None] = {}
        self.supported: dict[str, int] = {}
        self.awaiting_joins = 0
        self.new_member_added = False
        self.subscribed_topics: frozenset[str] | None = None
        self.join_timer: Timer | None = None
        self.sync_timer: Timer | None = None

    # ------------------------------------------------------------ from and to the log

    @classmethod
    def from_value(cls, group_id: str, value: GroupValue) -> Group:
        """The group as its last record tells it: Stable with members, Empty without."""
        group = cls(group_id, value.state_timestamp if value.state_timestamp >= 0 else None)
        group.generation = value.generation
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        for saved in value.members:
            # Only the chosen protocol was written, so a loaded member speaks just that until it rejoins.
            member = Member(
                saved.member_id,
                saved.instance_id,
                saved.client_id,
                saved.client_host,
                saved.rebalance_timeout_ms,
                saved.session_timeout_ms,
                ((value.protocol or "", saved.subscription),),
                saved.assignment,
            )
            group.add(member, value.protocol_type)
        group.leader = value.leader
        if group.members:
            group.state = State.STABLE
        group.subscribed_topics = group.compute_subscribed_topics()
        return group

    def to_value(self, assignments: dict[str, bytes] | None = None) -> GroupValue:
        """What is written of this generation, with these assignments instead of the members' own where given."""
        return GroupValue(
            self.protocol_type or "",
            self.generation,
            self.protocol_name,
            self.leader,
            -1 if self.state_timestamp is None else self.state_timestamp,
            tuple(
                MemberValue(
                    member.member_id,
                    member.instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    member.subscription(self.protocol_name),
                    member.assignment if assignments is None else assignments.get(member.member_id, b""),
                )
                for member in self.members.values()
            ),
        )

    # ------------------------------------------------------------ state

    def transition(self, state: State, now_ms: int) -> None:
        if self.state not in _BEFORE[state]:
            raise RuntimeError(f"group {self.group_id} cannot go from {self.state} to {state}")
        self.previous_state = self.state
        self.state = state
        self.state_timestamp = now_ms

    @property
    def can_rebalance(self) -> bool:
        return self.state in _BEFORE[State.PREPARING_REBALANCE]

    def next_generation(self, now_ms: int) -> None:
        """Ends the join phase: a new generation with the protocol that most members want, or an empty group."""
        self.generation += 1
        self.pending_syncs.clear()
        if self.members:
            self.protocol_name = self.select_protocol()
            self.transition(State.COMPLETING_REBALANCE, now_ms)
        else:
            self.protocol_name = None
            self.transition(State.EMPTY, now_ms)
        self.subscribed_topics = self.compute_subscribed_topics()

    # ------------------------------------------------------------ members

    def new_member_id(self, client_id: str, instance_id: str | None) -> str:
        return f"{client_id if instance_id is None else instance_id}-{uuid4()}"

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self._count_protocols(member, 1)
        self.awaiting_joins += member.awaiting_join is not None
        self.forget_pending(member.member_id)

    def remove(self, member_id: str) -> Member | None:
        """Takes a member out; a parked request of it must have been answered before."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            self.awaiting_joins -= member.awaiting_join is not None
            if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
                del self.static_members[member.instance_id]
            if member.timer is not None:
                member.timer.cancel()
                member.timer = None
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.forget_pending(member_id)
        self.pending_syncs.pop(member_id, None)
        return member

    def replace_static(self, instance_id: str, old_id: str, new_id: str) -> Member:
        """Gives a static member its new member id; everything else of it stays, leadership too."""
        member = self.members.pop(old_id)
        member.member_id = new_id
        self.members[new_id] = member
        self.static_members[instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.pending_syncs:
            del self.pending_syncs[old_id]
            self.pending_syncs[new_id] = None
        return member

    def update(
        self, member: Member, protocols: Protocols, rebalance_ms: int, session_ms: int, reply: Reply | None
    ) -> None:
        """A member rejoined (or, with no `reply`, a failed replacement is undone)."""
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_ms
        member.session_timeout_ms = session_ms
        self.awaiting_joins += (reply is not None) - (member.awaiting_join is not None)
        member.awaiting_join = reply

    def answer_join(self, member: Member, values: dict[str, Any]) -> bool:
        reply = member.awaiting_join
        if reply is None:
            return False
        member.awaiting_join = None
        self.awaiting_joins -= 1
        reply(values)
        return True

    def answer_sync(self, member: Member, values: dict[str, Any]) -> bool:
        reply = member.awaiting_sync
        if reply is None:
            return False
        member.awaiting_sync = None
        reply(values)
        return True

    def forget_pending(self, member_id: str) -> None:
        timer = self.pending_joins.pop(member_id, None)
        if timer is not None:
            timer.cancel()

    @property
    def all_joined(self) -> bool:
        return self.awaiting_joins == len(self.members) and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """Makes sure that the leader is one of those who joined this round; False when nobody has."""
        leader = self.members.get(self.leader) if self.leader is not None else None
        if leader is not None and leader.awaiting_join is not None:
            return True
        joined = next((member for member in self.members.values() if member.awaiting_join is not None), None)
        if joined is None:
            return False
        self.leader = joined.member_id
        return True

    # ------------------------------------------------------------ protocols

    def _count_protocols(self, member: Member, by: int) -> None:
        for name in {name for name, _ in member.protocols}:
            count = self.supported.get(name, 0) + by
            if count:
                self.supported[name] = count
            else:
                self.supported.pop(name, None)

    def supports(self, protocol_type: str, protocols: Sequence[tuple[str, bytes]]) -> bool:
        """Whether a member that speaks these may join: something in common with everybody."""
        if self.state is State.EMPTY:
            return bool(protocol_type) and bool(protocols)
        size = len(self.members)
        return protocol_type == self.protocol_type and any(self.supported.get(name, 0) == size for name, _ in protocols)

    def select_protocol(self) -> str:
        size = len(self.members)
        candidates = {name for name, count in self.supported.items() if count == size}
        votes: dict[str, int] = {}
        for member in self.members.values():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=votes.__getitem__)

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """The topics of all members together; None when this is not a group of consumers or their bytes cannot be
        read."""
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            wanted = subscribed_topics(member.subscription(self.protocol_name))
            if wanted is None:
                return None
            topics.update(wanted)
        return frozenset(topics)

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether the group reads this topic now; a group of consumers that cannot be looked into counts as reading
        it."""
        if self.subscribed_topics is not None:
            return topic in self.subscribed_topics
        return self.uses_consumer_protocol

    # ------------------------------------------------------------ checks

    def check_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member, or the error that tells the client it was replaced or is unknown."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                raise KafkaError(ErrorCode.unknown_member_id)
            if current != member_id:
                raise KafkaError(ErrorCode.fenced_instance_id)
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.unknown_member_id)
        return member

    def check_offset_commit(
        self, member_id: str, instance_id: str | None, generation: int, transactional: bool
    ) -> None:
        """Kafka's rules for who may commit: members of this generation, or anybody (generation -1) while nobody is
        in."""
        if self.state is State.DEAD:
            raise KafkaError(ErrorCode.coordinator_not_available)
        if generation < 0 and self.state is State.EMPTY:
            return
        if generation >= 0 or member_id or instance_id is not None:
            self.check_member(member_id, instance_id)
            if generation != self.generation:
                raise KafkaError(ErrorCode.illegal_generation)
        elif not transactional and self.state is not State.EMPTY:
            raise KafkaError(ErrorCode.unknown_member_id)
        if not transactional and self.state is State.COMPLETING_REBALANCE:
            raise KafkaError(ErrorCode.rebalance_in_progress)

    def check_offset_delete(self) -> None:
        if self.state is State.DEAD:
            raise KafkaError(ErrorCode.group_id_not_found)
        if self.state is not State.EMPTY and not self.uses_consumer_protocol:
            raise KafkaError(ErrorCode.non_empty_group)

    def check_delete(self) -> None:
        if self.state is State.DEAD:
            raise KafkaError(ErrorCode.group_id_not_found)
        if self.state is not State.EMPTY:
            raise KafkaError(ErrorCode.non_empty_group)

    # ------------------------------------------------------------ answers

    def joined(self, member_id: str, *, skip_assignment: bool = False, leader: str | None = None) -> dict[str, Any]:
        """A good JoinGroup answer; only the leader gets the list of members. `leader` overrides who the client is
        told leads."""
        is_leader = member_id == self.leader if leader is None else member_id == leader
        return {
            "error_code": ErrorCode.none,
            "generation_id": self.generation,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol_name,
            "leader": (self.leader if leader is None else leader) or "",
            "skip_assignment": skip_assignment,
            "member_id": member_id,
            "members": self._subscriptions() if is_leader else [],
        }

    def _subscriptions(self) -> list[dict[str, Any]]:
        return [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "metadata": member.subscription(self.protocol_name),
            }
            for member in self.members.values()
        ]

    def synced(self, member: Member) -> dict[str, Any]:
        return {
            "error_code": ErrorCode.none,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol_name,
            "assignment": member.assignment,
        }

    def described(self) -> dict[str, Any]:
        """DescribeGroups: subscriptions and assignments only mean something while the group is stable."""
        stable = self.state is State.STABLE
        return {
            "error_code": ErrorCode.none,
            "error_message": None,
            "group_id": self.group_id,
            "group_state": self.state.value,
            "protocol_type": self.protocol_type or "",
            "protocol_data": (self.protocol_name or "") if stable else "",
            "members": [
                {
                    "member_id": member.member_id,
                    "group_instance_id": member.instance_id,
                    "client_id": member.client_id,
                    "client_host": member.client_host,
                    "member_metadata": member.subscription(self.protocol_name) if stable else b"",
                    "member_assignment": member.assignment if stable else b"",
                }
                for member in self.members.values()
            ],
        }
