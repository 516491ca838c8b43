"""`caudal ui`: the control center alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caudal.cli.clients import DEFAULT_BOOTSTRAP, Bootstrap
from caudal.cli.http_process import DEFAULT_HOST
from caudal.cli.ui_process import DEFAULT_PORT, Options, run


def register(app: typer.Typer) -> None:
    app.command("ui")(ui)


def ui(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = DEFAULT_HOST,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = DEFAULT_PORT,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    registry: Annotated[str | None, typer.Option("--registry", metavar="URL", help="The Schema Registry.")] = None,
    connect: Annotated[str | None, typer.Option("--connect", metavar="URL", help="The Connect worker.")] = None,
    ksql: Annotated[str | None, typer.Option("--ksql", metavar="URL", help="The KSQL server.")] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metrics", metavar="URL", help="A broker's /metrics (default: its port 9404). Repeatable."),
    ] = None,
    docs: Annotated[
        Path | None, typer.Option("--docs", metavar="DIR", help="The built documentation, to serve at /docs.")
    ] = None,
    history: Annotated[
        bool, typer.Option("--history/--no-history", help="Keep the plots' history in the topic _caudal_metrics.")
    ] = True,
    sample_seconds: Annotated[
        float, typer.Option("--sample-seconds", min=0.1, help="How often the cluster is sampled for the plots.")
    ] = 5.0,
    properties: Annotated[
        list[str] | None, typer.Option("-c", "-X", metavar="KEY=VALUE", help="Any property of librdkafka. Repeatable.")
    ] = None,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
    ready_fd: Annotated[int, typer.Option("--ready-fd", hidden=True)] = -1,
    stop_on_stdin_eof: Annotated[bool, typer.Option("--stop-on-stdin-eof", hidden=True)] = False,
) -> None:
    """Run the control center: topics, groups, schemas, connectors, queries and pipelines in the browser."""
    run(
        Options(
            bootstrap=bootstrap,
            host=host,
            port=port,
            registry=registry,
            connect=connect,
            ksql=ksql,
            metrics=metrics or (),
            docs=docs,
            keep_history=history,
            sample_seconds=sample_seconds,
            properties=properties or (),
            log_level=log_level,
            ready_fd=ready_fd,
            stop_on_stdin_eof=stop_on_stdin_eof,
        )
    )
