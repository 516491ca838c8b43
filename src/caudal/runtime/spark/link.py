"""The line between workers and driver: JSON over TCP, one connection per worker process.

Spark gives a running Python worker no way to ask the driver anything. Workers need it: for the keeper's current group
metadata (it changes with every rebalance), for offset commits by the keeper, to report progress, and to hear that
they should stop. Every request has one answer. The first line of a connection is the run's token; anything else is
hung up on. It listens on one address: this machine's own where Spark is local, the driver's where it is a cluster.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any

import orjson

log = logging.getLogger("caudal.streams")

Answer = Callable[[dict[str, Any]], dict[str, Any]]
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 90.0
MAX_LINE = 64 << 20


class LinkLost(Exception):
    """The driver does not answer: the batch cannot go on, Spark decides what comes next."""


class LinkServer:
    """In the driver. `answer` is called in the connection's thread."""

    def __init__(self, answer: Answer, host: str = "127.0.0.1", bind: str | None = None, port: int = 0) -> None:
        """Workers are told `host`; `bind` is where it listens if that is another (a container, a router between)."""
        self.token = secrets.token_hex(16)
        token = self.token.encode()

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self) -> None:
                if not hmac.compare_digest(self.rfile.readline(256).strip(), token):
                    return
                while line := self.rfile.readline(MAX_LINE):
                    try:
                        reply = answer(orjson.loads(line))
                    except Exception as error:  # whatever it is, the worker must hear it and not wait
                        log.debug("a worker's request failed", exc_info=True)
                        reply = {"error": f"{type(error).__name__}: {error}"}
                    self.wfile.write(orjson.dumps(reply) + b"\n")

        self._server = _Server((bind or host, port), Handler)
        self.address: tuple[str, int] = (host, self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, name="caudal-link", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("a worker's connection ended", exc_info=True)  # a killed worker: nothing to shout about


class Link:
    """In a worker. Any thread may ask; questions go one after the other."""

    def __init__(self, address: tuple[str, int], token: str) -> None:
        self._lock = threading.Lock()
        try:
            self._socket = socket.create_connection(address, CONNECT_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.settimeout(ANSWER_SECONDS)
            self._socket.sendall(token.encode() + b"\n")
        except OSError as error:
            raise LinkLost(f"The driver at {address[0]}:{address[1]} cannot be reached: {error}") from error
        self._lines = self._socket.makefile("rb")

    def ask(self, request: str, /, **fields: Any) -> dict[str, Any]:
        """The driver's answer. An answer with "error" raises RuntimeError with its text."""
        with self._lock:
            try:
                self._socket.sendall(orjson.dumps({"request": request, **fields}) + b"\n")
                line = self._lines.readline(MAX_LINE)
            except OSError as error:
                raise LinkLost(f"The driver does not answer: {error}") from error
        if not line:
            raise LinkLost("The driver has closed the connection.")
        answer: dict[str, Any] = orjson.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def close(self) -> None:
        self._lines.close()
        self._socket.close()
