"""`/metrics` and `/health` over HTTP: the smallest responder that is correct and safe.

GET and HEAD only, one request per connection. The Host header must name this machine, so that a web page cannot read
the figures by DNS rebinding. Headers are limited to 8 KiB and five seconds. Bound to 127.0.0.1 unless told otherwise.
Not a web framework: no keep-alive, no bodies, no TLS (put a proxy in front where the network is not yours).
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING

from caudal.broker.metrics import Family, render_families
from caudal.http_hosts import names_us

if TYPE_CHECKING:
    from caudal.broker.broker import Broker

log = logging.getLogger("caudal.broker.metrics")

MAX_HEAD_BYTES = 8 * 1024
HEAD_SECONDS = 5.0
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Answer = tuple[int, str, bytes]

# Not http.HTTPStatus: importing it costs more than this page is worth at the broker's start.
_PHRASES = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class MetricsServer:
    """Serves one broker's figures. `start` binds (port 0: any free one, then in `port`), `stop` closes."""

    def __init__(self, broker: Broker, host: str = "127.0.0.1", port: int = 9404) -> None:
        self.broker = broker
        self.host = host
        self.port = port
        self._server: asyncio.Server | None = None
        self._rendering = asyncio.Lock()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, self.host, self.port, limit=MAX_HEAD_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head_only = False
            try:
                async with asyncio.timeout(HEAD_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError:
                answer = _refuse(431, "the request's head is too large")
            except TimeoutError:
                answer = _refuse(408, "the request did not come in time")
            except asyncio.IncompleteReadError as error:
                if not error.partial:
                    return
                answer = _refuse(400, "the request ends early")
            else:
                head_only = head.startswith(b"HEAD ")
                answer = await self._safe_answer(head)
            writer.write(_encode(answer, head_only))
            await writer.drain()
        except OSError:
            pass  # the client left: nobody is there to be told
        finally:
            writer.close()

    async def _safe_answer(self, head: bytes) -> Answer:
        try:
            return await self._answer(head)
        except Exception:
            log.exception("the metrics page failed")
            return _refuse(500, "the page failed; the broker's log says why")

    async def _answer(self, head: bytes) -> Answer:
        try:
            lines = head.decode("ascii").split("\r\n")
            method, target, version = lines[0].split(" ")
            headers = _headers(lines[1:])
        except (UnicodeDecodeError, ValueError):
            return _refuse(400, "this is not an HTTP request")
        if not version.startswith("HTTP/1."):
            return _refuse(400, "only HTTP/1.1 is spoken here")
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_us(hosts[0]):
            return _refuse(400, "the Host header does not name this broker")
        path = target.partition("?")[0]
        if path not in ("/metrics", "/health"):
            return _refuse(404, "there is /metrics and /health")
        if method not in ("GET", "HEAD"):
            return _refuse(405, "only GET and HEAD")
        return self._health() if path == "/health" else await self._metrics()

    async def _metrics(self) -> Answer:
        # One scrape at a time: a second one waits instead of doubling the work.
        async with self._rendering:
            families: list[Family] = []
            for family in self.broker.metrics.families(self.broker):
                if family is None:
                    await asyncio.sleep(0)
                else:
                    families.append(family)
            body = await asyncio.get_running_loop().run_in_executor(None, render_families, families)
        return 200, METRICS_TYPE, body

    def _health(self) -> Answer:
        running = bool(self.broker.is_running)
        body = {
            "status": "running" if running else "stopping",
            "node_id": self.broker.node_id,
            "cluster_id": self.broker.cluster_id,
        }
        return (
            200 if running else 503,
            "application/json",
            json.dumps(body).encode() + b"\n",
        )

    def _is_us(self, host_header: str) -> bool:
        """Whether the Host header names this machine as the operator exposed it."""
        return names_us(host_header, self.host, str(self.broker.host))


def _headers(lines: list[str]) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for line in lines:
        if not line:
            continue
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise ValueError(line)
        headers.setdefault(name.lower(), []).append(value.strip())
    return headers


def _refuse(status: int, reason: str) -> Answer:
    return status, "text/plain; charset=utf-8", reason.encode() + b"\n"


def _encode(answer: Answer, head_only: bool) -> bytes:
    status, content_type, body = answer
    allow = "Allow: GET, HEAD\r\n" if status == 405 else ""
    head = (
        f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        f"{allow}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if head_only else body)
