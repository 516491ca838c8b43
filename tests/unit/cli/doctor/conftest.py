"""A situation without a broker, programs that only pretend, and a small web server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from caudal.cli.doctor.check import Situation

Program = Callable[..., Path]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def situation(tmp_path: Path) -> Situation:
    """Nothing is running, and nobody said that there was."""
    return Situation(f"127.0.0.1:{free_port()}", False, tmp_path / "data")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """`program("java", "echo hello")` is a script of that name; its folder is its own."""

    def write(name: str, body: str, folder: str = "bin") -> Path:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return write


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
