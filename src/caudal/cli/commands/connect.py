"""`caudal connect`: a worker of Connect alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caudal.cli.connect_process import DEFAULT_BOOTSTRAP, DEFAULT_PORT, Options, run
from caudal.cli.http_process import DEFAULT_HOST


def register(app: typer.Typer) -> None:
    app.command("connect")(connect)


def connect(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Connectors of a standalone worker.", show_default=False),
    ] = None,
    standalone: Annotated[
        bool, typer.Option("--standalone", help="One worker by itself, with the connectors of these files.")
    ] = False,
    host: Annotated[str | None, typer.Option("--host", help=f"Address to listen on ({DEFAULT_HOST}).")] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help=f"Port to listen on; 0 takes a free one ({DEFAULT_PORT})."),
    ] = None,
    bootstrap: Annotated[
        str | None,
        typer.Option(
            "--bootstrap", "-b", envvar="CAUDAL_BOOTSTRAP", metavar="HOST:PORT",
            help=f"Kafka ({DEFAULT_BOOTSTRAP}).",
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", help="Workers of one group share connectors and tasks (connect-cluster).")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Kafka Connect's worker.properties.")
    ] = None,
    properties: Annotated[
        list[str] | None, typer.Option("-c", metavar="KEY=VALUE", help="Any property of a worker. Repeatable.")
    ] = None,
    plugins: Annotated[
        list[Path] | None, typer.Option("--plugins", metavar="DIR", help="A folder with connectors. Repeatable.")
    ] = None,
    registry: Annotated[
        str | None, typer.Option("--registry", metavar="URL", help="The Schema Registry of converters that need one.")
    ] = None,
    master: Annotated[str | None, typer.Option("--master", help="The Spark master of Spark's connectors.")] = None,
    allow_folder: Annotated[
        list[Path] | None,
        typer.Option(
            "--allow-folder", metavar="DIR", help="Where connectors and ${file:…} may read and write. Repeatable."
        ),
    ] = None,
    advertised: Annotated[
        str | None, typer.Option("--advertised", metavar="HOST[:PORT]", help="Where other workers reach this one.")
    ] = None,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
    ready_fd: Annotated[int, typer.Option("--ready-fd", hidden=True)] = -1,
    stop_on_stdin_eof: Annotated[bool, typer.Option("--stop-on-stdin-eof", hidden=True)] = False,
) -> None:  # fmt: skip
    """Run a worker of Connect: data in and out of topics without code."""
    run(
        Options(
            bootstrap=bootstrap,
            host=host,
            port=port,
            advertised=advertised,
            group=group,
            config=config,
            standalone=standalone,
            files=files or (),
            properties=properties or [],
            plugins=plugins or (),
            registry=registry,
            master=master,
            allowed_folders=allow_folder or (),
            log_level=log_level,
            ready_fd=ready_fd,
            stop_on_stdin_eof=stop_on_stdin_eof,
        )
    )
