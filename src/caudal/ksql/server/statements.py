"""POST /ksql: statements in, entities out; and GET /status about what they became."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from caudal.ksql.server.answers import (
    JSON,
    NOT_FOUND,
    V1,
    V2,
    Refused,
    body_of,
    json_response,
    media_type_of,
    settings_of,
    text_of,
)
from caudal.ksql.server.asking import Asking


class Statements:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def execute(self, request: Request) -> Response:
        media_type = media_type_of(request, JSON, V1, V2)
        body = await body_of(request)
        text = text_of(body, "ksql", "sql")
        entities = await self._asking.blocking(
            self._asking.engine.execute,
            text,
            settings_of(body, "streamsProperties", "properties"),
            settings_of(body, "sessionVariables"),
        )
        return json_response(entities, media_type)

    async def status(self, request: Request) -> Response:
        """Of one command: `/status/stream/NAME/create`."""
        command_id = "/".join(request.path_params[name] for name in ("type", "entity", "action"))
        found = await self._asking.blocking(self._asking.engine.command_status, command_id)
        if found is None:
            raise Refused(404, NOT_FOUND, f"Command {command_id} not found.")
        return json_response(found)

    async def statuses(self, request: Request) -> Response:
        known: dict[str, Any] = await self._asking.blocking(self._asking.engine.command_statuses)
        return json_response({"commandStatuses": known})

    async def terminate(self, request: Request) -> Response:
        body = await body_of(request)
        topics = body.get("deleteTopicList", [])
        if not isinstance(topics, list) or not all(isinstance(topic, str) for topic in topics):
            raise Refused(400, 40000, "'deleteTopicList' must be a list of topic names or patterns.")
        entities = await self._asking.blocking(self._asking.engine.terminate_cluster, topics)
        return json_response(entities)
