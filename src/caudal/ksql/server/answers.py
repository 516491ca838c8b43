"""Bodies and codes of answers: JSON in ksqlDB's media types, errors as its clients know them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from caudal.ksql.errors import KsqlError

log = logging.getLogger("caudal.ksql.server")

V1 = "application/vnd.ksql.v1+json"
V2 = "application/vnd.ksql.v2+json"
DELIMITED = "application/vnd.ksqlapi.delimited.v1"
PROTOBUF = "application/vnd.ksqlapi.protobuf"
JSON = "application/json"
MOST_BODY = 8 * 1024 * 1024

BAD_REQUEST, BAD_STATEMENT, QUERY_ENDPOINT = 40000, 40001, 40002
NOT_FOUND, SERVER_ERROR, NOT_READY = 40400, 50000, 50300


class Refused(Exception):
    """A request that is answered with an error: a status, a code of ksqlDB's, and one sentence."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def json_response(value: Any, media_type: str = JSON, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type=media_type)


def error_body(error: BaseException, statement: str | None = None) -> dict[str, Any]:
    """What is sent for an error; an unexpected one goes to the log, and its words do not leave the server."""
    if isinstance(error, Refused):
        return {"@type": "generic_error", "error_code": error.code, "message": error.message}
    if isinstance(error, KsqlError):
        text = error.text if error.text is not None else statement
        shown: dict[str, Any] = {"error_code": error.code, "message": error.explained()}
        if text is None:
            return {"@type": "generic_error", **shown}
        # `entities` are those of the statements before this one, which have been executed.
        return {"@type": "statement_error", **shown, "statementText": text, "entities": []}
    log.error("a request failed", exc_info=error)
    message = "Something unexpected went wrong; the log of the server says what."
    return {"@type": "generic_error", "error_code": SERVER_ERROR, "message": message}


def status_of(error: BaseException) -> int:
    if isinstance(error, Refused):
        return error.status
    return 400 if isinstance(error, KsqlError) else 500


def error_response(error: BaseException, statement: str | None = None, media_type: str = JSON) -> Response:
    return json_response(error_body(error, statement), media_type, status_of(error))


async def body_of(request: Request) -> dict[str, Any]:
    """The request's JSON object. The content type is not asked for (ksqlDB's clients send several, curl none); a page
    of another origin is kept out by its Origin header."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BODY:
            raise Refused(413, BAD_REQUEST, f"The body is larger than {MOST_BODY} bytes.")
        parts.append(part)
    return parsed(b"".join(parts))


def parsed(raw: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Refused(400, BAD_REQUEST, f"The body is not JSON: {error}.") from None
    if not isinstance(body, dict):
        raise Refused(400, BAD_REQUEST, "The body must be a JSON object.")
    return body


def text_of(body: dict[str, Any], *names: str) -> str:
    """The first of these fields that is there; it must be text."""
    for name in names:
        if name in body:
            if not isinstance(body[name], str):
                raise Refused(400, BAD_REQUEST, f"'{name}' must be text.")
            return str(body[name])
    raise Refused(400, BAD_REQUEST, f"The body has no '{names[0]}'.")


def settings_of(body: dict[str, Any], *names: str) -> dict[str, Any]:
    """An optional object of the body: properties, session variables."""
    for name in names:
        found = body.get(name)
        if found is not None:
            if not isinstance(found, dict):
                raise Refused(400, BAD_REQUEST, f"'{name}' must be a JSON object.")
            return found
    return {}


def media_type_of(request: Request, *known: str) -> str:
    """The first of the known media types that the client accepts; the first known one where it does not say."""
    accepted = [part.partition(";")[0].strip() for part in request.headers.get("accept", "").split(",")]
    for wanted in accepted:
        if wanted in known:
            return wanted
    if not any(accepted) or "*/*" in accepted or "application/*" in accepted:
        return known[0]
    raise Refused(406, BAD_REQUEST, f"Here is {', '.join(known)}; the Accept header asks for none of them.")


async def as_lines(items: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for item in items:
        yield item + b"\n"


async def as_array(items: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """One JSON array, an item a line, each sent when it is there."""
    before = b"["
    async for item in items:
        yield before + item
        before = b",\n"
    yield b"]\n" if before == b",\n" else b"[]\n"
