"""The endpoints, in one list: what is served, and what /openapi.json and /docs say of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from caudal.connect.server.connectors import Connectors
from caudal.connect.server.loggers import Loggers
from caudal.connect.server.plugins import Plugins
from caudal.connect.server.worker import Worker

Endpoint = Callable[[Request, bytes], Awaitable[Response]]


class Route(NamedTuple):
    method: str
    pattern: str
    endpoint: Endpoint
    summary: str
    query: tuple[str, ...] = ()
    body: str | None = None  # the name of what it takes, for the description
    status: int = 200
    errors: tuple[int, ...] = ()


def routes(worker: Worker, connectors: Connectors, plugins: Plugins, loggers: Loggers) -> list[Route]:
    one = "/connectors/{connector}"
    plugin = "/connector-plugins/{plugin}"
    return [
        Route("GET", "/", worker.root, "Version of the worker and id of its Kafka cluster"),
        Route("GET", "/health", worker.health, "Whether the worker can do its work", errors=(500, 503)),
        Route("GET", "/connectors", connectors.all, "All connectors", ("expand",)),
        Route("POST", "/connectors", connectors.create, "Create one", (), "NewConnector", 201, (400, 409)),
        Route("GET", one, connectors.info, "Its configuration and tasks", errors=(404,)),
        Route("DELETE", one, connectors.delete, "Stop and delete it", status=204, errors=(404, 409)),
        Route("GET", f"{one}/config", connectors.config, "Its configuration", errors=(404,)),
        Route("PUT", f"{one}/config", connectors.put_config, "Create or change it", (), "Config", 200, (400, 409)),
        Route(
            "PATCH", f"{one}/config", connectors.patch_config,
            "Change some properties; null removes one", (), "Patch", 200, (400, 404, 409),
        ),
        Route("GET", f"{one}/status", connectors.status, "State of the connector and its tasks", errors=(404,)),
        Route("GET", f"{one}/tasks", connectors.tasks, "Configurations of its tasks", errors=(404,)),
        Route("GET", f"{one}/tasks/{{task}}/status", connectors.task_status, "State of a task", errors=(404,)),
        Route("POST", f"{one}/tasks/{{task}}/restart", connectors.restart_task, "Restart it", (), None, 204, (404,)),
        Route(
            "POST", f"{one}/restart", connectors.restart,
            "Restart it (204), with its tasks or what failed of them (202 and the plan)",
            ("includeTasks", "onlyFailed"), None, 202, (404, 409),
        ),
        Route("PUT", f"{one}/pause", connectors.pause, "Pause it; its tasks stay", (), None, 202, (404, 409)),
        Route("PUT", f"{one}/resume", connectors.resume, "Go on after a pause or a stop", (), None, 202, (404, 409)),
        Route("PUT", f"{one}/stop", connectors.stop, "Stop it; its tasks are given up", (), None, 204, (404, 409)),
        Route("GET", f"{one}/topics", connectors.topics, "Topics that it has used", errors=(404,)),
        Route("PUT", f"{one}/topics/reset", connectors.reset_topics, "Forget which they were", (), None, 202, (404,)),
        Route("GET", f"{one}/offsets", connectors.offsets, "How far it is", errors=(404,)),
        Route(
            "PATCH", f"{one}/offsets", connectors.alter_offsets,
            "Where it goes on; the connector must be stopped", (), "Offsets", 200, (400, 404, 409),
        ),
        Route(
            "DELETE", f"{one}/offsets", connectors.reset_offsets,
            "Begin anew; the connector must be stopped", (), None, 200, (400, 404, 409),
        ),
        Route("POST", f"{one}/tasks", connectors.put_task_configs, "Between workers", (), "Configs", 204, (400, 403)),
        Route("PUT", f"{one}/fence", connectors.fence, "Between workers", (), None, 204, (400, 403)),
        Route("GET", "/connector-plugins", plugins.all, "What is installed", ("connectorsOnly", "detail")),
        Route("GET", f"{plugin}/config", plugins.config, "What it can be told", ("version",), errors=(400, 404)),
        Route(
            "PUT", f"{plugin}/config/validate", plugins.validate,
            "Whether a configuration is right, key by key", (), "Config", 200, (400, 404),
        ),
        Route("GET", "/admin/loggers", loggers.all, "Loggers whose level was set"),
        Route("GET", "/admin/loggers/{logger}", loggers.one, "The level of one", errors=(404,)),
        Route(
            "PUT", "/admin/loggers/{logger}", loggers.set_level,
            "Set it, for those below too", ("scope",), "Level", 200, (400, 404),
        ),
        Route("GET", "/metrics", worker.metrics, "Measurements for Prometheus"),
    ]  # fmt: skip
