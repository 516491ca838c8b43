"""POST /ksql: statements in, entities out; GET /status about what became of them; POST /ksql/terminate ends it all."""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from caudal.ksql.engine.engine import Engine
from caudal.ksql.errors import KsqlError
from caudal.ksql.server.answers import (
    BAD_REQUEST,
    JSON,
    NOT_FOUND,
    V1,
    V2,
    Refused,
    body_of,
    error_body,
    json_response,
    media_type_of,
    settings_of,
    text_of,
)
from caudal.ksql.server.asking import Asking
from caudal.ksql.types import quoted

KEPT = 10_000  # statuses of commands


class Statements:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._statuses: dict[str, dict[str, Any]] = {}  # of this server's commands, the last ones

    async def execute(self, request: Request) -> Response:
        media_type = media_type_of(request, JSON, V1, V2)
        body = await body_of(request)
        text = text_of(body, "ksql", "sql")
        properties = settings_of(body, "streamsProperties", "properties")
        variables = settings_of(body, "sessionVariables")
        try:
            entities = await self._asking.blocking(self._asking.engine.execute, text, properties, variables)
        except KsqlError as error:
            self._keep(error.entities)
            return json_response({**error_body(error, text), "entities": error.entities}, media_type, 400)
        self._keep(entities)
        return json_response(entities, media_type)

    def _keep(self, entities: list[Any]) -> None:
        for entity in entities:
            if "commandId" in entity:
                self._statuses[entity["commandId"]] = entity["commandStatus"]
                if len(self._statuses) > KEPT:
                    self._statuses.pop(next(iter(self._statuses)))

    async def status(self, request: Request) -> Response:
        """Of one command: `/status/stream/NAME/create`. Those of an earlier life are known by what they made."""
        kind, name, action = (request.path_params[part] for part in ("type", "entity", "action"))
        bare = name.strip("`")
        found = self._statuses.get(f"{kind}/{name}/{action}") or self._statuses.get(f"{kind}/{quoted(bare)}/{action}")
        found = found or self._statuses.get(f"{kind}/`{bare}`/{action}")
        if found is None and action == "create":
            catalog = self._asking.engine.catalog
            source = catalog.sources.get(bare)
            if (source is not None and source.kind.value.lower() == kind) or (kind == "type" and bare in catalog.types):
                found = {"status": "SUCCESS", "message": f"{kind.capitalize()} created", "queryId": None}
        if found is None:
            raise Refused(404, NOT_FOUND, f"Command {kind}/{name}/{action} not found.")
        return json_response(found)

    async def statuses(self, request: Request) -> Response:
        return json_response({"commandStatuses": {name: found["status"] for name, found in self._statuses.items()}})

    async def terminate(self, request: Request) -> Response:
        body = await body_of(request)
        topics = body.get("deleteTopicList", [])
        if not isinstance(topics, list) or not all(isinstance(topic, str) for topic in topics):
            raise Refused(400, BAD_REQUEST, "'deleteTopicList' must be a list of topic names or patterns.")
        try:
            patterns = [re.compile(topic) for topic in topics]
        except re.error as error:
            raise Refused(400, BAD_REQUEST, f"'deleteTopicList' has a pattern that cannot be read: {error}.") from None
        entities = await self._asking.blocking(terminate_all, self._asking.engine, patterns)
        return json_response(entities)


def terminate_all(engine: Engine, patterns: list[re.Pattern[str]]) -> list[Any]:
    """Ends every query, drops every stream and table, and the topics of those that queries made and that are named."""
    answers = engine.execute("TERMINATE ALL;")
    while engine.catalog.sources:
        left = len(engine.catalog.sources)
        for source in list(engine.catalog.sources.values()):
            made_here = source.query_id is not None
            delete = made_here and any(pattern.fullmatch(source.topic) for pattern in patterns)
            text = f"DROP {source.kind.value} {quoted(source.name)}{' DELETE TOPIC' if delete else ''};"
            try:
                answers += engine.execute(text)
            except KsqlError:
                continue  # something that is dropped later reads it
        if len(engine.catalog.sources) == left:
            names = ", ".join(sorted(engine.catalog.sources))
            raise KsqlError(f"These could not be dropped: {names}.")
    return answers
