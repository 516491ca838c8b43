"""`caudal ksql-server`: KSQL alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caudal.cli.clients import DEFAULT_BOOTSTRAP, Bootstrap
from caudal.cli.http_process import DEFAULT_HOST
from caudal.cli.ksql_process import DEFAULT_DATA, DEFAULT_PORT, DEFAULT_SERVICE_ID, Options, run


def register(app: typer.Typer) -> None:
    app.command("ksql-server")(ksql_server)


def ksql_server(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = DEFAULT_HOST,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = DEFAULT_PORT,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    service_id: Annotated[
        str, typer.Option("--service-id", help="Servers of one service id share streams, tables and queries.")
    ] = DEFAULT_SERVICE_ID,
    registry: Annotated[
        str | None, typer.Option("--registry", metavar="URL", help="The Schema Registry (http://localhost:8081).")
    ] = None,
    connect: Annotated[str | None, typer.Option("--connect", metavar="URL", help="A worker of Connect.")] = None,
    master: Annotated[str | None, typer.Option("--master", help="The Spark master that runs queries.")] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="How many tasks of queries run at the same time.")
    ] = None,
    data: Annotated[Path, typer.Option("--data", help="Folder for the state of queries.")] = DEFAULT_DATA,
    extensions: Annotated[
        Path | None, typer.Option("--extensions", metavar="DIR", help="Folder of Python files with your functions.")
    ] = None,
    advertised: Annotated[
        str | None, typer.Option("--advertised", metavar="HOST[:PORT]", help="Where other servers reach this one.")
    ] = None,
    properties: Annotated[
        list[str] | None, typer.Option("-c", metavar="KEY=VALUE", help="Any property of KSQL or Streams. Repeatable.")
    ] = None,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
    ready_fd: Annotated[int, typer.Option("--ready-fd", hidden=True)] = -1,
    stop_on_stdin_eof: Annotated[bool, typer.Option("--stop-on-stdin-eof", hidden=True)] = False,
) -> None:
    """Run KSQL: SQL over streams and tables, as ksqlDB's clients know it."""
    options = Options(
        bootstrap=bootstrap,
        host=host,
        port=port,
        advertised=advertised,
        service_id=service_id,
        registry=registry,
        connect=connect,
        master=master,
        threads=threads,
        data=data,
        extensions=extensions,
        properties=properties or (),
        log_level=log_level,
        ready_fd=ready_fd,
        stop_on_stdin_eof=stop_on_stdin_eof,
    )
    run(options)
