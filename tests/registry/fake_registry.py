"""A registry in a thread for tests of the broker's side: two paths, answers held back or replaced at will."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeRegistry:
    """`subjects[id]`: where it is registered; `hold(id)`: its look-ups wait until `release`; `down`: HTTP 503."""

    def __init__(self) -> None:
        self.subjects: dict[int, list[str]] = {}
        self.schemas: dict[int, dict[str, Any]] = {}
        self.asked: list[int] = []
        self.down = False
        self._gates: dict[int, threading.Event] = {}
        self.reached = threading.Event()  # a look-up is being held
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = registry.answer(self.path)
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def answer(self, path: str) -> tuple[int, Any]:
        schema_id = int(path.split("/")[3])
        self.asked.append(schema_id)
        gate = self._gates.get(schema_id)
        if gate is not None:
            self.reached.set()
            gate.wait(30)
        if self.down:
            return 503, {"error_code": 50301, "message": "away"}
        if schema_id not in self.subjects:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, self.subjects[schema_id] if path.endswith("/subjects") else self.schemas[schema_id]

    def hold(self, schema_id: int) -> None:
        self.reached.clear()
        self._gates[schema_id] = threading.Event()

    def release(self, schema_id: int) -> None:
        self._gates[schema_id].set()

    def close(self) -> None:
        for gate in self._gates.values():
            gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def fake_registry() -> Iterator[FakeRegistry]:
    registry = FakeRegistry()
    try:
        yield registry
    finally:
        registry.close()
