"""The REST API as an ASGI application: Starlette over the table of routes, every error a body of Kafka Connect's."""

from __future__ import annotations

from collections import Counter

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from caudal.connect.runtime.model import RestError
from caudal.connect.server import routes as table
from caudal.connect.server.answers import JSON, error_response, read_body
from caudal.connect.server.asking import Asking
from caudal.connect.server.connectors import Connectors
from caudal.connect.server.guard import Guard
from caudal.connect.server.loggers import Loggers
from caudal.connect.server.openapi import docs_page, openapi
from caudal.connect.server.plugins import Plugins
from caudal.connect.server.routes import Route
from caudal.connect.server.worker import Worker

# A page that is only to be read: nothing in it may load or run anything.
PAGE_HEADERS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}


def build_app(asking: Asking, host: str, own_names: tuple[str, ...] = ()) -> Starlette:
    answered: Counter[tuple[str, int]] = Counter()
    routes = table.routes(Worker(asking, answered), Connectors(asking), Plugins(asking), Loggers(asking))
    description, page = orjson.dumps(openapi(routes)), docs_page(routes)

    async def get_openapi(request: Request, body: bytes) -> Response:
        return Response(description, media_type=JSON)

    async def get_docs(request: Request, body: bytes) -> Response:
        return Response(page, headers=PAGE_HEADERS, media_type="text/html")

    routes.append(Route("GET", "/openapi.json", get_openapi, "This API for programs"))
    routes.append(Route("GET", "/docs", get_docs, "This API for people"))
    by_path: dict[str, list[Route]] = {}
    for route in routes:
        by_path.setdefault(route.pattern, []).append(route)

    async def not_found(request: Request, error: Exception) -> Response:
        return error_response(RestError(404, "HTTP 404 Not Found: /docs lists what there is."))

    async def not_allowed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        allowed = (error.headers or {}).get("Allow", "")
        message = f"HTTP 405 Method Not Allowed: {request.url.path} takes {allowed}."
        return error_response(RestError(405, message), error.headers)

    app = Starlette(
        routes=[_served(path, there, answered) for path, there in by_path.items()],
        middleware=[Middleware(Guard, host=host, own_names=own_names)],
        exception_handlers={404: not_found, 405: not_allowed},
    )
    app.router.redirect_slashes = False
    return app


def _served(path: str, there: list[Route], answered: Counter[tuple[str, int]]) -> StarletteRoute:
    """All methods of a path: Starlette knows by them what to say to another one."""
    endpoints = {route.method: route.endpoint for route in there}

    async def answer(request: Request) -> Response:
        try:
            endpoint = endpoints["GET" if request.method == "HEAD" else request.method]
            response = await endpoint(request, await read_body(request))
        except Exception as error:
            response = error_response(error)
        answered[request.method, response.status_code] += 1
        return response

    return StarletteRoute(path, answer, methods=sorted(endpoints))
