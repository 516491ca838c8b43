"""`caudal ui`: the control center as a process."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from caudal.cli import http_process
from caudal.cli.errors import CliError
from caudal.cli.http_process import DEFAULT_HOST

DEFAULT_PORT = 9021
EXTRA = "the control center needs its extra: pip install 'caudal[ui]'"


@dataclass(frozen=True, slots=True)
class Options:
    bootstrap: str
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    registry: str | None = None
    connect: str | None = None
    ksql: str | None = None
    metrics: Sequence[str] = ()
    docs: Path | None = None
    keep_history: bool = True
    sample_seconds: float = 5.0
    properties: Sequence[str] = ()
    log_level: str = "info"
    ready_fd: int = -1
    stop_on_stdin_eof: bool = False


def is_installed() -> bool:
    """Whether the extra is there."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("nicegui", "uvicorn", "httpx"))


def run(options: Options) -> NoReturn:
    """Until stopped; then this process ends."""
    if not is_installed():
        raise CliError(EXTRA)
    process = http_process.Process(
        name="ui",
        host=options.host,
        port=options.port,
        log_level=options.log_level,
        ready_fd=options.ready_fd,
        stop_on_stdin_eof=options.stop_on_stdin_eof,
    )
    http_process.run(process, options.bootstrap, lambda listener: _Ui(options, listener))


class _Ui:
    def __init__(self, options: Options, listener: socket.socket) -> None:
        from caudal.ui.server import UiServer

        self._server = UiServer(_settings(options), listener, options.host)

    async def start(self) -> None:
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop()

    def facts(self) -> dict[str, Any]:
        return {}

    def greeting(self) -> str:
        return ""


def _settings(options: Options) -> Any:
    from caudal.cli.clients import client_config
    from caudal.ui.platform import Settings

    return Settings(
        bootstrap=options.bootstrap,
        client=client_config(options.bootstrap, options.properties, {"client.id": "caudal-ui"}),
        registry=options.registry,
        connect=options.connect,
        ksql=options.ksql,
        metrics=tuple(options.metrics),
        docs=str(options.docs) if options.docs else None,
        keep_history=options.keep_history,
        sample_seconds=options.sample_seconds,
    )
