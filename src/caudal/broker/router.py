"""From a request's API key to the function that answers it.

Handlers register themselves with the versions they serve, and that table is what ApiVersions tells clients: adding an
API is one decorated function in one file of `apis/`, and nothing else.

Two kinds of handler. Most take kio's entity and return a dict (or are coroutines that do). `raw` ones (Produce, Fetch)
take the receive buffer itself and return buffers, so that record batches are never copied into Python objects.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from caudal.broker.broker import Broker
    from caudal.broker.server import Connection

log = logging.getLogger("caudal.broker.router")

# Bytes are a body that is encoded already (Metadata, whose parts are kept).
Response = Mapping[str, Any] | bytes
Handler = Callable[[Any, "RequestContext"], Response | Awaitable[Response]]


class RequestContext:
    """What a handler may know about a request besides its body."""

    __slots__ = ("api_key", "broker", "client_id", "connection", "correlation_id", "started", "version")

    def __init__(
        self,
        broker: Broker,
        connection: Connection,
        api_key: int,
        version: int,
        correlation_id: int,
        client_id: str | None,
        started: float,
    ) -> None:
        self.broker = broker
        self.connection = connection
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.started = started

    @property
    def peer_host(self) -> str:
        return self.connection.peer_host

    @property
    def principal(self) -> str:
        return self.connection.principal


class Api(NamedTuple):
    key: ApiKey
    first: int
    last: int
    handler: Callable[..., Any]
    raw: bool
    is_async: bool


APIS: dict[int, Api] = {}


def handles(key: ApiKey, first: int, last: int, *, raw: bool = False) -> Callable[[Any], Any]:
    """Registers the decorated function for versions `first` to `last` of an API."""

    def register(handler: Any) -> Any:
        if key in APIS:
            raise ValueError(f"{key.name} has two handlers")
        APIS[key] = Api(key, first, last, handler, raw, inspect.iscoroutinefunction(handler))
        return handler

    return register


def served_versions() -> list[dict[str, int]]:
    """Every served API with its range, as ApiVersions lists them."""
    return [{"api_key": api.key, "min_version": api.first, "max_version": api.last} for api in APIS.values()]


def encode(api_key: int, version: int, response: Response) -> bytes:
    if isinstance(response, bytes):
        return response
    return messages.encode_response(api_key, version, response)


def error_response(api_key: int, version: int, error: KafkaError) -> bytes | None:
    """A response that carries only the error; None where the API has no place for one at its top."""
    if not messages.response_has(api_key, version, "error_code"):
        return None
    said = {"error_code": error.code, "error_message": error.message, "producer_id": -1, "generation_id": -1}
    return messages.encode_response(api_key, version, {**messages.blank_response(api_key, version), **said})


def unexpected(api_key: int, error: BaseException) -> KafkaError:
    """Turns a bug into UNKNOWN_SERVER_ERROR for the client and a stack trace for the log."""
    log.error("%s failed", ApiKey(api_key).name, exc_info=error)
    return KafkaError(ErrorCode.unknown_server_error, "the broker failed on this request: its log says why")
