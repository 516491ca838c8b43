"""Before any endpoint: a web page of another origin must not reach this server, nor one that came by another name."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import Headers

from caudal.http_hosts import names_us
from caudal.ksql.server.answers import BAD_REQUEST, Refused, error_response

FORBIDDEN_CLOSE = 1008  # a websocket's "policy violation"


class Guard:
    """ASGI middleware. `host` is what the server listens on."""

    def __init__(self, app: Any, host: str, own_names: tuple[str, ...] = ()) -> None:
        self._app = app
        self._host = host
        self._own_names = own_names

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            trouble = self._trouble(Headers(scope=scope))
            if trouble is not None:
                if scope["type"] == "websocket":
                    await send({"type": "websocket.close", "code": FORBIDDEN_CLOSE, "reason": trouble})
                    return
                await error_response(Refused(403, BAD_REQUEST, trouble))(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _trouble(self, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if not names_us(host, self._host, *self._own_names):
            return "The Host header does not name this server."
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            return "Pages of other origins may not ask here."
        return None
