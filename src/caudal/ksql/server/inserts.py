"""POST /inserts-stream: rows as JSON lines in, an acknowledgement each out, while both go on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from caudal.ksql.server.answers import (
    BAD_REQUEST,
    DELIMITED,
    JSON,
    MOST_BODY,
    Refused,
    as_array,
    as_lines,
    error_body,
    media_type_of,
    parsed,
    text_of,
)
from caudal.ksql.server.asking import Asking


class Inserts:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def insert(self, request: Request) -> Response:
        media_type = media_type_of(request, DELIMITED, JSON)
        lines = _lines(request)
        first = await anext(lines, None)
        if first is None:
            raise Refused(400, BAD_REQUEST, "The first line must be a JSON object with the 'target'.")
        arguments = parsed(first)
        target = _name(text_of(arguments, "target"))
        self._asking.engine.catalog.source(target)
        acknowledged = self._acknowledged(target, lines)
        return _BothWays(as_array(acknowledged) if media_type == JSON else as_lines(acknowledged), media_type)

    async def _acknowledged(self, target: str, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Rows are written in their order; the first that cannot be ends the stream."""
        number = 0
        async for line in lines:
            try:
                await self._asking.blocking(self._asking.engine.insert_row, target, parsed(line))
            except Exception as error:
                yield orjson.dumps({**error_body(error), "status": "error", "seq": number})
                return
            yield orjson.dumps({"status": "ok", "seq": number})
            number += 1


class _BothWays(Response):
    """An answer that is sent while the request is still being read: Starlette's own would read its parts away,
    looking for a client that has gone."""

    def __init__(self, parts: AsyncIterator[bytes], media_type: str) -> None:
        super().__init__(media_type=media_type)
        self._parts = parts
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for part in self._parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        except ClientDisconnect:
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _name(target: str) -> str:
    """A stream's name as SQL would have it: upper case unless it is quoted."""
    return target[1:-1].replace("``", "`") if target.startswith("`") and target.endswith("`") else target.upper()


async def _lines(request: Request) -> AsyncIterator[bytes]:
    """The lines of a body that arrives in parts; empty ones are left out."""
    rest = b""
    async for part in request.stream():
        rest += part
        *complete, rest = rest.split(b"\n")
        for line in complete:
            if line.strip():
                yield line
        if len(rest) > MOST_BODY:
            raise Refused(413, BAD_REQUEST, f"A line is longer than {MOST_BODY} bytes.")
    if rest.strip():
        yield rest
