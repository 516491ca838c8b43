"""`caudal broker`: from the command line to a running broker, and from a signal to a clean stop.

This path imports no command-line library beyond argparse, no client and nothing that prints prettily: the process
must be up in a third of a second and stay small. The same options are reached through `caudal broker --help`. What a
started broker does is caudal.broker's business.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import gc
import json
import logging
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from caudal.cli.errors import CliError, UsageError

if TYPE_CHECKING:
    import asyncio  # where it runs, not at the top: `caudal up` only reads the constants here

    from caudal.broker.broker import Broker
    from caudal.broker.metrics_server import MetricsServer

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 9092
DEFAULT_METRICS_PORT = 9404
DEFAULT_DATA = Path("caudal-data") / "broker"
DEFAULT_NODE_ID = 1
STOP_SECONDS = 30.0
NOT_YET = {
    "zookeeper": "coordination through ZooKeeper comes with the cluster; leave --zookeeper out for a single broker",
    "controllers": "the metadata quorum comes with the cluster; leave --controllers out for a single broker",
}

log = logging.getLogger("caudal.broker")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `caudal broker --help` shows the options")


def parser() -> argparse.ArgumentParser:
    """The options of `caudal broker`."""
    result = _Parser(
        prog="caudal broker",
        description="Run a Kafka broker.",
        allow_abbrev=False,
        epilog="Properties given with -c win over flags, flags over the file. Ctrl-C or SIGTERM stops cleanly.",
    )
    add = result.add_argument
    add("--host", metavar="H", help=f"address to listen on (default {DEFAULT_HOST}: this machine only)")
    add("--port", type=_port, metavar="N", help=f"port to listen on; 0 takes a free one (default {DEFAULT_PORT})")
    add("--data", type=Path, metavar="DIR", help=f"folder of the logs (default ./{DEFAULT_DATA})")
    add("--node-id", type=int, metavar="N", help=f"number of this broker (default {DEFAULT_NODE_ID})")
    add("--advertised", metavar="HOST[:PORT]", help="address that clients are told to use (default: where it listens)")
    add(
        "--metrics-port",
        type=_port,
        metavar="N",
        help=f"port of /metrics and /health (default {DEFAULT_METRICS_PORT}, or a free one; 0: a free one)",
    )
    add("--metrics-host", default=DEFAULT_HOST, metavar="H", help=f"address of /metrics (default {DEFAULT_HOST})")
    add("--no-metrics", action="store_true", help="serve no /metrics")
    add("--config", type=Path, metavar="FILE", help="a Kafka server.properties file")
    add(
        "-c", dest="properties", action="append", default=[], metavar="KEY=VALUE", help="any Kafka property; repeatable"
    )
    add("--log-level", choices=("debug", "info", "warning", "error"), default="info", help="default info")
    add(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="log lines for people or for machines (default text)",
    )
    add("--zookeeper", metavar="HOST:PORT", help="(comes with the cluster)")
    add("--controllers", metavar="ID@HOST:PORT,…", help="(comes with the cluster)")
    # For a supervisor (`caudal up`, tests): where to say that all is ready, and to stop when the supervisor is gone.
    add("--ready-fd", type=int, default=-1, help=argparse.SUPPRESS)
    add("--stop-on-stdin-eof", action="store_true", help=argparse.SUPPRESS)
    return result


def main(arguments: list[str]) -> int:
    """Run until stopped; the exit code."""
    started = time.perf_counter()
    options = parser().parse_args(arguments)
    for name, reason in NOT_YET.items():
        if getattr(options, name):
            raise UsageError(reason)
    from caudal.broker import logs

    logs.set_up(options.log_level, options.log_format)
    properties = broker_properties(options)
    import asyncio

    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(options, properties, started))


def broker_properties(options: argparse.Namespace) -> dict[str, str]:
    """Kafka's properties from the file, the flags and -c, in this order; what none of them says gets Caudal's
    defaults.
    """
    from caudal.broker.config import ConfigError, read_properties

    try:
        properties = read_properties(options.config) if options.config else {}
    except ConfigError as error:
        raise CliError(str(error).rstrip(".")) from None
    host, port = options.host or DEFAULT_HOST, DEFAULT_PORT if options.port is None else options.port
    if options.host is not None or options.port is not None or "listeners" not in properties:
        properties["listeners"] = f"PLAINTEXT://{_bracketed(host)}:{port}"
        if "advertised.listeners" in properties and options.advertised is None:
            # The file's address belonged to the file's listener.
            del properties["advertised.listeners"]
    if options.advertised is not None:
        properties["advertised.listeners"] = f"PLAINTEXT://{_advertised(options.advertised, port)}"
    elif host in ("0.0.0.0", "::", "") and "advertised.listeners" not in properties:
        # "Every address" is none that a client could connect to.
        properties["advertised.listeners"] = f"PLAINTEXT://{socket.gethostname()}:{port}"
    if options.data is not None or not {"log.dirs", "log.dir"} & properties.keys():
        properties.pop("log.dir", None)
        properties["log.dirs"] = str(options.data or DEFAULT_DATA)
    if options.node_id is not None or not {"node.id", "broker.id"} & properties.keys():
        properties.pop("broker.id", None)
        properties["node.id"] = str(DEFAULT_NODE_ID if options.node_id is None else options.node_id)
    for item in options.properties:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"-c takes KEY=VALUE, not '{item}'")
        properties[name.strip()] = value.strip()
    return properties


async def _run(options: argparse.Namespace, properties: dict[str, str], started: float) -> int:
    import asyncio

    from caudal.broker.broker import Broker
    from caudal.broker.config import BrokerConfig, ConfigError

    _keep_freed_memory()
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _on_signal, stopping)
    try:
        broker = Broker(BrokerConfig(properties))
    except ConfigError as error:
        raise UsageError(str(error).rstrip(".")) from None
    metrics: MetricsServer | None = None
    try:
        # A signal during a long recovery must not wait for its end.
        starting = loop.create_task(_start(broker, properties))
        stop_wanted = loop.create_task(stopping.wait())
        await asyncio.wait({starting, stop_wanted}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
            return 0
        starting.result()
        metrics = await _start_metrics(broker, options)
        _say_ready(broker, metrics, options, time.perf_counter() - started)
        if options.stop_on_stdin_eof:
            loop.add_reader(0, _on_stdin, loop, stopping)
        settling = loop.create_task(_freeze_when_settled(broker))
        await stop_wanted
        settling.cancel()
        log.info("stopping")
    finally:
        if metrics is not None:
            await metrics.stop()
        # Stop is safe on a broker that never finished its start.
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await broker.stop()
        except TimeoutError:
            log.error(
                "the stop took longer than %.0f s and was given up; the logs recover at the next start", STOP_SECONDS
            )
    return 0


async def _start(broker: Broker, properties: dict[str, str]) -> None:
    from caudal.broker.config import ConfigError
    from caudal.broker.controller.journal import JournalDamaged
    from caudal.broker.log.store import FolderInUse

    try:
        await broker.start()
    except (ConfigError, JournalDamaged) as error:
        # What is in the folder, not what is on the command line: it is told in a sentence that says what to do.
        raise CliError(str(error).rstrip(".")) from None
    except FolderInUse as error:
        raise CliError(f"{error} with --data") from None
    except OSError as error:
        raise _start_failure(error, properties) from error


def _start_failure(error: OSError, properties: dict[str, str]) -> CliError:
    """The sentence for a port or folder that cannot be used."""
    listener, folder = properties["listeners"], properties.get("log.dirs", properties.get("log.dir", ""))
    # asyncio words its own message and puts the number first; some paths lose errno, so the text is looked at too.
    if error.errno == errno.EADDRINUSE or "address already in use" in str(error).lower():
        from caudal.cli.ports import taken_message

        return CliError(taken_message(int(listener.rsplit(":", 1)[1]), "--port"))
    if error.errno in (errno.EADDRNOTAVAIL, socket.EAI_NONAME) or isinstance(error, socket.gaierror):
        return CliError(f"{listener} is not an address of this machine; give another with --host")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return CliError(
            f"no permission for {error.filename or listener}: choose another --data folder, or a --port above 1023"
        )
    if error.errno == errno.ENOSPC:
        return CliError(f"the disk of {folder} is full; make room, or choose another --data folder")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return CliError(f"{folder} is not a folder; choose another with --data")
    return CliError(f"the broker could not start: {error}")


async def _start_metrics(broker: Broker, options: argparse.Namespace) -> MetricsServer | None:
    if options.no_metrics:
        return None
    from caudal.broker.metrics_server import MetricsServer

    asked = options.metrics_port
    server = MetricsServer(broker, options.metrics_host, DEFAULT_METRICS_PORT if asked is None else asked)
    try:
        await server.start()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise CliError(
                f"/metrics cannot listen on {server.host}:{server.port}: {error.strerror or error}"
            ) from None
        if asked is not None:
            from caudal.cli.ports import taken_message

            raise CliError(taken_message(asked, "--metrics-port")) from None
        # Nobody asked for 9404: a second broker on this machine simply takes another port and says which.
        server = MetricsServer(broker, options.metrics_host, 0)
        await server.start()
    return server


def _say_ready(broker: Broker, metrics: MetricsServer | None, options: argparse.Namespace, seconds: float) -> None:
    address = f"{_bracketed(broker.host)}:{broker.port}"
    page = f"http://{_bracketed(metrics.host)}:{metrics.port}/metrics" if metrics else None
    facts = {
        "node_id": broker.node_id,
        "address": address,
        "metrics": page,
        "seconds": round(seconds, 3),
        "pid": os.getpid(),
    }
    if options.log_format == "json":
        print(json.dumps({"event": "ready", **facts}), flush=True)
    else:
        extra = f", metrics at {page}" if page else ""
        print(f"caudal broker {broker.node_id} is ready at {address} after {seconds:.2f} s{extra}", flush=True)
    if options.ready_fd >= 0:
        with os.fdopen(options.ready_fd, "w") as pipe:
            pipe.write(json.dumps(facts) + "\n")


def _keep_freed_memory() -> None:
    """Lets glibc keep the memory of a sent answer for the next one.

    By default it gives every buffer of a megabyte back at once, and the next read faults its pages in again: more than
    half of the CPU of serving consumers (BENCHMARKS.md). Larger ones it still gives back, or a compression bomb would
    stay in memory. Costs a few megabytes; other C libraries are left alone.
    """
    trim_threshold, mmap_threshold = -1, -3  # malloc.h
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(mmap_threshold, 4 << 20)
    mallopt(trim_threshold, 8 << 20)


async def _freeze_when_settled(broker: Broker) -> None:
    """What is loaded by then lives as long as this process: full collections, which stop the loop, skip it."""
    await broker.settled.wait()
    gc.collect()
    gc.freeze()


def _on_signal(stopping: asyncio.Event) -> None:
    if stopping.is_set():
        log.warning("still stopping; kill -9 ends it at once, and the logs recover at the next start")
    stopping.set()


def _on_stdin(loop: asyncio.AbstractEventLoop, stopping: asyncio.Event) -> None:
    if not os.read(0, 4096):
        loop.remove_reader(0)
        stopping.set()


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is not a port (0 to 65535)")
    return number


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _advertised(text: str, port: int) -> str:
    address = text.rsplit("://", 1)[-1]
    has_port = address.rpartition("]")[2].count(":") == 1
    return address if has_port else f"{_bracketed(address)}:{port}"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except CliError as failure:
        print(f"caudal: {failure.message}", file=sys.stderr)
        sys.exit(failure.exit_code)
