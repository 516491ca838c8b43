"""An HTTP server as a process: the port taken before anything is loaded, a word when it is ready, a clean stop.

The registry and KSQL are run this way. `caudal up` gives such a process a pipe to say that it is ready on, and a stdin
that ends when the parent does.
"""

from __future__ import annotations

import errno
import faulthandler
import gc
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from caudal.cli.errors import CliError, UsageError

if TYPE_CHECKING:
    import asyncio  # where it runs, not at the top: `caudal up` only reads the constants here, and stays small

DEFAULT_HOST = "127.0.0.1"
GIVE_UP_SECONDS = 5.0  # after the time that a stop may take
BACKLOG = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What every such command takes."""

    name: str  # of the server, in messages and the log
    host: str
    port: int
    log_level: str
    ready_fd: int = -1
    stop_on_stdin_eof: bool = False
    stop_seconds: float = 10.0
    dies_with_parent: bool = False  # a parent that was killed is not outlived by a stop that takes its time


class Server(Protocol):
    async def start(self) -> None:
        """Returns when it serves. What the operator has to hear is raised as CliError."""

    async def stop(self) -> None:
        """Safe on a server that never finished its start."""

    def facts(self) -> dict[str, Any]:
        """What is told to whoever started the process, beside the address."""

    def greeting(self) -> str:
        """What the line that says that it is ready ends with."""


def run(process: Process, bootstrap: str, make: Callable[[socket.socket], Server]) -> NoReturn:
    """Until stopped; then this process ends. `make` gets the socket that listens already."""
    started = time.perf_counter()
    from caudal.broker import logs
    from caudal.cli.clients import check_reachable

    try:
        logs.set_up(process.log_level)
    except ValueError as error:
        raise UsageError(str(error)) from None
    # The address of the broker is checked first: everything else would only wait for it.
    check_reachable(bootstrap)
    listener = bind(process.host, process.port)
    import asyncio

    import uvloop

    # No `with`, and no return: both would wait for the threads, and one that waits for an answer of a slow broker (the
    # pen, the end of the log) does so for up to half a minute. Everything that counts has been done by then.
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    try:
        runner.run(_run(process, listener, make, started))
    finally:
        listener.close()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def bind(host: str, port: int) -> socket.socket:
    """Listening already, so that nobody else gets the port while the server loads. Raises with who holds it."""
    from caudal.cli.ports import is_taken, taken_message

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # SO_REUSEADDR lets a restart have its port back; that somebody listens there is asked first.
    if port and is_taken(host, port):
        raise CliError(taken_message(port, "--port"))
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise CliError(taken_message(port, "--port")) from None
        if error.errno in (errno.EACCES, errno.EPERM):
            raise CliError(f"no permission to listen on port {port}: choose a --port above 1023") from None
        raise CliError(f"{host} is not an address of this machine; give another with --host") from None
    return listener


async def _run(
    process: Process, listener: socket.socket, make: Callable[[socket.socket], Server], started: float
) -> None:
    import asyncio

    log = logging.getLogger(f"caudal.{process.name}")
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    server = make(listener)
    starting = loop.create_task(server.start())
    stop_wanted = loop.create_task(stopping.wait())
    try:
        await asyncio.wait({starting, stop_wanted}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
            return
        starting.result()
        if process.stop_on_stdin_eof:
            loop.add_reader(0, _on_stdin, process, loop, stopping)
        _say_ready(process, f"{bracketed(process.host)}:{listener.getsockname()[1]}", server, started)
        # What is loaded by now stays: full collections, which stop the loop, skip it.
        gc.collect()
        gc.freeze()
        await stop_wanted
        log.info("stopping")
    finally:
        # Nothing in this process may hold it longer, not even a client that keeps the GIL: it says where it hung.
        faulthandler.dump_traceback_later(process.stop_seconds + GIVE_UP_SECONDS, exit=True)
        try:
            async with asyncio.timeout(process.stop_seconds):
                await server.stop()
        except TimeoutError:
            log.error("the stop took longer than %.0f s and was given up", process.stop_seconds)


def _say_ready(process: Process, address: str, server: Server, started: float) -> None:
    seconds = time.perf_counter() - started
    print(f"caudal {process.name} is ready at http://{address} after {seconds:.2f} s{server.greeting()}", flush=True)
    if process.ready_fd >= 0:
        facts = {
            "address": f"http://{address}",
            "metrics": f"http://{address}/metrics",
            **server.facts(),
            "seconds": round(seconds, 3),
            "pid": os.getpid(),
        }
        with os.fdopen(process.ready_fd, "w") as pipe:
            pipe.write(json.dumps(facts) + "\n")


def _on_stdin(process: Process, loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    if os.read(0, 4096):
        return
    if process.dies_with_parent and not stopping.is_set():
        os._exit(1)
    loop.remove_reader(0)
    stopping.set()


def advertised_url(host: str, port: int, advertised: str | None) -> str:
    """Where other servers reach this one."""
    if advertised:
        address = advertised.removeprefix("http://").rstrip("/")
        return f"http://{address}" if address.rpartition("]")[2].count(":") else f"http://{address}:{port}"
    if host in ("0.0.0.0", "::", ""):
        return f"http://{socket.gethostname()}:{port}"
    return f"http://{bracketed(host)}:{port}"


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
