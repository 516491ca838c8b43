"""What happens in a classic group, and when: joining, rebalancing, syncing, heartbeats, leaving, time-outs.

Kafka's rules for the classic protocol. Time, storage and settings come in through `Host`, so a test drives this with
a clock of its own; requests that must wait are parked as a `Reply` on the member and answered when the group moves
on.

Deliberately different from Kafka: it cannot see a client that disconnects while its JoinGroup waits; here the server
can, so such a member is taken out soon instead of being counted as joined and blocking the group for a whole session
time-out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from caudal.broker.coordinators.group import Group, Member, Reply, State, Timer
from caudal.broker.coordinators.group_host import Host
from caudal.broker.coordinators.group_requests import JoinRequest, Leaver, join_error, sync_error
from caudal.broker.errors import ErrorCode, KafkaError

__all__ = ["Rebalances"]

log = logging.getLogger("caudal.broker.groups")

# A member that has never completed a join cannot heartbeat; Kafka gives it this long to stay parked before it must
# retry.
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
# How long a known member may take to reconnect after its connection broke while its JoinGroup was parked.
RECONNECT_GRACE_MS = 3000


class Rebalances:
    """The state machine; it keeps nothing itself, everything is in the groups."""

    def __init__(self, host: Host) -> None:
        self.host = host

    # ------------------------------------------------------------ JoinGroup

    def join(self, group: Group, request: JoinRequest, reply: Reply) -> None:
        """Answers now or parks the request; the group exists (the caller creates it for a client without member id)."""
        if not self._has_room(group, request.member_id):
            group.remove(request.member_id)
            reply(join_error(ErrorCode.group_max_size_reached))
            self._complete_if_all_joined(group)
        elif group.state is State.DEAD:
            reply(join_error(ErrorCode.coordinator_not_available, request.member_id))
        elif not group.supports(request.protocol_type, request.protocols):
            reply(join_error(ErrorCode.inconsistent_group_protocol, request.member_id))
        elif request.member_id:
            self._join_known(group, request, reply)
        else:
            self._join_unknown(group, request, reply)

    def _has_room(self, group: Group, member_id: str) -> bool:
        limit = self.host.max_group_size
        member = group.members.get(member_id)
        if group.state is State.PREPARING_REBALANCE:
            # Those who wait count, not those who are listed: if the limit was lowered, the last to rejoin are turned
            # away.
            return (member is not None and member.awaiting_join is not None) or group.awaiting_joins < limit
        if group.state in (State.COMPLETING_REBALANCE, State.STABLE):
            return member is not None or len(group.members) < limit
        return True

    def _join_unknown(self, group: Group, request: JoinRequest, reply: Reply) -> None:
        member_id = group.new_member_id(request.client_id, request.instance_id)
        if request.instance_id is not None:
            old_id = group.static_members.get(request.instance_id)
            if old_id is None:
                self._add(group, request, member_id, reply)
            else:
                self._replace_static(group, request, old_id, member_id, reply)
        elif request.requires_known_member_id:
            # The client comes back with this id. A client that died in between would otherwise leave a ghost in the
            # group.
            group.pending_joins[member_id] = self.host.call_later(
                request.session_timeout_ms / 1000, self._expire_pending, group, member_id
            )
            reply(join_error(ErrorCode.member_id_required, member_id))
        else:
            self._add(group, request, member_id, reply)

    def _join_known(self, group: Group, request: JoinRequest, reply: Reply) -> None:
        member_id = request.member_id
        if member_id in group.pending_joins:
            if request.instance_id is not None:  # only dynamic members are ever pending
                reply(join_error(ErrorCode.unknown_member_id, member_id))
            else:
                self._add(group, request, member_id, reply)
            return
        try:
            member = group.check_member(member_id, request.instance_id)
        except KafkaError as error:
            reply(join_error(error.code, member_id))
            return
        if group.state is State.PREPARING_REBALANCE:
            self._update(group, member, request, reply, "rejoins")
        elif group.state is State.COMPLETING_REBALANCE:
            if member.protocols == request.protocols:
                # It may not have received the answer to its first JoinGroup.
                reply(group.joined(member_id))
            else:
                self._update(group, member, request, reply, "changed its subscription")
        elif group.state is State.STABLE:
            if member_id == group.leader:
                # A leader rejoins when something it watches has changed, such as the partitions of a topic.
                self._update(group, member, request, reply, "is the leader and rejoins")
            elif member.protocols != request.protocols:
                self._update(group, member, request, reply, "changed its subscription")
            else:
                self.touch(group, member)
                reply(group.joined(member_id))
        else:
            reply(join_error(ErrorCode.unknown_member_id, member_id))

    def _add(self, group: Group, request: JoinRequest, member_id: str, reply: Reply) -> None:
        member = Member(
            member_id,
            request.instance_id,
            request.client_id,
            request.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocols,
        )
        member.is_new = True
        member.awaiting_join = reply
        if group.state is State.PREPARING_REBALANCE and group.previous_state is State.EMPTY:
            group.new_member_added = True
        group.add(member, request.protocol_type)
        self._expect(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalance_or_complete(group, f"member {member_id} joins{_because(request.reason)}")

    def _update(self, group: Group, member: Member, request: JoinRequest, reply: Reply, why: str) -> None:
        # The same member on another connection: the older request would wait for ever.
        group.answer_join(member, join_error(ErrorCode.rebalance_in_progress, member.member_id))
        group.update(member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms, reply)
        self._rebalance_or_complete(group, f"member {member.member_id} {why}{_because(request.reason)}")

    def _replace_static(self, group: Group, request: JoinRequest, old_id: str, new_id: str, reply: Reply) -> None:
        """A static member came back without its member id (it restarted): it takes its old place, if it can without
        rebalance."""
        instance_id = request.instance_id or ""
        old_leader = group.leader
        old = group.members[old_id]
        # Whoever still speaks under the old member id is an instance that was replaced.
        group.answer_join(old, join_error(ErrorCode.fenced_instance_id, old_id))
        group.answer_sync(old, sync_error(ErrorCode.fenced_instance_id))
        before = (old.protocols, old.rebalance_timeout_ms, old.session_timeout_ms)
        member = group.replace_static(instance_id, old_id, new_id)
        group.update(member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms, reply)
        self.touch(group, member)
        log.info("static member %s of group %s is now %s, before %s", instance_id, group.group_id, new_id, old_id)
        if group.state is State.STABLE:
            if group.select_protocol() != group.protocol_name:
                self._rebalance_or_complete(group, f"static member {instance_id} changes the group's protocol")
                return

            def stored(code: ErrorCode) -> None:
                if code is not ErrorCode.none:
                    group.answer_join(
                        member, {**group.joined(new_id, leader=old_leader), "error_code": code, "member_id": ""}
                    )
                    if group.static_members.get(instance_id) == new_id:
                        group.update(member, *before, None)
                        group.replace_static(instance_id, new_id, old_id)
                elif group.state is not State.STABLE:
                    # Somebody else started a rebalance meanwhile: this member simply waits for it, as joined.
                    return
                elif request.supports_skipping_assignment:
                    is_leader = group.leader == new_id
                    group.answer_join(member, group.joined(new_id, skip_assignment=is_leader))
                else:
                    # Old clients cannot be told to skip the assignment, so they are told that another one leads.
                    group.answer_join(member, group.joined(new_id, leader=old_leader))

            self.host.store(group, group.to_value(), stored)
        elif group.state is State.COMPLETING_REBALANCE:
            # The leader may already compute an assignment for the old member id.
            self._prepare(group, f"static member {instance_id} comes back during a rebalance")
        else:
            self._complete_if_all_joined(group)

    def join_abandoned(self, group: Group, reply: Reply) -> None:
        """The client of a parked JoinGroup is gone."""
        for member in group.members.values():
            if member.awaiting_join is reply:
                break
        else:
            return
        group.update(member, member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms, None)
        if member.is_new and member.instance_id is None:
            self._remove_and_go_on(group, member, "its client disconnected before it had joined")
        else:
            self._expect(group, member, min(RECONNECT_GRACE_MS, member.session_timeout_ms))

    # ------------------------------------------------------------ the join phase

    def _rebalance_or_complete(self, group: Group, reason: str) -> None:
        if group.can_rebalance:
            self._prepare(group, reason)
        else:
            self._complete_if_all_joined(group)

    def _prepare(self, group: Group, reason: str) -> None:
        if group.state is State.COMPLETING_REBALANCE:
            self._reset_assignments(group, ErrorCode.rebalance_in_progress)
        group.pending_syncs.clear()
        _cancel(group.sync_timer)
        group.sync_timer = None
        initial = group.state is State.EMPTY
        log.info(
            "group %s prepares a rebalance after generation %d (%s): %s",
            group.group_id,
            group.generation,
            group.state,
            reason,
        )
        group.transition(State.PREPARING_REBALANCE, self.host.now_ms())
        if initial:
            # A new group: wait a little for others that start at the same time, rather than rebalance for each of them.
            delay = self.host.initial_rebalance_delay_ms
            self._wait_for_joins(
                group, delay, self._initial_delay_over, delay, max(group.rebalance_timeout_ms - delay, 0)
            )
        elif group.all_joined:
            self._complete_join(group)
        else:
            self._wait_for_joins(group, group.rebalance_timeout_ms, self._complete_join)

    def _wait_for_joins(self, group: Group, delay_ms: int, then: Callable[..., None], *args: int) -> None:
        _cancel(group.join_timer)
        group.join_timer = self.host.call_later(delay_ms / 1000, then, group, *args)

    def _initial_delay_over(self, group: Group, delay_ms: int, remaining_ms: int) -> None:
        if group.state is not State.PREPARING_REBALANCE:
            return
        if group.new_member_added and remaining_ms > 0:
            group.new_member_added = False
            delay = min(self.host.initial_rebalance_delay_ms, remaining_ms)
            self._wait_for_joins(group, delay, self._initial_delay_over, delay, max(remaining_ms - delay_ms, 0))
        else:
            self._complete_join(group)

    def _complete_if_all_joined(self, group: Group) -> None:
        # The initial rebalance is ended by its delay only.
        if group.state is State.PREPARING_REBALANCE and group.previous_state is not State.EMPTY and group.all_joined:
            self._complete_join(group)

    def _complete_join(self, group: Group) -> None:
        """Goes on with those who have joined; dynamic members who have not are out, static ones stay until their
        session ends."""
        _cancel(group.join_timer)
        group.join_timer = None
        if group.state is not State.PREPARING_REBALANCE:
            return
        late = [m.member_id for m in group.members.values() if m.awaiting_join is None and m.instance_id is None]
        for member_id in late:
            group.remove(member_id)
        if late:
            log.info(
                "group %s goes on without members that did not rejoin in time: %s", group.group_id, ", ".join(late)
            )
        if group.members and not group.elect_joined_leader():
            # Only static members that have not come back are left; their sessions will end.
            self._wait_for_joins(group, group.rebalance_timeout_ms, self._complete_join)
            return
        group.new_member_added = False
        group.next_generation(self.host.now_ms())
        if not group.members:
            log.info("group %s is empty, generation %d", group.group_id, group.generation)
            self.host.store(group, group.to_value(), _ignore)
            return
        log.info("group %s has generation %d, members: %d", group.group_id, group.generation, len(group.members))
        group.pending_syncs = dict.fromkeys(group.members)
        _cancel(group.sync_timer)
        group.sync_timer = self.host.call_later(
            group.rebalance_timeout_ms / 1000, self._expire_pending_syncs, group, group.generation
        )
        for member in list(group.members.values()):
            member.is_new = False
            self.touch(group, member)
            group.answer_join(member, group.joined(member.member_id))

    # ------------------------------------------------------------ SyncGroup

    def sync(
        self,
        group: Group,
        member_id: str,
        instance_id: str | None,
        generation: int,
        protocol_type: str | None,
        protocol_name: str | None,
        assignments: Sequence[tuple[str, bytes]],
        reply: Reply,
    ) -> None:
        if group.state is State.DEAD:
            reply(sync_error(ErrorCode.coordinator_not_available))
            return
        try:
            member = group.check_member(member_id, instance_id)
        except KafkaError as error:
            reply(sync_error(error.code))
            return
        if generation != group.generation:
            reply(sync_error(ErrorCode.illegal_generation))
        elif _differs(protocol_type, group.protocol_type) or _differs(protocol_name, group.protocol_name):
            reply(sync_error(ErrorCode.inconsistent_group_protocol))
        elif group.state is State.PREPARING_REBALANCE:
            reply(sync_error(ErrorCode.rebalance_in_progress))
        elif group.state is State.STABLE:
            self._synced(group, member_id)
            self.touch(group, member)
            reply(group.synced(member))
        elif group.state is State.COMPLETING_REBALANCE:
            group.answer_sync(member, sync_error(ErrorCode.rebalance_in_progress))
            member.awaiting_sync = reply
            self._synced(group, member_id)
            if member_id == group.leader:
                self._take_assignments(group, dict(assignments))
        else:
            reply(sync_error(ErrorCode.unknown_member_id))

    def _synced(self, group: Group, member_id: str) -> None:
        group.pending_syncs.pop(member_id, None)
        if not group.pending_syncs:
            _cancel(group.sync_timer)
            group.sync_timer = None

    def _take_assignments(self, group: Group, assignments: dict[str, bytes]) -> None:
        generation = group.generation

        def stored(code: ErrorCode) -> None:
            # Another member may have joined while the record was on its way.
            if group.state is not State.COMPLETING_REBALANCE or group.generation != generation:
                return
            if code is not ErrorCode.none:
                self._reset_assignments(group, code)
                self._rebalance_or_complete(group, f"its assignment could not be stored: {code.name}")
                return
            group.transition(State.STABLE, self.host.now_ms())
            for member in list(group.members.values()):
                member.assignment = assignments.get(member.member_id, b"")
                if member.awaiting_sync is not None:
                    self.touch(group, member)
                    group.answer_sync(member, group.synced(member))

        self.host.store(group, group.to_value(assignments), stored)

    def _reset_assignments(self, group: Group, code: ErrorCode) -> None:
        for member in list(group.members.values()):
            member.assignment = b""
            if member.awaiting_sync is not None:
                self.touch(group, member)
                group.answer_sync(member, sync_error(code))

    def sync_abandoned(self, group: Group, reply: Reply) -> None:
        """The client of a parked SyncGroup is gone: it stays a member, and its session runs again."""
        for member in group.members.values():
            if member.awaiting_sync is reply:
                member.awaiting_sync = None
                self.touch(group, member)
                return

    def _expire_pending_syncs(self, group: Group, generation: int) -> None:
        group.sync_timer = None
        if generation != group.generation or group.state not in (State.COMPLETING_REBALANCE, State.STABLE):
            return
        late = list(group.pending_syncs)
        for member_id in late:
            group.remove(member_id)
        if late:
            self._prepare(group, f"no SyncGroup in time from {', '.join(late)}")

    # ------------------------------------------------------------ heartbeats and sessions

    def heartbeat(self, group: Group, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        if group.state is State.DEAD:
            return ErrorCode.coordinator_not_available
        try:
            member = group.check_member(member_id, instance_id)
        except KafkaError as error:
            return error.code
        if generation != group.generation:
            return ErrorCode.illegal_generation
        if group.state is State.EMPTY:
            return ErrorCode.unknown_member_id
        self.touch(group, member)
        return ErrorCode.rebalance_in_progress if group.state is State.PREPARING_REBALANCE else ErrorCode.none

    def touch(self, group: Group, member: Member) -> None:
        """The member has shown that it lives."""
        self._expect(group, member, member.session_timeout_ms)

    def _expect(self, group: Group, member: Member, within_ms: int) -> None:
        member.deadline = deadline = self.host.time() + within_ms / 1000
        # The usual heartbeat ends here: the timer already set fires earlier, sees the new deadline and goes on.
        if member.timer is None or member.timer_at > deadline:
            _cancel(member.timer)
            member.timer_at = deadline
            member.timer = self.host.call_later(within_ms / 1000, self._session_over, group, member)

    def _session_over(self, group: Group, member: Member) -> None:
        member.timer = None
        if group.members.get(member.member_id) is not member or group.state is State.DEAD:
            return
        left = member.deadline - self.host.time()
        if left > 0.001:
            member.timer_at = member.deadline
            member.timer = self.host.call_later(left, self._session_over, group, member)
        elif member.is_new or (member.awaiting_join is None and member.awaiting_sync is None):
            self._remove_and_go_on(group, member, "its session timed out")
        # A known member that waits for an answer of ours is alive; its session starts again with that answer.

    def _expire_pending(self, group: Group, member_id: str) -> None:
        if member_id in group.pending_joins:
            group.forget_pending(member_id)
            log.info("group %s: %s asked for a member id and did not come back", group.group_id, member_id)
            self._complete_if_all_joined(group)

    def _remove_and_go_on(self, group: Group, member: Member, reason: str) -> None:
        self._drop(group, member)
        reason = f"member {member.member_id} is out: {reason}"
        if group.state in (State.STABLE, State.COMPLETING_REBALANCE):
            self._prepare(group, reason)
            return
        log.info("group %s: %s", group.group_id, reason)
        if group.state is State.PREPARING_REBALANCE and not group.members and not group.pending_joins:
            self._complete_join(group)
        else:
            self._complete_if_all_joined(group)

    def _drop(self, group: Group, member: Member) -> None:
        # UNKNOWN_MEMBER_ID makes a client that is still there join again as a new member.
        group.answer_join(member, join_error(ErrorCode.unknown_member_id))
        group.answer_sync(member, sync_error(ErrorCode.unknown_member_id))
        group.remove(member.member_id)

    # ------------------------------------------------------------ LeaveGroup

    def leave(self, group: Group, leavers: Sequence[Leaver]) -> list[ErrorCode]:
        """Takes these members out, each with its own result, then rebalances once."""
        results = [self._leave_one(group, leaver) for leaver in leavers]
        if ErrorCode.none in results:
            names = ", ".join(leaver.member_id or leaver.instance_id or "" for leaver in leavers)
            if group.state in (State.STABLE, State.COMPLETING_REBALANCE):
                self._prepare(group, f"{names} left{_because(leavers[0].reason)}")
            else:
                self._complete_if_all_joined(group)
        return results

    def _leave_one(self, group: Group, leaver: Leaver) -> ErrorCode:
        if group.state is State.DEAD:
            return ErrorCode.coordinator_not_available
        member_id = leaver.member_id
        if not member_id:
            # An administrator removes a static member by the only name known outside.
            member_id = group.static_members.get(leaver.instance_id, "") if leaver.instance_id is not None else ""
        elif member_id in group.pending_joins:
            group.forget_pending(member_id)
            return ErrorCode.none
        try:
            self._drop(group, group.check_member(member_id, leaver.instance_id))
        except KafkaError as error:
            return error.code
        return ErrorCode.none

    # ------------------------------------------------------------ beginning and end

    def loaded(self, group: Group) -> None:
        """After a restart: members are given a whole session to show themselves."""
        for member in group.members.values():
            self.touch(group, member)
        if len(group.members) > self.host.max_group_size:
            self._prepare(group, "it has more members than group.max.size allows")

    def end(self, group: Group) -> None:
        """The group is deleted, or the broker stops: nothing of it may fire or wait any more."""
        _cancel(group.join_timer)
        _cancel(group.sync_timer)
        group.join_timer = group.sync_timer = None
        for member_id in list(group.pending_joins):
            group.forget_pending(member_id)
        for member in list(group.members.values()):
            group.answer_join(member, join_error(ErrorCode.coordinator_not_available, member.member_id))
            group.answer_sync(member, sync_error(ErrorCode.coordinator_not_available))
            _cancel(member.timer)
            member.timer = None
        group.transition(State.DEAD, self.host.now_ms())


def _cancel(timer: Timer | None) -> None:
    if timer is not None:
        timer.cancel()


def _ignore(_code: ErrorCode) -> None:
    # If the record of an empty generation is lost, the one before is loaded and its members time out: nothing is wrong
    # then.
    return


def _differs(asked: str | None, current: str | None) -> bool:
    return asked is not None and current is not None and asked != current


def _because(reason: str | None) -> str:
    return f" ({reason})" if reason else ""
