"""`caudal up`: what it takes, and which servers of the platform that means.

The broker, the Schema Registry, Connect, KSQL and the control center, and with `--demo` a demonstration. How they are
started, watched and stopped is in `cli/supervision.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caudal.cli.broker_process import DEFAULT_HOST, DEFAULT_PORT
from caudal.cli.clients import check_reachable
from caudal.cli.connect_process import DEFAULT_PORT as DEFAULT_CONNECT_PORT
from caudal.cli.connect_process import EXTRA as CONNECT_EXTRA
from caudal.cli.connect_process import is_installed as connect_is_installed
from caudal.cli.errors import CliError, UsageError
from caudal.cli.http_process import bracketed
from caudal.cli.ksql_process import DEFAULT_PORT as DEFAULT_KSQL_PORT
from caudal.cli.ksql_process import EXTRA as KSQL_EXTRA
from caudal.cli.ksql_process import is_installed as ksql_is_installed
from caudal.cli.ksql_process import missing_java
from caudal.cli.ports import is_taken, taken_message
from caudal.cli.registry_process import DEFAULT_PORT as DEFAULT_REGISTRY_PORT
from caudal.cli.registry_process import EXTRA as REGISTRY_EXTRA
from caudal.cli.registry_process import is_installed as registry_is_installed
from caudal.cli.supervision import Service, metrics_of, supervise
from caudal.cli.supervision import address_of as told
from caudal.cli.ui_process import DEFAULT_PORT as DEFAULT_UI_PORT
from caudal.cli.ui_process import EXTRA as UI_EXTRA
from caudal.cli.ui_process import is_installed as ui_is_installed

DEFAULT_DATA = Path("caudal-data")
BROKER, REGISTRY, CONNECT, KSQL, UI = "Kafka broker", "Schema Registry", "Connect", "KSQL", "Control center"
DEMO, DEMO_PAGE = "Demonstration", "/demos/elections"


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
        int, typer.Option("--ui-port", min=0, max=65535, help="Port of the control center; 0 takes a free one.")
    ] = DEFAULT_UI_PORT,
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
    demo: Annotated[bool, typer.Option("--demo", help="Fill the platform with election nights.")] = False,
    secure: Annotated[bool, typer.Option("--secure", help="(comes later) TLS, users and ACLs.")] = False,
    properties: Annotated[
        list[str] | None, typer.Option("-c", metavar="KEY=VALUE", help="Any Kafka property. Repeatable.")
    ] = None,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "warning",
) -> None:
    """Start the platform (broker, Schema Registry, Connect, KSQL, control center) and print where all listen. Ctrl-C
    stops it."""
    if secure:
        # Starting in the clear what was asked to be secure would be a lie with consequences.
        raise UsageError(
            "--secure comes with the security part, so nothing was started; leave it out for this machine only"
        )
    notes: list[str] = []
    no_ksql = missing_java() if ksql_is_installed() else KSQL_EXTRA
    parts = {
        REGISTRY: _has(REGISTRY, None if registry_is_installed() else REGISTRY_EXTRA, notes),
        CONNECT: _has(CONNECT, None if connect_is_installed() else CONNECT_EXTRA, notes),
        KSQL: _has(KSQL, no_ksql, notes),
        UI: _has(UI, None if ui_is_installed() else UI_EXTRA, notes),
    }
    ports = {
        BROKER: (kafka_port, "--kafka-port"),
        REGISTRY: (registry_port, "--registry-port"),
        CONNECT: (connect_port, "--connect-port"),
        KSQL: (ksql_port, "--ksql-port"),
        UI: (ui_port, "--ui-port"),
    }
    for name, (port, flag) in ports.items():
        starts = bootstrap is None if name == BROKER else parts[name]
        if starts and port and is_taken(host, port):
            raise CliError(taken_message(port, flag))
    broker = bootstrap or told(BROKER)
    services: list[Service] = []
    if bootstrap is None:
        settings = [*_schema_check(host, registry_port if parts[REGISTRY] else 0), *(properties or ())]
        services.append(Service(BROKER, _broker_arguments(data, host, kafka_port, metrics_port, settings, log_level)))
    else:
        if not parts[REGISTRY]:
            raise CliError(f"with --bootstrap there is no broker to start, and {REGISTRY_EXTRA}")
        check_reachable(bootstrap)
        notes.append(f"the broker is the one at {bootstrap}; --kafka-port, --metrics-port and -c are the broker's own")

    def add(name: str, command: str, *arguments: str) -> None:
        port = ports[name][0]
        first = [command, "--host", host, "--port", str(port), "--log-level", log_level, "--bootstrap", broker]
        # One that takes a free port can only be told when it has it; the address of the others is known before.
        expected = f"http://{_reached(host)}:{port}" if port else ""
        services.append(Service(name, [*first, *arguments], expected))

    # All know of each other's servers by their addresses, so that one that took a free port is found.
    registry = ["--registry", told(REGISTRY)] if parts[REGISTRY] else []
    connect = ["--connect", told(CONNECT)] if parts[CONNECT] else []
    ksql = ["--ksql", told(KSQL)] if parts[KSQL] else []
    spark = ["--master", master] if master else []
    if parts[REGISTRY]:
        add(REGISTRY, "registry")
    if parts[CONNECT]:
        folders = [word for folder in allow_folder or () for word in ("--allow-folder", str(folder))]
        add(CONNECT, "connect", *registry, *spark, *folders)
    if parts[KSQL]:
        add(KSQL, "ksql-server", "--data", str(data / "ksql"), *registry, *spark, *connect)
    if parts[UI]:
        figures = ["--metrics", metrics_of(BROKER)] if bootstrap is None else []
        add(UI, "ui", *registry, *connect, *ksql, *figures)
    if demo:
        _add_demo(services, notes, broker, registry, parts)
    supervise(services, notes, data if bootstrap is None else None)


def _has(name: str, missing: str | None, notes: list[str]) -> bool:
    if missing is not None:
        notes.append(f"there is no {name} here: {missing}")
    return missing is None


def _add_demo(
    services: list[Service], notes: list[str], broker: str, registry: list[str], parts: dict[str, bool]
) -> None:
    """The demonstration may fail without the platform; the page that shows it is the control center's."""
    if not _demo_is_installed():
        notes.append("there is no demonstration in this installation: --demo has no effect")
        return
    arguments = ["demo", "elections", "--serve", "--with-chess", "--bootstrap", broker, *registry]
    page = f"{told(UI)}{DEMO_PAGE}" if parts[UI] else ""
    services.append(Service(DEMO, arguments, page, is_server=False))


def _demo_is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("caudal.cli.commands.demo") is not None


def _schema_check(host: str, registry_port: int) -> list[str]:
    """Whom the broker asks about topics that check schemas. A port that is yet to be chosen cannot be told to it."""
    return [f"confluent.schema.registry.url=http://{_reached(host)}:{registry_port}"] if registry_port else []


def _reached(host: str) -> str:
    """Where this machine reaches a server that listens there."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "[::1]"}.get(host, bracketed(host))


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
