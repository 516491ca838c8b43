"""Answers and the bodies of requests: JSON both ways, errors as Kafka Connect's clients know them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from caudal.connect.runtime.model import RestError

log = logging.getLogger("caudal.connect.server")

JSON = "application/json"
MOST_BODY = 8 * 1024 * 1024
UNEXPECTED = "Something unexpected went wrong; the log of the worker says what."


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(value), status, headers, media_type=JSON)


def empty_response(status: int) -> Response:
    return Response(status_code=status)


def error_response(error: BaseException, headers: Mapping[str, str] | None = None) -> Response:
    """An unexpected error goes to the log, and its words do not leave the server."""
    if isinstance(error, ClientDisconnect):
        return empty_response(499)  # nobody reads it
    if isinstance(error, RestError):
        status, message = error.status, error.message
    else:
        log.error("a request failed", exc_info=error)
        status, message = 500, UNEXPECTED
    # Half a character, from a table's name or a file, has no form in JSON.
    shown = message.encode("utf-8", "replace").decode()
    return json_response({"error_code": status, "message": shown}, status, headers)


async def read_body(request: Request) -> bytes:
    """What is sent must be JSON and be said to be: a page of another origin cannot say so without asking first."""
    too_large = RestError(413, f"The body is larger than {MOST_BODY} bytes.")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > MOST_BODY:
        raise too_large
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BODY:
            raise too_large
        parts.append(part)
    body = b"".join(parts)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and kind != JSON:
        raise RestError(415, f"HTTP 415 Unsupported Media Type: send JSON with Content-Type: {JSON}")
    return body


def parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RestError(400, f"The body is not JSON: {error}.") from None


def parsed_object(body: bytes, *fields: str) -> dict[str, Any]:
    """A JSON object; with `fields`, no other ones."""
    value = parsed(body)
    if not isinstance(value, dict):
        raise RestError(400, "The body must be a JSON object.")
    for name in value:
        if fields and name not in fields:
            raise RestError(400, f"The body has an unknown field '{name}'; it takes {', '.join(fields)}.")
    return value


def config_of(value: Any, nulls: bool = False) -> dict[str, Any]:
    """A configuration: properties whose values are texts, or become texts. `nulls` are those of a patch."""
    if not isinstance(value, dict):
        raise RestError(400, "The configuration must be a JSON object of properties and their values.")
    config = {}
    for name, given in value.items():
        if given is None and not nulls:
            raise RestError(400, f"The property '{name}' has the value null; leave it out, or give it a text.")
        if isinstance(given, dict | list):
            raise RestError(400, f"The property '{name}' must be a text (lists are written with commas).")
        config[name] = given if given is None else as_text(given)
    return config


def as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def path_text(request: Request, name: str) -> str:
    """A part of the path. It is matched as it was sent, so that a name may have a slash (%2F)."""
    try:
        return unquote_to_bytes(request.path_params[name]).decode()
    except UnicodeDecodeError:
        raise RestError(400, "The path must be UTF-8.") from None


def flag(request: Request, name: str, default: bool = False) -> bool:
    text = request.query_params.get(name)
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise RestError(400, f"The parameter {name} is true or false, not '{text}'.")
    return text.lower() == "true"
