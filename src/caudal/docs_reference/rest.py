"""The endpoints of the three REST APIs, from the tables of routes that the servers serve.

Servers are made without anything behind them (a Mock): only their routes are looked at. KSQL's routes carry no words
of their own, so what each is for is said here; one without words fails the build.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final
from unittest.mock import Mock

from caudal.docs_reference.markdown import code, sentence, table

KSQL_WORDS: Final = {
    ("GET", "/"): "Goes on to `/info`.",
    ("GET", "/info"): "Version, cluster id and service id.",
    ("GET", "/healthcheck"): "Whether the server and its Kafka work, part by part.",
    ("GET", "/clusterStatus"): "The servers of one service id, and what each runs or stands by for.",
    ("POST", "/heartbeat"): "What servers of one service id tell each other.",
    ("POST", "/lag"): "The same, about stores.",
    ("GET", "/is_valid_property/{property}"): "Whether `SET` would take the property.",
    ("GET", "/v1/metadata"): "The server's id and its cluster's.",
    ("GET", "/v1/metadata/id"): "The same.",
    ("GET", "/chc/live"): "For load balancers: the server is there.",
    ("GET", "/chc/ready"): "For load balancers: the server takes requests.",
    ("GET", "/metrics"): "Measurements for Prometheus.",
    ("POST", "/ksql"): "Statements: `{ksql, streamsProperties, sessionVariables}`; an entity for each.",
    ("POST", "/ksql/terminate"): "Ends the service: its queries, and the topics that are named.",
    ("GET", "/status"): "Statements that were executed.",
    ("GET", "/status/{type}/{entity}/{action}"): "What became of one.",
    ("POST", "/query"): "A query in the older form, and `PRINT`.",
    ("POST", "/query-stream"): "A query: `{sql, properties}`; a header, then a row a line.",
    ("POST", "/close-query"): "Ends a push query.",
    ("WS", "/ws/query"): "A query over a websocket.",
    ("POST", "/inserts-stream"): "Rows in, acknowledgements out.",
}


def registry_page() -> str:
    from caudal.registry import openapi, routes
    from caudal.registry.endpoints import Endpoints
    from caudal.registry.forwarding import Forwarder
    from caudal.registry.instance import Instance, Settings

    instance = Instance(Settings({}, "http://localhost"))
    found = routes.routes(Endpoints(instance, Forwarder(instance)))
    head = """# REST: Schema Registry

Port 8081. Paths, bodies and error codes are those of Confluent's registry; every path can also be asked under
`/contexts/{context}/…`. The running server has this list at `/docs`, and `/openapi.json` for programs.
[The Schema Registry](../registry.md) is the guide.
"""
    rows = [_row(route, route.codes) for route in found]
    return "\n".join([head, _table(rows), _errors(openapi.MEANINGS)])


def connect_page() -> str:
    from caudal.connect.server import openapi, routes
    from caudal.connect.server.connectors import Connectors
    from caudal.connect.server.loggers import Loggers
    from caudal.connect.server.plugins import Plugins
    from caudal.connect.server.worker import Worker

    asking: Any = Mock()
    found = routes.routes(Worker(asking, Counter()), Connectors(asking), Plugins(asking), Loggers(asking))
    head = """# REST: Connect

Port 8083. Paths and bodies are Kafka Connect's. The running worker has this list at `/docs`, and `/openapi.json` for
programs. [Connect](../connect.md) is the guide.
"""
    rows = [_row(route, route.errors) for route in found]
    return "\n".join([head, _table(rows), _errors(openapi.MEANINGS)])


def ksql_page() -> str:
    head = """# REST: KSQL

Port 8088, HTTP/1.1 and HTTP/2. Paths and bodies are ksqlDB's. An error is `{"@type", "error_code", "message"}`.
[KSQL](../ksql.md) is the guide.
"""
    rows = [(method, code(path), KSQL_WORDS[method, path]) for method, path in ksql_routes()]
    return "\n".join([head, table(("", "path", "what it does"), rows)])


def ksql_routes() -> list[tuple[str, str]]:
    from starlette.routing import Route, WebSocketRoute

    from caudal.ksql.server.app import build_app

    asking: Any = Mock()
    found = []
    for route in build_app(asking, "localhost").routes:
        if isinstance(route, WebSocketRoute):
            found.append(("WS", route.path))
        elif isinstance(route, Route):
            (method,) = (route.methods or set()) - {"HEAD"}
            found.append((method, route.path))
    return found


def _row(route: Any, errors: Iterable[int]) -> tuple[str, ...]:
    body = f" Body: {route.body}." if route.body else ""
    query = ", ".join(code(name) for name in route.query)
    words = sentence(f"{route.summary}.{body}")
    return route.method, code(route.pattern), words, query, ", ".join(map(str, errors))


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    return table(("", "path", "what it does", "parameters", "errors"), rows)


def _errors(meanings: dict[int, str]) -> str:
    rows = [(str(number), sentence(text)) for number, text in meanings.items()]
    return "## Errors\n\n" + table(("code", "meaning"), rows)
