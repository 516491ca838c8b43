"""Faults on purpose, for tests: requests held back, dropped connections, error codes for the next N requests of an API.

Off by default and free then: a connection looks at one attribute. An injected error is answered by the shape of the
API's own response: at its top where it has a code there, else on every topic and partition that the request names.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from caudal.broker.errors import ErrorCode
from caudal.broker.router import Api, RequestContext
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey


class Fault(NamedTuple):
    kind: str
    seconds: float = 0.0
    code: ErrorCode = ErrorCode.none


class Faults:
    """The queue of faults that wait for their request."""

    def __init__(self) -> None:
        self.active = False
        self._waiting: defaultdict[int, deque[Fault]] = defaultdict(deque)
        self._held: list[Callable[[], None]] = []

    def delay(self, api: ApiKey, seconds: float, times: int = 1) -> None:
        """The next `times` requests are handled only after `seconds`."""
        self._add(api, Fault("delay", seconds=seconds), times)

    def hold(self, api: ApiKey, times: int = 1) -> None:
        """The next `times` requests are handled only after `release`."""
        self._add(api, Fault("hold"), times)

    @property
    def held(self) -> int:
        """How many requests have arrived and are held."""
        return len(self._held)

    def release(self) -> None:
        held, self._held = self._held, []
        for resume in held:
            resume()

    def drop(self, api: ApiKey, times: int = 1) -> None:
        """The next `times` requests are not handled and their connection is closed."""
        self._add(api, Fault("drop"), times)

    def lose_response(self, api: ApiKey, times: int = 1) -> None:
        """The next `times` requests are handled, then the connection is closed instead of answering."""
        self._add(api, Fault("lose"), times)

    def error(self, api: ApiKey, code: ErrorCode, times: int = 1) -> None:
        """The next `times` requests are answered with `code` and not handled."""
        self._add(api, Fault("error", code=code), times)

    def clear(self) -> None:
        self._waiting.clear()
        self.active = False

    def _add(self, api: ApiKey, fault: Fault, times: int) -> None:
        self._waiting[api].extend([fault] * times)
        self.active = True

    def apply(self, api: Api, context: RequestContext, frame: bytearray, body: int) -> bool:
        """Takes the request over when a fault waits for its API."""
        queue = self._waiting.get(api.key)
        if not queue:
            return False
        fault = queue.popleft()
        self.active = any(self._waiting.values())
        connection = context.connection
        if fault.kind == "drop":
            connection.transport.abort()
            connection.closing = True
        elif fault.kind == "lose":
            connection.run(api, context, frame, body, len(frame), len(frame))
            connection.transport.abort()
            connection.closing = True
        elif fault.kind == "error":
            connection.respond(context, (error_answer(context, bytes(frame), body, fault.code),), 0, fault.code)
        else:
            connection.busy = True
            resume = self._resume(api, context, frame, body)
            if fault.kind == "hold":
                self._held.append(resume)
            else:
                asyncio.get_running_loop().call_later(fault.seconds, resume)
        return True

    @staticmethod
    def _resume(api: Api, context: RequestContext, frame: bytearray, body: int) -> Callable[[], None]:
        def resume() -> None:
            connection = context.connection
            connection.busy = False
            # Handled even when the client has gone: a request that arrived is a request that may take effect.
            connection.run(api, context, frame, body, len(frame), len(frame))
            if not connection.busy:
                connection.resume()

        return resume


def error_answer(context: RequestContext, frame: bytes, body: int, code: ErrorCode) -> bytes:
    """A response to the request in `frame` that says `code` wherever the API can say it."""
    key, version = context.api_key, context.version
    request = messages.decode_request(key, version, frame[body:])
    values = messages.blank_response(key, version)
    top_only = "error_code" in values and key not in _ERRORS_PER_PARTITION
    values["error_code"] = code if top_only else ErrorCode.none
    if not top_only:
        _answer_each(values, request, (key, version), (), code)
    return messages.encode_response(key, version, values)


# APIs whose top-level code is about the session or the whole, so that an injected error belongs below it.
_ERRORS_PER_PARTITION = {ApiKey.FETCH, ApiKey.OFFSET_FETCH, ApiKey.ADD_PARTITIONS_TO_TXN}
# Where a response calls the same thing by another name than its request.
_ANSWERED_BY = {
    "topic_data": ("responses",),
    "partition_data": ("partition_responses",),
    "topics": ("responses",),
    "v3_and_below_topics": ("results_by_topic_v3_and_below",),
    "partitions": ("results_by_partition",),
    "topic_names": ("responses",),
    "index": ("partition_index",),
    "partition": ("partition_index",),
}


def _answer_each(
    values: dict[str, Any], request: Any, message: tuple[int, int], path: tuple[str, ...], code: ErrorCode
) -> None:
    """Fills the response level at `path` with one error entry for each entry of the request's level."""
    for field in fields(request):
        asked = getattr(request, field.name)
        for name in (field.name, *_ANSWERED_BY.get(field.name, ())):
            if name not in values:
                continue
            entity = messages.nested_entity(*message, *path, name)
            if entity is None:
                values[name] = asked
            else:
                values[name] = [_answer_one(item, entity, message, (*path, name), code) for item in asked or ()]


def _answer_one(
    asked: Any, entity: Any, message: tuple[int, int], path: tuple[str, ...], code: ErrorCode
) -> dict[str, Any]:
    values = messages.blank(entity)
    for name in ("error_code", "partition_error_code"):
        if name in values:
            values[name] = code
    if is_dataclass(asked):
        _answer_each(values, asked, message, path, code)
    else:  # a bare partition number or topic name
        values[next(iter(name for name in values if name in ("partition_index", "name", "topic_name")))] = asked
    return values
