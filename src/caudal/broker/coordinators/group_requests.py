"""JoinGroup, SyncGroup and LeaveGroup without their wire versions: what the state machine is asked and how it says
no.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from caudal.broker.coordinators.group import Protocols
from caudal.broker.errors import ErrorCode

__all__ = ["JoinRequest", "Leaver", "join_error", "sync_error"]


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A JoinGroup request without its version: what differs between versions is said by the two flags."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    reason: str | None = None
    requires_known_member_id: bool = True
    supports_skipping_assignment: bool = True


@dataclass(frozen=True, slots=True)
class Leaver:
    """One entry of a LeaveGroup request."""

    member_id: str
    instance_id: str | None = None
    reason: str | None = None


def join_error(code: ErrorCode, member_id: str = "") -> dict[str, Any]:
    return {
        "error_code": code,
        "generation_id": -1,
        "protocol_type": None,
        "protocol_name": None,
        "leader": "",
        "skip_assignment": False,
        "member_id": member_id,
        "members": [],
    }


def sync_error(code: ErrorCode) -> dict[str, Any]:
    return {"error_code": code, "protocol_type": None, "protocol_name": None, "assignment": b""}
