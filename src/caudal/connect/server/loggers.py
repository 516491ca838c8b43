"""/admin/loggers: how much the worker says in its log, or all workers say in theirs."""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import Response

from caudal.connect.runtime.log_levels import LEVELS, loggers, set_log_level, shown
from caudal.connect.runtime.model import RestError
from caudal.connect.server.answers import empty_response, json_response, parsed_object, path_text
from caudal.connect.server.asking import Asking


class Loggers:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def all(self, request: Request, body: bytes) -> Response:
        """Those whose level was set, here or by the set-up."""
        known = {name: logger for name, logger in loggers().items() if logger.level != logging.NOTSET}
        return json_response({name: shown(name, logger.level) for name, logger in sorted(known.items())})

    async def one(self, request: Request, body: bytes) -> Response:
        name = path_text(request, "logger")
        logger = loggers().get(name)
        if logger is None:
            raise RestError(404, f"Logger {name} not found.")
        return json_response(shown(name, logger.getEffectiveLevel()))

    async def set_level(self, request: Request, body: bytes) -> Response:
        name = path_text(request, "logger")
        level = parsed_object(body).get("level")
        if level is None:
            raise RestError(400, "Desired 'level' parameter was not specified in request.")
        if not isinstance(level, str) or level.upper() not in LEVELS:
            raise RestError(404, f"invalid log level '{level}'.")
        scope = request.query_params.get("scope", "worker").lower()
        if scope not in ("worker", "cluster"):
            raise RestError(400, f"The parameter scope is worker or cluster, not '{scope}'.")
        if scope == "cluster":
            herder = self._asking.herder
            return await self._asking.ask_or_forward(
                request, body, lambda: herder.set_cluster_log_level(name, level.upper()), lambda _: empty_response(204)
            )
        return json_response(set_log_level(name, level))
