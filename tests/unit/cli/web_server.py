"""A small web server in a thread, for what only asks and reads."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def web_server(answers: dict[str, Any], date: float | None = None) -> Iterator[str]:
    """The address of a server that answers these paths with JSON, and with its own idea of the time."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path in answers
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(answers.get(self.path)).encode())

        def date_time_string(self, timestamp: float | None = None) -> str:
            return formatdate(date, usegmt=True) if date is not None else super().date_time_string()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
