"""Before any endpoint: a web page of another origin must not reach this server, nor one that came by another name."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import Headers

from caudal.connect.runtime.model import RestError
from caudal.connect.server.answers import error_response
from caudal.http_hosts import names_us


class Guard:
    """ASGI middleware. `host` is what the server listens on. Paths go on as they were sent, without a slash at the end:
    a connector's name may have a slash of its own (%2F)."""

    def __init__(self, app: Any, host: str, own_names: tuple[str, ...] = ()) -> None:
        self._app = app
        self._host = host
        self._own_names = own_names

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        trouble = self._trouble(Headers(scope=scope))
        if trouble is not None:
            await error_response(RestError(403, trouble))(scope, receive, send)
            return
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        path = raw.partition(b"?")[0].decode("latin-1")
        await self._app({**scope, "path": path.rstrip("/") or "/"}, receive, send)

    def _trouble(self, headers: Headers) -> str | None:
        if len(headers.getlist("host")) > 1:
            return "There is more than one Host header."
        host = headers.get("host", "")
        if not names_us(host, self._host, *self._own_names):
            return "The Host header does not name this server."
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            return "Pages of other origins may not ask here."
        return None
