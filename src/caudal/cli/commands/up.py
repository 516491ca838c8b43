"""`caudal up`: every server of the platform in one process tree.

For now that is the broker, the Schema Registry, Connect and KSQL; the control center joins them when it is built.

Each server is a child process of its own command, started with a pipe to say that it is ready and a stdin that ends
when this process does: whatever happens to the parent, kill -9 included, no child stays behind. A server that dies
takes the rest down, with its own words on the screen.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from caudal.cli.broker_process import DEFAULT_HOST, DEFAULT_PORT, STOP_SECONDS
from caudal.cli.clients import check_reachable
from caudal.cli.connect_process import DEFAULT_PORT as DEFAULT_CONNECT_PORT
from caudal.cli.connect_process import EXTRA as CONNECT_EXTRA
from caudal.cli.connect_process import is_installed as connect_is_installed
from caudal.cli.errors import CliError, UsageError
from caudal.cli.ksql_process import DEFAULT_PORT as DEFAULT_KSQL_PORT
from caudal.cli.ksql_process import EXTRA as KSQL_EXTRA
from caudal.cli.ksql_process import is_installed as ksql_is_installed
from caudal.cli.ksql_process import missing_java
from caudal.cli.ports import is_taken, taken_message
from caudal.cli.registry_process import DEFAULT_PORT as DEFAULT_REGISTRY_PORT
from caudal.cli.registry_process import EXTRA as REGISTRY_EXTRA
from caudal.cli.registry_process import is_installed as registry_is_installed

READY_SECONDS = 120.0
STOP_WAIT_SECONDS = STOP_SECONDS + 5  # longer than any of the servers gives itself
DEFAULT_DATA = Path("caudal-data")
BROKER, REGISTRY, CONNECT = "Kafka broker", "Schema Registry", "Connect"
BROKER_ADDRESS, REGISTRY_ADDRESS, CONNECT_ADDRESS = "{broker}", "{registry}", "{connect}"

# The servers that are promised but not built: their flags are accepted so that scripts can be written today, and said
# to have no effect.
LATER = {
    "ui_port": "the control center",
}


def register(app: typer.Typer) -> None:
    app.command("up")(up)


def up(
    data: Annotated[Path, typer.Option("--data", help="Folder for everything that is kept.")] = DEFAULT_DATA,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = DEFAULT_HOST,
    kafka_port: Annotated[
        int, typer.Option("--kafka-port", min=0, max=65535, help="Port of the broker.")
    ] = DEFAULT_PORT,
    registry_port: Annotated[
        int,
        typer.Option("--registry-port", min=0, max=65535, help="Port of the Schema Registry; 0 takes a free one."),
    ] = DEFAULT_REGISTRY_PORT,
    connect_port: Annotated[
        int, typer.Option("--connect-port", min=0, max=65535, help="Port of Connect; 0 takes a free one.")
    ] = DEFAULT_CONNECT_PORT,
    ksql_port: Annotated[
        int, typer.Option("--ksql-port", min=0, max=65535, help="Port of KSQL; 0 takes a free one.")
    ] = DEFAULT_KSQL_PORT,
    ui_port: Annotated[
        int | None, typer.Option("--ui-port", min=1, max=65535, help="(comes later) Port of the control center.")
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", min=0, max=65535, help="Port of the broker's /metrics (9404, or a free one)."),
    ] = None,
    bootstrap: Annotated[
        str | None, typer.Option("--bootstrap", metavar="HOST:PORT", help="Use this Kafka and start no broker.")
    ] = None,
    master: Annotated[
        str | None, typer.Option("--master", help="The Spark master of queries and connectors (default: this machine).")
    ] = None,
    allow_folder: Annotated[
        list[Path] | None,
        typer.Option("--allow-folder", metavar="DIR", help="Where connectors may read and write files. Repeatable."),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="(comes later) Fill the platform with a demonstration.")] = False,
    secure: Annotated[bool, typer.Option("--secure", help="(comes later) TLS, users and ACLs.")] = False,
    properties: Annotated[
        list[str] | None, typer.Option("-c", metavar="KEY=VALUE", help="Any Kafka property. Repeatable.")
    ] = None,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "warning",
) -> None:
    """Start the platform (broker, Schema Registry, Connect, KSQL) and print where all listen. Ctrl-C stops it."""
    if secure:
        # Starting in the clear what was asked to be secure would be a lie with consequences.
        raise UsageError(
            "--secure comes with the security part, so nothing was started; leave it out for this machine only"
        )
    notes = _notes({"ui_port": ui_port}, demo)
    has_registry = registry_is_installed()
    if not has_registry:
        notes.append(f"there is no Schema Registry here: {REGISTRY_EXTRA}")
    has_connect = connect_is_installed()
    if not has_connect:
        notes.append(f"there is no Connect here: {CONNECT_EXTRA}")
    no_ksql = missing_java() if ksql_is_installed() else KSQL_EXTRA
    if no_ksql is not None:
        notes.append(f"there is no KSQL here: {no_ksql}")
    if bootstrap is None and kafka_port and is_taken(host, kafka_port):
        raise CliError(taken_message(kafka_port, "--kafka-port"))
    if has_registry and registry_port and is_taken(host, registry_port):
        raise CliError(taken_message(registry_port, "--registry-port"))
    if has_connect and connect_port and is_taken(host, connect_port):
        raise CliError(taken_message(connect_port, "--connect-port"))
    if no_ksql is None and ksql_port and is_taken(host, ksql_port):
        raise CliError(taken_message(ksql_port, "--ksql-port"))
    services: list[Service] = []
    if bootstrap is None:
        settings = [*_schema_check(host, registry_port if has_registry else 0), *(properties or ())]
        services.append(Service(BROKER, _broker_arguments(data, host, kafka_port, metrics_port, settings, log_level)))
    else:
        if not has_registry:
            raise CliError(f"with --bootstrap there is no broker to start, and {REGISTRY_EXTRA}")
        check_reachable(bootstrap)
        notes.append(f"the broker is the one at {bootstrap}; --kafka-port, --metrics-port and -c are the broker's own")
    if has_registry:
        services.append(Service(REGISTRY, _registry_arguments(host, registry_port, bootstrap, log_level)))
    # Both know of each other's servers by their addresses, so that one that took a free port is found.
    others = [*(["--registry", REGISTRY_ADDRESS] if has_registry else []), *(["--master", master] if master else [])]
    if has_connect:
        folders = [word for folder in allow_folder or () for word in ("--allow-folder", str(folder))]
        arguments = _connect_arguments(host, connect_port, bootstrap, log_level)
        services.append(Service(CONNECT, [*arguments, *others, *folders]))
    if no_ksql is None:
        arguments = _ksql_arguments(data, host, ksql_port, bootstrap, log_level)
        services.append(
            Service("KSQL", [*arguments, *others, *(["--connect", CONNECT_ADDRESS] if has_connect else [])])
        )
    supervise(services, notes, data if bootstrap is None else None)


def _schema_check(host: str, registry_port: int) -> list[str]:
    """Whom the broker asks about topics that check schemas. A port that is yet to be chosen cannot be told to it."""
    reached = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return [f"confluent.schema.registry.url=http://{reached}:{registry_port}"] if registry_port else []


def _broker_arguments(
    data: Path, host: str, kafka_port: int, metrics_port: int | None, properties: list[str], log_level: str
) -> list[str]:
    arguments = [
        "broker",
        "--host",
        host,
        "--port",
        str(kafka_port),
        "--data",
        str(data / "broker"),
        "--log-level",
        log_level,
        # One person's machine: nobody is waiting to join, so a first consumer need not wait for company.
        "-c",
        "group.initial.rebalance.delay.ms=0",
    ]
    if metrics_port is not None:
        arguments += ["--metrics-port", str(metrics_port)]
    for item in properties:
        arguments += ["-c", item]
    return arguments


def _registry_arguments(host: str, port: int, bootstrap: str | None, log_level: str) -> list[str]:
    arguments = ["registry", "--host", host, "--port", str(port), "--log-level", log_level]
    return [*arguments, "--bootstrap", bootstrap or BROKER_ADDRESS]


def _connect_arguments(host: str, port: int, bootstrap: str | None, log_level: str) -> list[str]:
    arguments = ["connect", "--host", host, "--port", str(port), "--log-level", log_level]
    return [*arguments, "--bootstrap", bootstrap or BROKER_ADDRESS]


def _ksql_arguments(data: Path, host: str, port: int, bootstrap: str | None, log_level: str) -> list[str]:
    arguments = ["ksql-server", "--host", host, "--port", str(port), "--log-level", log_level]
    return [*arguments, "--data", str(data / "ksql"), "--bootstrap", bootstrap or BROKER_ADDRESS]


def _notes(ports: dict[str, int | None], demo: bool) -> list[str]:
    notes = [
        f"{LATER[name]} is not part of Caudal yet: --{name.replace('_', '-')} has no effect"
        for name, port in ports.items()
        if port
    ]
    if demo:
        notes.append(
            "the demonstration is not part of Caudal yet: --demo has no effect; try `caudal produce` and `consume`"
        )
    return notes


class Service(NamedTuple):
    """One server: its name in the table and the `caudal` arguments that run it.

    BROKER_ADDRESS and the others among them stand for the addresses of those: they may have taken a free port.
    """

    name: str
    arguments: list[str]


class _Running(NamedTuple):
    service: Service
    process: subprocess.Popen[bytes]
    facts: dict[str, Any]


def supervise(services: list[Service], notes: list[str], data: Path | None) -> None:
    """Start the services in order, show the table, wait for a signal or a death, stop all in reverse order."""
    started = time.perf_counter()
    stop = _StopFlag()
    running: list[_Running] = []
    try:
        for service in services:
            running.append(_start(_addressed(service, running), stop))
            if stop.asked:
                return
        _print_addresses(running, notes, data, time.perf_counter() - started)
        while not stop.asked:
            for item in running:
                code = item.process.poll()
                if code is not None:
                    raise CliError(
                        f"{item.service.name} ended by itself with exit code {code}; its last lines are above"
                    )
            stop.wait(0.2)
    finally:
        _stop(running)
    print("stopped")


def _addressed(service: Service, running: list[_Running]) -> Service:
    addresses = {}
    for item in running:
        address = str(item.facts["address"])
        # A server that listens everywhere is asked here.
        for everywhere in ("0.0.0.0", "[::]"):
            address = address.replace(f"{everywhere}:", "127.0.0.1:")
        addresses[item.service.name] = address
    known = {
        BROKER_ADDRESS: addresses.get(BROKER),
        REGISTRY_ADDRESS: addresses.get(REGISTRY),
        CONNECT_ADDRESS: addresses.get(CONNECT),
    }
    return service._replace(arguments=[known.get(item) or item for item in service.arguments])


class _StopFlag:
    """SIGINT and SIGTERM turned into a flag that a wait can be woken by."""

    def __init__(self) -> None:
        self.asked = False
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: object) -> None:
        self.asked = True
        os.write(self._write, b"x")

    def wait(self, seconds: float, *others: int) -> list[int]:
        """Up to `seconds`, or until a signal or one of the `others` can be read; returns the readable others."""
        with selectors.DefaultSelector() as selector:
            for descriptor in (self._read, *others):
                selector.register(descriptor, selectors.EVENT_READ)
            return [key.fd for key, _ in selector.select(seconds) if key.fd in others]


def _start(service: Service, stop: _StopFlag) -> _Running:
    ready_read, ready_write = os.pipe()
    command = [
        sys.executable,
        "-m",
        "caudal.cli.main",
        *service.arguments,
        "--ready-fd",
        str(ready_write),
        "--stop-on-stdin-eof",
    ]
    # A group of its own: Ctrl-C reaches this process only, which then stops the servers in order.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=(ready_write,), start_new_session=True
    )
    os.close(ready_write)
    running = _Running(service, process, {})
    deadline = time.monotonic() + READY_SECONDS
    said = b""
    with os.fdopen(ready_read, "rb", buffering=0) as pipe:
        while not said.endswith(b"\n"):
            if stop.asked or time.monotonic() > deadline:
                break
            if stop.wait(0.2, pipe.fileno()):
                part = pipe.read(4096)
                if not part:
                    break
                said += part
    if stop.asked:
        return running
    if not said.endswith(b"\n"):
        _stop([running])
        # The child has said on stderr what is wrong; one line more says what that means here.
        raise CliError(f"the {service.name} did not start", exit_code=process.returncode or 1)
    running.facts.update(json.loads(said))
    return running


def _stop(running: list[_Running]) -> None:
    for item in reversed(running):
        if item.process.poll() is None:
            item.process.terminate()
        try:
            item.process.wait(STOP_WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"the {item.service.name} did not stop in {STOP_WAIT_SECONDS:.0f} s and is killed", file=sys.stderr)
            item.process.kill()
            item.process.wait()
        if item.process.stdin is not None:
            item.process.stdin.close()


def _print_addresses(running: list[_Running], notes: list[str], data: Path | None, seconds: float) -> None:
    rows = []
    for item in running:
        rows.append((item.service.name, str(item.facts["address"])))
        if item.facts.get("metrics"):
            rows.append(("  metrics", str(item.facts["metrics"])))
    if data is not None:
        rows.append(("Data", str(data.resolve())))
    first, second = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    print(f"Caudal is up after {seconds:.1f} s. Ctrl-C stops it.\n")
    print(f"  ┌─{'─' * first}─┬─{'─' * second}─┐")
    for name, address in rows:
        print(f"  │ {name.ljust(first)} │ {address.ljust(second)} │")
    print(f"  └─{'─' * first}─┴─{'─' * second}─┘")
    for note in notes:
        print(f"  note: {note}")
    print(flush=True)
