"""Interactive queries over HTTP: a small HTTP/1.1 server for GET with JSON answers, in a thread of its own.

Made for many small questions: keep-alive and pipelining, a point query is answered where it arrives, in the event loop;
scans and questions that wait go to a few threads, so that they hold nobody up. Answers keep the order of questions.
Safe by what it leaves out: no bodies, no other method than GET and HEAD, no files, no TLS (put a proxy in front where
the network is not yours). The Host header must name this machine, an Origin must be this server, heads are limited, and
so are connections and their idle time. Bound to 127.0.0.1 unless told otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from caudal.http_hosts import names_us
from caudal.views.application_views import ApplicationViews
from caudal.views.pages import FAILED, NO_PAGE, Answer, Pages, Question, Refusal, refusal

log = logging.getLogger("caudal.views")

MOST_HEAD = 16 << 10  # bytes
MOST_CONNECTIONS = 512
IDLE_SECONDS = 60.0
HEAD_SECONDS = 10.0  # for a request that has begun
SWEEP_SECONDS = 5.0
THREADS = 4
SWITCH_SECONDS = 0.0005

NOT_HTTP = 40004
WRONG_HOST = 40005
WRONG_ORIGIN = 40301
WRONG_METHOD = 40501
TOO_LARGE = 43101
TOO_MANY = 50302

_REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
_HEADERS = "Content-Type: application/json\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"


class ViewServer:
    """`start` binds (port 0 takes a free one, then in `port`), `stop` ends it. Views are not closed by it."""

    def __init__(self, views: ApplicationViews, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host = host
        self.port = port
        self.pages = Pages(views)
        self.connections: set[_Connection] = set()
        self.pool = ThreadPoolExecutor(THREADS, "caudal-view-query")
        self.known_hosts: dict[bytes, bool] = {}
        self.loop: asyncio.AbstractEventLoop = _new_loop()
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def start(self) -> ViewServer:
        """Raises OSError where the port is taken."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = socket.create_server((self.host, self.port), family=family, backlog=512)
        self.port = listener.getsockname()[1]
        # The thread that keeps views up to date must not hold the interpreter for 5 ms while a question waits.
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_SECONDS))
        self._thread = threading.Thread(target=self._serve, args=(listener,), name="caudal-view-http", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        if self._thread is not None:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(10)
            self._thread = None
        self.pool.shutdown(wait=False, cancel_futures=True)

    def _serve(self, listener: socket.socket) -> None:
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(self.loop.create_server(lambda: _Connection(self), sock=listener))
        self.loop.call_later(SWEEP_SECONDS, self._sweep)
        try:
            self.loop.run_forever()
        finally:
            server.close()
            for connection in list(self.connections):
                connection.abort()
            self.loop.run_until_complete(asyncio.sleep(0))  # lets the connections say that they are gone
            self.loop.close()

    def _sweep(self) -> None:
        now = time.monotonic()
        for connection in list(self.connections):
            connection.close_if_idle(now)
        self.loop.call_later(SWEEP_SECONDS, self._sweep)

    def is_us(self, host: bytes) -> bool:
        known = self.known_hosts.get(host)
        if known is None:
            known = names_us(host.decode("latin-1"), self.host)
            if len(self.known_hosts) < 100:
                self.known_hosts[host] = known
        return known


class _Connection(asyncio.Protocol):
    def __init__(self, server: ViewServer) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._asking = False  # an answer is being made in a thread
        self._stuck = False  # the client does not take what is written
        self._closing = False
        self._active = time.monotonic()

    # -- asyncio's side ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has another base class
        if len(self._server.connections) >= MOST_CONNECTIONS:
            self._answer(refusal(TOO_MANY, "There are too many connections; close some, or keep one open for all."))
            self._end()
            return
        self._server.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._server.connections.discard(self)
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._active = time.monotonic()
        self._buffer = self._buffer + data if self._buffer else data
        self._serve()
        if len(self._buffer) > 4 * MOST_HEAD and self._transport is not None:
            self._transport.pause_reading()  # more questions than answers are taken

    def pause_writing(self) -> None:
        self._stuck = True

    def resume_writing(self) -> None:
        self._stuck = False
        self._serve()

    def close_if_idle(self, now: float) -> None:
        if not self._asking and now - self._active > (HEAD_SECONDS if self._buffer else IDLE_SECONDS):
            self._end()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # -- questions and answers ---------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Answers what has arrived whole, until one takes a thread."""
        while not (self._asking or self._stuck or self._closing):
            end = self._buffer.find(b"\r\n\r\n")
            if end > MOST_HEAD or (end < 0 and len(self._buffer) > MOST_HEAD):
                self._answer(refusal(TOO_LARGE, f"The head of a request may have {MOST_HEAD} bytes."))
                self._end()
                return
            if end < 0:
                if self._transport is not None and not self._transport.is_closing():
                    self._transport.resume_reading()
                return
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._question(head)

    def _question(self, head: bytes) -> None:
        head_only = False
        try:
            method, target, keep = self._read(head)
            head_only = method == b"HEAD"
            question = Question.of(target)
        except Refusal as error:
            # Where a request was not understood, what follows may be its body: nothing after it is answered.
            keep = error.code == NO_PAGE
            self._answer(refusal(error.code, str(error)), head_only, keep)
            if not keep:
                self._end()
            return
        pages = self._server.pages
        if pages.is_quick(question):
            self._answer(pages.answer(question), head_only, keep)
            if not keep:
                self._end()
            return
        self._asking = True
        future = self._server.loop.run_in_executor(self._server.pool, pages.answer, question)
        future.add_done_callback(lambda done: self._answered(done, head_only, keep))

    def _answered(self, done: asyncio.Future[Answer], head_only: bool, keep: bool) -> None:
        self._asking = False
        if self._transport is None or done.cancelled():
            return
        error = done.exception()
        if error is not None:
            log.error("a question failed", exc_info=error)
        self._answer(refusal(FAILED, "The question failed.") if error is not None else done.result(), head_only, keep)
        if not keep:
            self._end()
            return
        self._serve()

    def _read(self, head: bytes) -> tuple[bytes, str, bool]:
        """Method, target, and whether the connection goes on; refuses what is not for us."""
        first, *lines = head.split(b"\r\n")
        words = first.split(b" ")
        if len(words) != 3 or words[2] not in (b"HTTP/1.1", b"HTTP/1.0") or not words[1].startswith(b"/"):
            raise Refusal(NOT_HTTP, "This is not a request of HTTP/1.1.")
        hosts: list[bytes] = []
        origin: bytes | None = None
        keep = words[2] == b"HTTP/1.1"
        for line in lines:
            name, colon, value = line.partition(b":")
            if not colon or not name or name.strip() != name:
                raise Refusal(NOT_HTTP, "A header is not understood.")
            name, value = name.lower(), value.strip()
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origin = value
            elif name == b"connection":
                keep = b"close" not in value.lower() and (keep or b"keep-alive" in value.lower())
            elif name == b"transfer-encoding" or (name == b"content-length" and value != b"0"):
                raise Refusal(NOT_HTTP, "A question has no body.")
        if len(hosts) != 1 or not self._server.is_us(hosts[0]):
            raise Refusal(WRONG_HOST, "The Host header does not name this server.")
        if origin is not None and origin.lower() != b"http://" + hosts[0].lower():
            raise Refusal(WRONG_ORIGIN, "Pages of other origins may not ask here.")
        if words[0] not in (b"GET", b"HEAD"):
            raise Refusal(WRONG_METHOD, "Only GET and HEAD are answered.")
        try:
            return words[0], words[1].decode("ascii"), keep
        except UnicodeDecodeError:
            raise Refusal(NOT_HTTP, "The path has characters that must be written with %.") from None

    def _answer(self, answer: Answer, head_only: bool = False, keep: bool = False) -> None:
        if self._transport is None:
            return
        status, body = answer
        connection = "" if keep else "Connection: close\r\n"
        allow = "Allow: GET, HEAD\r\n" if status == 405 else ""
        first = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Length: {len(body)}\r\n"
        head = f"{first}{_HEADERS}{allow}{connection}\r\n".encode()
        self._transport.write(head if head_only else head + body)

    def _end(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # not on every platform
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
