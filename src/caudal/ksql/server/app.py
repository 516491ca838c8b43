"""The endpoints, in one list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from caudal.ksql.server.answers import Refused, error_response
from caudal.ksql.server.asking import Asking
from caudal.ksql.server.guard import Guard
from caudal.ksql.server.health import Health
from caudal.ksql.server.inserts import Inserts
from caudal.ksql.server.queries import Queries
from caudal.ksql.server.statements import Statements

Endpoint = Callable[[Request], Awaitable[Response]]


def build_app(asking: Asking, host: str, own_names: tuple[str, ...] = ()) -> Starlette:
    statements, queries, inserts = Statements(asking), Queries(asking), Inserts(asking)
    health = Health(asking)
    routes = [
        _route("GET", "/", health.root),
        _route("GET", "/info", health.info),
        _route("GET", "/healthcheck", health.healthcheck),
        _route("GET", "/clusterStatus", health.cluster_status),
        _route("POST", "/heartbeat", health.heartbeat),
        _route("POST", "/lag", health.lag),
        _route("GET", "/is_valid_property/{property}", health.is_valid_property),
        _route("GET", "/v1/metadata", health.metadata),
        _route("GET", "/v1/metadata/id", health.metadata),
        _route("GET", "/chc/live", health.probe),
        _route("GET", "/chc/ready", health.probe),
        _route("GET", "/metrics", health.metrics),
        _route("POST", "/ksql", statements.execute),
        _route("POST", "/ksql/terminate", statements.terminate),
        _route("GET", "/status", statements.statuses),
        _route("GET", "/status/{type}/{entity}/{action}", statements.status),
        _route("POST", "/query", queries.query),
        _route("POST", "/query-stream", queries.query_stream),
        _route("POST", "/close-query", queries.close_query),
        WebSocketRoute("/ws/query", queries.websocket),
        _route("POST", "/inserts-stream", inserts.insert),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, host=host, own_names=own_names)],
        exception_handlers={404: _not_found, 405: _not_allowed},
    )


def _route(method: str, path: str, endpoint: Endpoint) -> Route:
    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception as error:
            return error_response(error)

    return Route(path, answered, methods=[method])


async def _not_found(request: Request, error: Exception) -> Response:
    return error_response(Refused(404, 40400, f"There is nothing at {request.url.path}."))


async def _not_allowed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    allowed = (error.headers or {}).get("Allow", "")
    return error_response(Refused(405, 40500, f"{request.url.path} takes {allowed}, not {request.method}."))
