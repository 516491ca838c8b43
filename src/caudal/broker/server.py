"""The listener and its connections: bytes in, frames out to the handlers, responses back in order.

Invariants of a connection:
- Requests are handled one at a time, in the order they came, as Kafka does: while one is under way (`busy`), or the
  client is slow to read (`write_paused`), the next stays in the receive buffer, and when that is full the socket is no
  longer read. So one connection never holds more than one request and one response in memory.
- The receive buffer is never resized, only replaced: handlers of Produce keep views of it while they run.
- A connection that breaks the protocol is closed with one log line; nothing it sends can stop the process.

Deliberately not here: TLS and SASL (security issue), quotas.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import struct
import sys
from collections.abc import Awaitable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from caudal.broker import router
from caudal.broker.errors import ErrorCode, KafkaError
from caudal.broker.logs import Quiet
from caudal.broker.partition import UNSYNCED
from caudal.broker.router import APIS, RequestContext
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.varints import skip_tagged_fields

if TYPE_CHECKING:
    from caudal.broker.broker import Broker
    from caudal.broker.log.log import Log

log = logging.getLogger("caudal.broker.server")
quiet = Quiet(log)  # for what a client can cause at will

Buffer = bytes | bytearray | memoryview

SMALL_BUFFER = 8 * 1024
FIRST_GROWTH = 64 * 1024
GROWTH_LIMIT = 256 * 1024  # pipelined requests may fill this much; more only for a single request that needs it
WRITE_HIGH_WATER = 256 * 1024

_LENGTH = struct.Struct(">i")
_REQUEST_HEADER = struct.Struct(">hhih")
_RESPONSE_HEADER = struct.Struct(">ii")

# What a raw handler returns when it has answered, will answer later, or must not answer (acks=0).
DEFERRED = object()
NO_RESPONSE = object()


class Connection(asyncio.BufferedProtocol):
    """One client's connection."""

    __slots__ = (
        "broker",
        "buffer",
        "busy",
        "closing",
        "end",
        "last_active",
        "on_disconnect",
        "peer_host",
        "peer_port",
        "principal",
        "reading_paused",
        "server",
        "start",
        "task",
        "transport",
        "view",
        "write_paused",
    )

    def __init__(self, server: Server) -> None:
        self.server = server
        self.broker = server.broker
        self.buffer = bytearray(SMALL_BUFFER)
        self.view = memoryview(self.buffer)
        self.start = 0  # of the first byte not yet handled
        self.end = 0  # of the bytes received
        self.busy = False
        self.closing = False
        self.write_paused = False
        self.reading_paused = False
        self.task: asyncio.Task[None] | None = None
        self.on_disconnect: Any = None
        self.principal = "User:ANONYMOUS"
        self.peer_host = "?"
        self.peer_port = 0
        self.last_active = 0.0

    # -- asyncio's side ------------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        peer = transport.get_extra_info("peername")
        if peer:
            self.peer_host, self.peer_port = str(peer[0]), int(peer[1])
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # finds half-open peers
        transport.set_write_buffer_limits(high=WRITE_HIGH_WATER)
        self.last_active = perf_counter()
        self.server.connections.add(self)
        self.broker.metrics.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.closing = True
        self.server.forget(self)
        self.broker.metrics.connections -= 1
        if self.task is not None:
            self.task.cancel()
        if self.on_disconnect is not None:
            self.on_disconnect()
            self.on_disconnect = None

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.view[self.end :]

    def buffer_updated(self, nbytes: int) -> None:
        self.end += nbytes
        self.advance()

    def eof_received(self) -> bool:
        return False  # the client closed its side: close ours, which cancels what it waited for

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        self.advance()

    # -- frames --------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Handles every complete request in the buffer, as far as order and back-pressure allow."""
        while not (self.busy or self.write_paused or self.closing):
            available = self.end - self.start
            if available < 4:
                break
            length = _LENGTH.unpack_from(self.buffer, self.start)[0]
            if length < 8 or length > self.server.max_request:
                self.refuse(f"a request of {length} bytes (socket.request.max.bytes is {self.server.max_request})")
                return
            if available - 4 < length:
                self.make_room(length + 4)
                break
            begin = self.start + 4
            self.start = begin + length
            self.handle(begin, self.start)
        if self.closing:
            return
        if self.start == self.end:
            self.start = self.end = 0
        elif self.end == len(self.buffer):
            self.make_room(min(len(self.buffer) * 2, GROWTH_LIMIT))
        full = self.end == len(self.buffer)
        if full != self.reading_paused:
            self.reading_paused = full
            (self.transport.pause_reading if full else self.transport.resume_reading)()

    def make_room(self, needed: int) -> None:
        """Makes the buffer fit for a request of `needed` bytes: moved to the front, and grown as the bytes come in.

        Not all at once: a client that only announces a large request must not cost us its memory.
        """
        rest = self.end - self.start
        if needed > len(self.buffer) and rest * 2 >= len(self.buffer):
            buffer = bytearray(min(needed, max(4 * len(self.buffer), FIRST_GROWTH)))
            buffer[:rest] = self.view[self.start : self.end]
            self.buffer, self.view = buffer, memoryview(buffer)
        elif self.start and self.start + needed > len(self.buffer):
            self.buffer[:rest] = self.buffer[self.start : self.end]
        else:
            return
        self.start, self.end = 0, rest

    def handle(self, begin: int, end: int) -> None:
        """One request: finds its handler, runs it, answers now or leaves that to a task."""
        started = self.last_active = perf_counter()
        try:
            api_key, version, correlation_id, client_length = _REQUEST_HEADER.unpack_from(self.buffer, begin)
            body = begin + 10
            client_id = None
            if client_length > 0:
                client_id = str(self.view[body : body + client_length], "utf-8")
                body += client_length
            api = APIS.get(api_key)
            if api is None or not api.first <= version <= api.last:
                self.unsupported(api_key, version, correlation_id)
                return
            if messages.is_flexible(api_key, version):
                body = skip_tagged_fields(self.buffer, body, end)
            if body > end:
                raise messages.Malformed("the header is longer than the request")
        except (ValueError, IndexError, struct.error) as error:
            self.refuse(f"a malformed request: {error}")
            return
        context = RequestContext(self.broker, self, api_key, version, correlation_id, client_id, started)
        if self.broker.faults.active and self.broker.faults.apply(api, context, self.buffer[begin:end], body - begin):
            return
        self.run(api, context, self.buffer, body, end, end - begin)

    def run(self, api: router.Api, context: RequestContext, buffer: bytearray, body: int, end: int, size: int) -> None:
        """Calls the handler with the body at `buffer[body:end]`; coroutines go on in a task of this connection."""
        try:
            if api.raw:
                answer = api.handler(context, buffer, body, end)
                if answer is DEFERRED:
                    self.busy = True
                elif asyncio.iscoroutine(answer):
                    self.start_task(self.finish_raw(context, answer, size))
                else:
                    self.respond(context, answer, size)
                return
            request = messages.decode_request(api.key, context.version, bytes(memoryview(buffer)[body:end]))
            if api.is_async:
                self.start_task(self.finish(context, api.handler, request, size))
                return
            response = router.encode(api.key, context.version, api.handler(request, context))
        except messages.Malformed as error:
            self.refuse(str(error))
            return
        except KafkaError as error:
            self.respond_error(context, error)
            return
        except Exception as error:  # a bug must cost one response, not the connection's loop
            self.respond_error(context, router.unexpected(api.key, error))
            return
        self.respond(context, (response,), size)

    def start_task(self, coroutine: Any) -> None:
        self.busy = True
        self.task = asyncio.get_running_loop().create_task(coroutine)

    async def finish(self, context: RequestContext, handler: Any, request: Any, size: int) -> None:
        try:
            answer = await self.synced(handler(request, context))
            response = router.encode(context.api_key, context.version, answer)
        except KafkaError as error:
            self.respond_error(context, error)
        except Exception as error:  # as in run()
            self.respond_error(context, router.unexpected(context.api_key, error))
        else:
            self.respond(context, (response,), size)
        self.resume()

    async def finish_raw(self, context: RequestContext, waiting: Any, size: int = 0) -> None:
        try:
            answer = await self.synced(waiting)
        except Exception as error:  # as in run()
            self.respond_error(context, router.unexpected(context.api_key, error))
        else:
            self.respond(context, answer, size)
        self.resume()

    async def synced(self, waiting: Awaitable[Any]) -> Any:
        """What the handler says, once the records it wrote to internal topics are as durable as flush.messages asks."""
        unsynced: set[Log] = set()
        UNSYNCED.set(unsynced)
        answer = await waiting
        for written in unsynced:
            await self.broker.logs.flush(written)
        return answer

    def resume(self) -> None:
        """The request under way has been answered: go on with the next."""
        self.busy = False
        self.task = None
        self.on_disconnect = None
        if not self.closing:
            self.advance()

    # -- answers -------------------------------------------------------------------------------------------------

    def respond(self, context: RequestContext, buffers: Any, size: int = 0, error: int = 0) -> None:
        """Sends a response's buffers behind its header."""
        if buffers is NO_RESPONSE or self.closing:
            length = 0
        else:
            length = self.send(context, buffers)
        now = perf_counter()
        self.last_active = now
        self.broker.metrics.observe(context.api_key, now - context.started, size, length, error)

    def send(self, context: RequestContext, buffers: Sequence[Buffer]) -> int:
        length = 4
        for buffer in buffers:
            length += len(buffer)
        if messages.is_flexible(context.api_key, context.version) and context.api_key != ApiKey.API_VERSIONS:
            header = _RESPONSE_HEADER.pack(length + 1, context.correlation_id) + b"\0"
        else:
            header = _RESPONSE_HEADER.pack(length, context.correlation_id)
        if length < 64 * 1024:
            self.transport.write(b"".join((header, *buffers)))
        else:
            self.transport.writelines((header, *buffers))
        return length + 4

    def respond_error(self, context: RequestContext, error: KafkaError) -> None:
        body = router.error_response(context.api_key, context.version, error)
        if body is None:
            self.refuse(f"{ApiKey(context.api_key).name} failed with {error.code.name} and has no place to say so")
        else:
            self.respond(context, (body,), 0, error.code)

    def unsupported(self, api_key: int, version: int, correlation_id: int) -> None:
        """An unknown ApiVersions version is answered in version 0 so that the client can step down; others close."""
        if api_key != ApiKey.API_VERSIONS:
            self.refuse(f"API key {api_key} version {version}, which is not served")
            return
        context = RequestContext(self.broker, self, api_key, 0, correlation_id, None, perf_counter())
        answer = {"error_code": ErrorCode.unsupported_version, "api_keys": router.served_versions()}
        self.respond(context, (router.encode(api_key, 0, answer),), 0, ErrorCode.unsupported_version)

    def refuse(self, why: str) -> None:
        """Closes a connection that broke the protocol, with one line in the log."""
        quiet.warning(self.peer_host, "closing %s:%d: it sent %s", self.peer_host, self.peer_port, why)
        self.close()

    def close(self) -> None:
        self.closing = True
        self.transport.close()

    def shrink(self) -> None:
        """Gives back a large receive buffer that has not been needed for a while."""
        if len(self.buffer) > SMALL_BUFFER and self.start == self.end and not self.busy:
            self.buffer = bytearray(SMALL_BUFFER)
            self.view = memoryview(self.buffer)
            self.start = self.end = 0


