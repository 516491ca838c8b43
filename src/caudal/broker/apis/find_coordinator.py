"""FindCoordinator 0–6: which broker coordinates a group or a transactional id. Here, this one.

The coordinator's topic is created on the way. While it loads, the coordinators themselves say so to whoever comes; the
answer here does not depend on it. Share groups have no coordinator yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from caudal.broker.controller.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.router import RequestContext, handles
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.broker import Broker

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
_TOPICS: Final = {GROUP: CONSUMER_OFFSETS, TRANSACTION: TRANSACTION_STATE}
_FIRST_BATCHED: Final = 4


@handles(ApiKey.FIND_COORDINATOR, 0, 6)
async def find_coordinator(request: Any, ctx: RequestContext) -> dict[str, Any]:
    answer = await _coordinator(ctx.broker, getattr(request, "key_type", GROUP))
    if ctx.version < _FIRST_BATCHED:
        return answer
    return {"coordinators": [{"key": key, **answer} for key in request.coordinator_keys]}


async def _coordinator(broker: Broker, key_type: int) -> dict[str, Any]:
    nobody = {"node_id": -1, "host": "", "port": -1}
    topic = _TOPICS.get(key_type)
    if topic is None:
        kind = "Share groups are" if key_type == SHARE else f"Key type {key_type} is"
        return {**nobody, "error_code": ErrorCode.invalid_request, "error_message": f"{kind} not supported here."}
    try:
        await broker.ensure_internal_topic(topic)
    except KafkaError as error:
        return {**nobody, "error_code": ErrorCode.coordinator_not_available, "error_message": error.message}
    return {
        "node_id": broker.node_id,
        "host": broker.host,
        "port": broker.port,
        "error_code": ErrorCode.none,
        "error_message": None,
    }
