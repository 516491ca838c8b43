"""`/metrics` of a running application, on 127.0.0.1, in a thread. GET only, and only under this machine's name."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

LOCAL = {"127.0.0.1", "localhost", "[::1]"}


class Prometheus(Protocol):
    def prometheus(self) -> str: ...


def serve_metrics(application: Prometheus, port: int) -> int:
    """Serves until the process ends; returns the port (0 takes a free one)."""

    class Page(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
            if host not in LOCAL:  # a web page must not read the figures by DNS rebinding
                self._answer(400, "the Host header does not name this machine\n")
            elif self.path.partition("?")[0] != "/metrics":
                self._answer(404, "there is only /metrics\n")
            else:
                self._answer(200, application.prometheus())

        def _answer(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent: scrapes come every few seconds."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Page)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="caudal-metrics", daemon=True).start()
    return int(server.server_address[1])