class Server:
    """The listening socket and the set of its connections."""

    SWEEP_SECONDS = 5.0

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.connections: set[Connection] = set()
        self.max_request = int(broker.config["socket.request.max.bytes"])
        self.emptied = asyncio.Event()
        self.listener: asyncio.AbstractServer | None = None
        self.sweeper: asyncio.Task[None] | None = None

    async def listen(self, host: str, port: int) -> int:
        """Starts to accept; returns the port, chosen by the system when 0 was asked."""
        loop = asyncio.get_running_loop()
        self.listener = await loop.create_server(lambda: Connection(self), host or None, port, backlog=1024)
        self.sweeper = loop.create_task(self.sweep())
        return int(self.listener.sockets[0].getsockname()[1])

    def forget(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self.emptied.set()

    async def sweep(self) -> None:
        """Closes connections that were silent for too long and takes back the buffers of quiet ones."""
        while True:
            await asyncio.sleep(self.SWEEP_SECONDS)
            idle_limit = int(self.broker.config["connections.max.idle.ms"]) / 1000
            now = perf_counter()
            for connection in list(self.connections):
                quiet = now - connection.last_active
                if idle_limit >= 0 and quiet > idle_limit and not (connection.busy and not connection.write_paused):
                    log.info("closing %s:%d: idle for %d s", connection.peer_host, connection.peer_port, quiet)
                    connection.transport.abort()
                elif quiet > self.SWEEP_SECONDS:
                    connection.shrink()

    async def stop_accepting(self) -> None:
        if self.sweeper is not None:
            self.sweeper.cancel()
        if self.listener is not None:
            self.listener.close()

    async def close(self, grace: float = 2.0) -> None:
        """Lets requests under way end within `grace` seconds, flushes responses, closes every connection."""
        under_way = [connection.task for connection in self.connections if connection.task is not None]
        if under_way:
            await asyncio.wait(under_way, timeout=grace)
        for connection in list(self.connections):
            connection.close()
        if self.connections:
            self.emptied.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.emptied.wait(), grace)
        for connection in list(self.connections):
            connection.transport.abort()
        if self.listener is not None and sys.version_info >= (3, 12):
            await self.listener.wait_closed()
