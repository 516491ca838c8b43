"""`caudal ksql-server`: KSQL as a process."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from caudal.cli import http_process
from caudal.cli.errors import CliError, UsageError
from caudal.cli.http_process import DEFAULT_HOST

DEFAULT_PORT = 8088
STOP_SECONDS = 25.0  # queries finish their batch and commit
DEFAULT_SERVICE_ID = "default_"
DEFAULT_DATA = Path("caudal-data") / "ksql"
EXTRA = "KSQL needs its extra: pip install 'caudal[ksql]'"


@dataclass(frozen=True, slots=True)
class Options:
    bootstrap: str
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    advertised: str | None = None
    service_id: str = DEFAULT_SERVICE_ID
    registry: str | None = None
    connect: str | None = None
    master: str | None = None
    threads: int | None = None
    data: Path = DEFAULT_DATA
    extensions: Path | None = None
    properties: Sequence[str] = ()
    log_level: str = "info"
    ready_fd: int = -1
    stop_on_stdin_eof: bool = False


def is_installed() -> bool:
    """Whether the extra is there."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("hypercorn", "starlette", "pyspark", "lmdb", "fastavro"))


def missing_java() -> str | None:
    """Why Spark cannot run here, in a few words; None where it can."""
    from caudal import jars

    try:
        jars.java()
    except jars.JarError as error:
        return str(error)
    return None


def run(options: Options) -> NoReturn:
    """Until stopped; then this process ends."""
    if not is_installed():
        raise CliError(EXTRA)
    trouble = missing_java()
    if trouble is not None:
        raise CliError(trouble)
    process = http_process.Process(
        name="ksql",
        host=options.host,
        port=options.port,
        log_level=options.log_level,
        ready_fd=options.ready_fd,
        stop_on_stdin_eof=options.stop_on_stdin_eof,
        stop_seconds=STOP_SECONDS,
        # Queries survive a kill, and whoever starts Caudal again must find the port free.
        dies_with_parent=True,
    )
    http_process.run(process, options.bootstrap, lambda listener: _Ksql(options, listener))


class _Ksql:
    def __init__(self, options: Options, listener: socket.socket) -> None:
        if options.extensions is not None:
            if not options.extensions.is_dir():
                raise CliError(f"there is no folder '{options.extensions}' with functions (--extensions)")
            # The processes of queries look there too.
            os.environ["CAUDAL_KSQL_EXT_DIR"] = str(options.extensions.resolve())
        from caudal.ksql.engine.engine import Engine
        from caudal.ksql.server.server import KsqlServer

        url = http_process.advertised_url(options.host, listener.getsockname()[1], options.advertised)
        self._engine = Engine(_settings(options, url))
        self._server = KsqlServer(self._engine, listener, options.host, url)

    async def start(self) -> None:
        from caudal.ksql.errors import KsqlError

        try:
            await self._server.start()
        except KsqlError as error:
            raise CliError(str(error).rstrip(".")) from None

    async def stop(self) -> None:
        await self._server.stop()

    def facts(self) -> dict[str, Any]:
        return {"queries": len(self._engine.catalog.queries)}

    def greeting(self) -> str:
        sources, queries = len(self._engine.catalog.sources), len(self._engine.catalog.queries)
        return f", with {sources} streams and tables and {queries} queries" if sources else ""


def _settings(options: Options, url: str) -> Any:
    from caudal.ksql.engine.settings import EngineSettings

    properties = {}
    for item in options.properties:
        name, found, value = item.partition("=")
        if not found:
            raise UsageError(f"-c takes KEY=VALUE, not '{item}'")
        properties[name.strip()] = value.strip()
    return EngineSettings(
        bootstrap=options.bootstrap,
        service_id=options.service_id,
        url=url,
        registry=options.registry,
        connect=options.connect,
        master=options.master,
        threads=options.threads,
        state_dir=str(options.data),
        processing_log_topic=f"{options.service_id}ksql_processing_log",
        properties=properties,
    )
