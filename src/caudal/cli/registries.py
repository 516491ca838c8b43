"""The registry of a command: its flag, and a client whose errors are sentences."""

from __future__ import annotations

from typing import Annotated

import typer

Registry = Annotated[
    str | None,
    typer.Option(
        "--registry",
        envvar="CAUDAL_REGISTRY",
        metavar="URL",
        help="Schema Registry, or several with commas (default: http://localhost:8081).",
    ),
]
