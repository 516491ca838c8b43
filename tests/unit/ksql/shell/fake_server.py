"""A KSQL server that answers what a test told it to, over real HTTP: the shell is tested against it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Entities = list[dict[str, Any]]


class Refusal(Exception):
    def __init__(self, message: str, code: int = 40001, status: int = 400, entities: Entities | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {
            "@type": "statement_error",
            "error_code": code,
            "message": message,
            "entities": entities or [],
        }


@dataclass
class FakeServer:
    url: str = ""
    statements: dict[str, Entities | Exception] = field(default_factory=dict)
    queries: dict[str, list[Any] | Exception] = field(
        default_factory=dict
    )  # header, rows, or lines as they are; None: wait
    lines: dict[str, list[str]] = field(default_factory=dict)  # of PRINT
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    refused_properties: set[str] = field(default_factory=set)
    closed: list[str] = field(default_factory=list)  # ids of queries that the client closed
    waiting: threading.Event = field(default_factory=threading.Event)  # a query has sent its rows, and waits
    over: threading.Event = field(default_factory=threading.Event)

    def sent(self, path: str) -> list[dict[str, Any]]:
        return [body for asked, body in self.requests if asked == path]

    def texts(self, path: str = "/ksql") -> list[str]:
        return [str(body.get("ksql") or body.get("sql")) for body in self.sent(path)]


def _handler(fake: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            fake.requests.append((self.path, {}))
            if self.path == "/info":
                self._json({"KsqlServerInfo": {"version": "9.9.9", "serverStatus": "RUNNING"}})
            elif self.path.rpartition("/")[2] in fake.refused_properties:
                self._json({"error_code": 40000, "message": "Unknown property: it is not there."}, 400)
            else:
                self._json(True)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            fake.requests.append((self.path, body))
            try:
                self._answer(body)
            except Refusal as refusal:
                self._json(refusal.body, refusal.status)

        def _answer(self, body: dict[str, Any]) -> None:
            if self.path == "/ksql":
                found: Any = fake.statements.get(body["ksql"], [])
                if isinstance(found, Exception):
                    raise found
                self._json(found)
            elif self.path == "/query-stream":
                rows: Any = fake.queries[body["sql"]]
                if isinstance(rows, Exception):
                    raise rows
                self._stream(row if row is None or isinstance(row, str) else json.dumps(row) for row in rows)
            elif self.path == "/query":
                self._stream(iter(fake.lines[body["ksql"]]))
            elif self.path == "/close-query":
                fake.closed.append(body["queryId"])
                self._json({})

        def _json(self, value: Any, status: int = 200) -> None:
            sent = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def _stream(self, lines: Iterator[str | None]) -> None:
            self.send_response(200)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for line in lines:
                if line is None:
                    fake.waiting.set()
                    fake.over.wait(20)
                    continue
                part = line.encode() + b"\n"
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            self.wfile.write(b"0\r\n\r\n")

    return Handler


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that leaves in the middle of an answer is what some tests do."""


@contextmanager
def fake_server() -> Iterator[FakeServer]:
    fake = FakeServer()
    http = _Quiet(("127.0.0.1", 0), _handler(fake))
    fake.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        fake.over.set()
        http.shutdown()
        http.server_close()
        thread.join()
