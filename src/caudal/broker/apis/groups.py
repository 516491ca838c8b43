"""The classic group protocol on the wire: JoinGroup 0-9, SyncGroup 0-5, Heartbeat 0-4, LeaveGroup 0-5, DescribeGroups
0-6, ListGroups 0-5, DeleteGroups 0-2.

Only translation: versions in, values out. The rules are in `coordinators/group_rebalance.py`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from caudal.broker.coordinators.group_requests import JoinRequest, Leaver, join_error, sync_error
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

_MILLISECOND = timedelta(milliseconds=1)
# Without ACLs everybody may do everything Kafka knows for groups: read, delete, describe, describe and alter configs.
_ALL_GROUP_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
_NO_OPERATIONS = -(2**31)
_CLASSIC = "classic"


@handles(ApiKey.JOIN_GROUP, 0, 9)
async def join_group(request: Any, ctx: RequestContext) -> dict[str, Any]:
    session_ms = request.session_timeout // _MILLISECOND
    # Version 0 has one time-out for both.
    rebalance = getattr(request, "rebalance_timeout", None)
    rebalance_ms = session_ms if rebalance is None or rebalance < timedelta(0) else rebalance // _MILLISECOND
    join = JoinRequest(
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
        client_id=ctx.client_id or "",
        client_host=f"/{ctx.peer_host}",
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        protocol_type=request.protocol_type,
        protocols=tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
        reason=getattr(request, "reason", None),
        requires_known_member_id=ctx.version >= 4,
        supports_skipping_assignment=ctx.version >= 9,
    )
    try:
        answer = await ctx.broker.groups.join(request.group_id, join)
    except KafkaError as error:
        answer = join_error(error.code, request.member_id)
    if ctx.version < 7 and answer["protocol_name"] is None:
        answer["protocol_name"] = ""
    return {"throttle_time": 0, **answer}


@handles(ApiKey.SYNC_GROUP, 0, 5)
async def sync_group(request: Any, ctx: RequestContext) -> dict[str, Any]:
    protocol_type = getattr(request, "protocol_type", None)
    protocol_name = getattr(request, "protocol_name", None)
    if ctx.version >= 5 and (protocol_type is None or protocol_name is None):
        return {"throttle_time": 0, **sync_error(ErrorCode.inconsistent_group_protocol)}
    try:
        answer = await ctx.broker.groups.sync(
            request.group_id,
            request.member_id,
            getattr(request, "group_instance_id", None),
            request.generation_id,
            protocol_type,
            protocol_name,
            [(entry.member_id, bytes(entry.assignment)) for entry in request.assignments],
        )
    except KafkaError as error:
        answer = sync_error(error.code)
    return {"throttle_time": 0, **answer}


@handles(ApiKey.HEARTBEAT, 0, 4)
def heartbeat(request: Any, ctx: RequestContext) -> dict[str, Any]:
    instance_id = getattr(request, "group_instance_id", None)
    try:
        code = ctx.broker.groups.heartbeat(request.group_id, request.member_id, instance_id, request.generation_id)
    except KafkaError as error:
        code = error.code
    return {"throttle_time": 0, "error_code": code}


@handles(ApiKey.LEAVE_GROUP, 0, 5)
def leave_group(request: Any, ctx: RequestContext) -> dict[str, Any]:
    if ctx.version < 3:
        leavers = [Leaver(request.member_id)]
    else:
        leavers = [
            Leaver(member.member_id, member.group_instance_id, getattr(member, "reason", None))
            for member in request.members
        ]
    try:
        results = ctx.broker.groups.leave(request.group_id, leavers)
    except KafkaError as error:
        return {"throttle_time": 0, "error_code": error.code, "members": []}
    if ctx.version < 3:
        return {"throttle_time": 0, "error_code": results[0]}
    members = [
        {"member_id": leaver.member_id, "group_instance_id": leaver.instance_id, "error_code": code}
        for leaver, code in zip(leavers, results, strict=True)
    ]
    return {"throttle_time": 0, "error_code": ErrorCode.none, "members": members}


@handles(ApiKey.DESCRIBE_GROUPS, 0, 6)
def describe_groups(request: Any, ctx: RequestContext) -> dict[str, Any]:
    asked = getattr(request, "include_authorized_operations", False)
    operations = _ALL_GROUP_OPERATIONS if asked else _NO_OPERATIONS
    return {
        "throttle_time": 0,
        "groups": [{**_described(group_id, ctx), "authorized_operations": operations} for group_id in request.groups],
    }


def _described(group_id: str, ctx: RequestContext) -> dict[str, Any]:
    groups = ctx.broker.groups
    blank = {"group_id": group_id, "protocol_type": "", "protocol_data": "", "members": []}
    try:
        groups.check_loaded(group_id)
    except KafkaError as error:
        return {**blank, "error_code": error.code, "error_message": error.message, "group_state": ""}
    group = groups.groups.get(group_id)
    if group is not None:
        return group.described()
    # Old versions could not say that a group does not exist: it is "Dead" there.
    if ctx.version < 6:
        return {**blank, "error_code": ErrorCode.none, "error_message": None, "group_state": "Dead"}
    message = f"Group {group_id} not found."
    return {**blank, "error_code": ErrorCode.group_id_not_found, "error_message": message, "group_state": "Dead"}


@handles(ApiKey.LIST_GROUPS, 0, 5)
def list_groups(request: Any, ctx: RequestContext) -> dict[str, Any]:
    states = {name.lower() for name in getattr(request, "states_filter", ())}
    types = {name.lower() for name in getattr(request, "types_filter", ())}
    try:
        ctx.broker.groups.check_loaded()
    except KafkaError as error:
        return {"throttle_time": 0, "error_code": error.code, "groups": []}
    listed = [
        {
            "group_id": group.group_id,
            "protocol_type": group.protocol_type or "",
            "group_state": group.state.value,
            "group_type": _CLASSIC,
        }
        for group in ctx.broker.groups.groups.values()
        if (not states or group.state.value.lower() in states) and (not types or _CLASSIC in types)
    ]
    return {"throttle_time": 0, "error_code": ErrorCode.none, "groups": listed}


@handles(ApiKey.DELETE_GROUPS, 0, 2)
async def delete_groups(request: Any, ctx: RequestContext) -> dict[str, Any]:
    results = []
    for group_id in request.groups_names:
        try:
            code = await ctx.broker.groups.delete(group_id)
        except KafkaError as error:
            code = error.code
        results.append({"group_id": group_id, "error_code": code})
    return {"throttle_time": 0, "results": results}
