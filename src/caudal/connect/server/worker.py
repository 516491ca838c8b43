"""The worker itself: /, /health and /metrics."""

from __future__ import annotations

from collections import Counter
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from caudal.connect.runtime.model import RestError
from caudal.connect.server.answers import json_response
from caudal.connect.server.asking import Asking
from caudal.connect.server.metrics import CONTENT_TYPE, metrics_text

HEALTHY = "Worker has completed startup and is ready to handle requests."
STARTING = "Worker is still starting up."
UNHEALTHY = "Worker was unable to handle this request and may be unable to handle other requests."


class Worker:
    def __init__(self, asking: Asking, answered: Counter[tuple[str, int]]) -> None:
        self._asking = asking
        self._herder = asking.herder
        self._answered = answered

    async def root(self, request: Request, body: bytes) -> Response:
        return json_response(await self._asking.ask(self._herder.root))

    async def health(self, request: Request, body: bytes) -> Response:
        """200 when it can do its work, 503 while it starts, 500 when it cannot."""
        if not self._asking.started.is_set():
            return json_response({"status": "starting", "message": STARTING}, 503)
        healthy, message = await self._asking.health()
        if healthy:
            return json_response({"status": "healthy", "message": HEALTHY})
        return json_response({"status": "unhealthy", "message": f"{UNHEALTHY} {message}".strip()}, 500)

    async def metrics(self, request: Request, body: bytes) -> Response:
        text = await self._asking.ask(lambda: metrics_text(self._statuses(), self._herder.metrics(), self._answered))
        return Response(text, media_type=CONTENT_TYPE)

    def _statuses(self) -> list[dict[str, Any]]:
        statuses = []
        for name in self._herder.connectors():
            try:
                info = self._herder.info(name)
                statuses.append({**self._herder.status(name), "class": info["config"].get("connector.class", "")})
            except RestError:  # deleted in this moment
                continue
        return statuses
