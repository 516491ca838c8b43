"""`caudal registry`: the Schema Registry alone."""

from __future__ import annotations

from typing import Annotated

import typer

from caudal.cli.clients import DEFAULT_BOOTSTRAP, Bootstrap
from caudal.cli.http_process import DEFAULT_HOST
from caudal.cli.registry_process import DEFAULT_PORT, Options, run


def register(app: typer.Typer) -> None:
    app.command("registry")(registry)


def registry(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = DEFAULT_HOST,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = DEFAULT_PORT,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    group: Annotated[str, typer.Option("--group", help="Instances of one group share a writer.")] = "schema-registry",
    topic: Annotated[str, typer.Option("--topic", help="The compacted topic that keeps the schemas.")] = "_schemas",
    advertised: Annotated[
        str | None, typer.Option("--advertised", metavar="HOST[:PORT]", help="Where other instances reach this one.")
    ] = None,
    properties: Annotated[
        list[str] | None, typer.Option("-c", "-X", metavar="KEY=VALUE", help="Any property of librdkafka. Repeatable.")
    ] = None,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
    ready_fd: Annotated[int, typer.Option("--ready-fd", hidden=True)] = -1,
    stop_on_stdin_eof: Annotated[bool, typer.Option("--stop-on-stdin-eof", hidden=True)] = False,
) -> None:
    """Run the Schema Registry: schemas by id and by subject, in the topic _schemas."""
    run(
        Options(
            bootstrap=bootstrap,
            host=host,
            port=port,
            group=group,
            topic=topic,
            advertised=advertised,
            properties=properties or (),
            log_level=log_level,
            ready_fd=ready_fd,
            stop_on_stdin_eof=stop_on_stdin_eof,
        )
    )
