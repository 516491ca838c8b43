"""How the server is: /info, /healthcheck, the cluster's view of it, and what probes and clients ask at the start."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from caudal.ksql.server.answers import BAD_REQUEST, Refused, body_of, json_response
from caudal.ksql.server.asking import Asking


class Health:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def root(self, request: Request) -> Response:
        return RedirectResponse("/info", 307)

    async def info(self, request: Request) -> Response:
        return json_response({"KsqlServerInfo": self._asking.engine.info()})

    async def healthcheck(self, request: Request) -> Response:
        details = await self._asking.blocking(self._asking.engine.health)
        healthy = all(part["isHealthy"] for part in details.values())
        body = {"isHealthy": healthy, "details": details, "serverState": self._asking.engine.info()["serverStatus"]}
        return json_response(body, status=200 if healthy else 503)

    async def metadata(self, request: Request) -> Response:
        info = self._asking.engine.info()
        clusters = {"kafka-cluster": info["kafkaClusterId"], "ksql-cluster": info["ksqlServiceId"]}
        return json_response({"id": "", "scope": {"path": [], "clusters": clusters}})

    async def metadata_id(self, request: Request) -> Response:
        return await self.metadata(request)

    async def live(self, request: Request) -> Response:
        return json_response({})

    async def ready(self, request: Request) -> Response:
        return json_response({})

    async def cluster_status(self, request: Request) -> Response:
        status = await self._asking.blocking(self._asking.engine.cluster_status)
        return json_response({"clusterStatus": status})

    async def heartbeat(self, request: Request) -> Response:
        """Another server says that it lives. Ours learn it from the group they are members of; it is noted all the
        same, for those that ask `/clusterStatus`."""
        body = await body_of(request)
        host = body.get("hostInfo")
        if not isinstance(host, dict) or "host" not in host or "port" not in host:
            raise Refused(400, BAD_REQUEST, "'hostInfo' must have a host and a port.")
        when = body.get("timestamp", int(time.time() * 1000))
        self._asking.engine.heard_of(f"{host['host']}:{host['port']}", int(when))
        return json_response({"isOk": True})

    async def lag(self, request: Request) -> Response:
        body = await body_of(request)
        host = body.get("ksqlHost")
        if not isinstance(host, dict) or "host" not in host or "port" not in host:
            raise Refused(400, BAD_REQUEST, "'ksqlHost' must have a host and a port.")
        self._asking.engine.heard_of(f"{host['host']}:{host['port']}", int(body.get("updateTimeMs", 0)))
        return json_response({"isOk": True})

    async def is_valid_property(self, request: Request) -> Response:
        name = request.path_params["property"]
        problem = self._asking.engine.property_problem(name)
        if problem is not None:
            raise Refused(400, BAD_REQUEST, problem)
        return json_response(True)
