"""How the server is: /info, /healthcheck, the cluster's view of it, and what probes and clients ask at the start."""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from caudal.ksql.engine import properties
from caudal.ksql.errors import KsqlError
from caudal.ksql.server.answers import BAD_REQUEST, Refused, body_of, json_response
from caudal.ksql.server.asking import Asking
from caudal.ksql.server.overview import Overview


class Health:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._overview = Overview(asking.engine)

    async def root(self, request: Request) -> Response:
        return RedirectResponse("/info", 307)

    async def info(self, request: Request) -> Response:
        return json_response({"KsqlServerInfo": await self._asking.blocking(self._overview.info)})

    async def healthcheck(self, request: Request) -> Response:
        details = await self._asking.blocking(self._overview.health)
        healthy = all(part["isHealthy"] for part in details.values())
        body = {"isHealthy": healthy, "details": details, "serverState": "READY"}
        return json_response(body, status=200 if healthy else 503)

    async def metadata(self, request: Request) -> Response:
        """Which Kafka cluster and which service this is."""
        info = await self._asking.blocking(self._overview.info)
        clusters = {"kafka-cluster": info["kafkaClusterId"], "ksql-cluster": info["ksqlServiceId"]}
        return json_response({"id": "", "scope": {"path": [], "clusters": clusters}})

    async def probe(self, request: Request) -> Response:
        """/chc/live and /chc/ready: whoever gets an answer knows."""
        return json_response({})

    async def cluster_status(self, request: Request) -> Response:
        return json_response({"clusterStatus": await self._asking.blocking(self._overview.cluster_status)})

    async def heartbeat(self, request: Request) -> Response:
        """Another server says that it lives. Ours learn it from the group they are members of; it is noted all the
        same, for those that ask /clusterStatus."""
        body = await body_of(request)
        self._overview.heard_of(_host(body, "hostInfo"), _moment(body, "timestamp"))
        return json_response({"isOk": True})

    async def lag(self, request: Request) -> Response:
        body = await body_of(request)
        self._overview.heard_of(_host(body, "ksqlHost"), _moment(body, "updateTimeMs"))
        return json_response({"isOk": True})

    async def is_valid_property(self, request: Request) -> Response:
        name = request.path_params["property"]
        if not properties.is_valid(name):
            try:
                properties.checked(name, "")
            except KsqlError as error:
                raise Refused(400, BAD_REQUEST, error.message) from None
        return json_response(True)

    async def metrics(self, request: Request) -> Response:
        """What Prometheus scrapes of this server and of the queries it runs."""
        text = await self._asking.blocking(self._overview.prometheus)
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _host(body: dict[str, Any], name: str) -> str:
    host = body.get(name)
    if not isinstance(host, dict) or "host" not in host or "port" not in host:
        raise Refused(400, BAD_REQUEST, f"'{name}' must have a host and a port.")
    return f"{host['host']}:{host['port']}"


def _moment(body: dict[str, Any], name: str) -> int:
    when = body.get(name, int(time.time() * 1000))
    if not isinstance(when, int):
        raise Refused(400, BAD_REQUEST, f"'{name}' must be a time in milliseconds.")
    return when
