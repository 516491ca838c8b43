"""`caudal registry`: from the command line to a running Schema Registry, and from a signal to a clean stop."""

from __future__ import annotations

import asyncio
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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from caudal.cli.errors import CliError, UsageError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8081
STOP_SECONDS = 10.0
GIVE_UP_SECONDS = 15.0
BACKLOG = 2048
EXTRA = "the Schema Registry needs its extra: pip install 'caudal[registry]'"
# Of the group's member only: the other clients would warn about them.
MEMBER_PROPERTIES = ("session.timeout.ms", "heartbeat.interval.ms", "group.instance.id", "max.poll.interval.ms")

log = logging.getLogger("caudal.registry")


@dataclass(frozen=True, slots=True)
class Options:
    bootstrap: str
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    group: str = "schema-registry"
    topic: str = "_schemas"
    advertised: str | None = None
    properties: Sequence[str] = ()
    log_level: str = "info"
    ready_fd: int = -1
    stop_on_stdin_eof: bool = False


def is_installed() -> bool:
    """Whether the extra is there."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("uvicorn", "httptools", "httpx", "fastavro", "jsonschema"))


def run(options: Options) -> NoReturn:
    """Until stopped; then this process ends."""
    started = time.perf_counter()
    if not is_installed():
        raise CliError(EXTRA)
    from caudal.broker import logs
    from caudal.cli.clients import check_reachable

    try:
        logs.set_up(options.log_level)
    except ValueError as error:
        raise UsageError(str(error)) from None
    # The address of the broker is checked first: everything else would only wait for it.
    check_reachable(options.bootstrap)
    listener = bind(options.host, options.port)
    import uvloop

    # No `with`, and no return: both would wait for the threads, and one that waits for an answer of a slow broker (the
    # pen, the end of the log) does so for up to half a minute. Everything that counts has been done by then.
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    try:
        code = runner.run(_run(options, listener, started))
    finally:
        listener.close()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def bind(host: str, port: int) -> socket.socket:
    """Listening already, so that nobody else gets the port while schemas are read. Raises with who holds it."""
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


async def _run(options: Options, listener: socket.socket, started: float) -> int:
    from caudal.registry.errors import RegistryError
    from caudal.registry.server import RegistryServer
    from caudal.registry.topic import TopicRefused

    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    address = f"{_bracketed(options.host)}:{listener.getsockname()[1]}"
    server = RegistryServer(_settings(options, listener.getsockname()[1]), listener, options.host)
    starting = loop.create_task(server.start())
    stop_wanted = loop.create_task(stopping.wait())
    try:
        await asyncio.wait({starting, stop_wanted}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
            return 0
        try:
            starting.result()
        except (TopicRefused, RegistryError) as error:
            raise CliError(str(error).rstrip(".")) from None
        if options.stop_on_stdin_eof:
            loop.add_reader(0, _on_stdin, loop, stopping)
        _say_ready(address, server, options, time.perf_counter() - started)
        # What is loaded by now stays: full collections, which stop the loop, skip it.
        gc.collect()
        gc.freeze()
        await stop_wanted
        log.info("stopping")
    finally:
        # Nothing in this process may hold it longer, not even a client that keeps the GIL: it says where it hung.
        faulthandler.dump_traceback_later(GIVE_UP_SECONDS, exit=True)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await server.stop()
        except TimeoutError:
            log.error("the stop took longer than %.0f s and was given up", STOP_SECONDS)
    return 0


def _settings(options: Options, port: int) -> Any:
    from caudal.cli.clients import client_config
    from caudal.registry.instance import Settings

    if options.advertised:
        address = options.advertised.removeprefix("http://").rstrip("/")
        url = f"http://{address}" if address.rpartition("]")[2].count(":") else f"http://{address}:{port}"
    elif options.host in ("0.0.0.0", "::", ""):
        url = f"http://{socket.gethostname()}:{port}"
    else:
        url = f"http://{_bracketed(options.host)}:{port}"
    client = client_config(options.bootstrap, options.properties)
    member = {name: client.pop(name) for name in MEMBER_PROPERTIES if name in client}
    return Settings(client, url, options.topic, options.group, member)


def _say_ready(address: str, server: Any, options: Options, seconds: float) -> None:
    instance = server.instance
    facts = {
        "address": f"http://{address}",
        "metrics": f"http://{address}/metrics",
        "subjects": len(instance.index.subjects),
        "writer": instance.is_writer,
        "seconds": round(seconds, 3),
        "pid": os.getpid(),
    }
    print(
        f"caudal registry is ready at http://{address} after {seconds:.2f} s, with {facts['subjects']} subjects"
        f"{'' if instance.is_writer else '; another instance writes'}",
        flush=True,
    )
    if instance.index.broken:
        log.warning("%d records of %s cannot be read and are skipped", instance.index.broken, options.topic)
    if options.ready_fd >= 0:
        with os.fdopen(options.ready_fd, "w") as pipe:
            pipe.write(json.dumps(facts) + "\n")


def _on_stdin(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    if not os.read(0, 4096):
        loop.remove_reader(0)
        stopping.set()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
