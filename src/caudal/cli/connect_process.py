"""`caudal connect`: a worker of Connect as a process."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from caudal.cli import http_process
from caudal.cli.connect_settings import (
    advertised,
    listening,
    properties_of_file,
    typed_properties,
    worker_fields,
)
from caudal.cli.errors import CliError, UsageError
from caudal.cli.http_process import DEFAULT_HOST

if TYPE_CHECKING:
    from caudal.connect.runtime.model import Herder
    from caudal.connect.runtime.settings import WorkerSettings

DEFAULT_PORT = 8083
DEFAULT_BOOTSTRAP = "localhost:9092"
DEFAULT_OFFSETS = Path("caudal-data") / "connect" / "offsets"
STOP_SECONDS = 25.0  # tasks flush and commit
EXTRA = "Connect needs its extra: pip install 'caudal[connect]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """None is what the file says, or the default."""

    bootstrap: str | None = None
    host: str | None = None
    port: int | None = None
    advertised: str | None = None
    group: str | None = None
    config: Path | None = None
    standalone: bool = False
    files: Sequence[Path] = ()
    properties: list[str] = field(default_factory=list)
    plugins: Sequence[Path] = ()
    registry: str | None = None
    master: str | None = None
    allowed_folders: Sequence[Path] = ()
    log_level: str = "info"
    ready_fd: int = -1
    stop_on_stdin_eof: bool = False


def is_installed() -> bool:
    """Whether the extra is there."""
    from importlib.util import find_spec

    names = ("uvicorn", "starlette", "httptools", "httpx", "kafka", "fastavro", "fsspec", "sqlalchemy")
    return all(find_spec(name) is not None for name in names)


def run(options: Options) -> NoReturn:
    """Until stopped; then this process ends."""
    if not is_installed():
        raise CliError(EXTRA)
    if options.files and not options.standalone:
        raise UsageError("files of connectors go with --standalone; for a cluster use `caudal connector create FILE`")
    from caudal.connect.runtime.collector import calm_collector

    calm_collector()
    properties, host, port = properties_of(options)
    bootstrap = properties["bootstrap.servers"]
    process = http_process.Process(
        name="connect",
        host=host,
        port=port,
        log_level=options.log_level,
        ready_fd=options.ready_fd,
        stop_on_stdin_eof=options.stop_on_stdin_eof,
        stop_seconds=STOP_SECONDS,
        # What a task has not committed is done again, and whoever starts Caudal again must find the port free.
        dies_with_parent=True,
    )

    def make(listener: socket.socket) -> _Connect:
        named = options.advertised or advertised(properties)
        url = http_process.advertised_url(host, listener.getsockname()[1], named)
        return _Connect(settings_of(properties, options.standalone, url), options.files, listener, host)

    http_process.run(process, bootstrap, make)


class _Connect:
    def __init__(self, settings: WorkerSettings, files: Sequence[Path], listener: socket.socket, host: str) -> None:
        from caudal.connect.errors import ConnectError
        from caudal.connect.plugins import add_plugin_path
        from caudal.connect.server.server import ConnectServer

        try:
            add_plugin_path(settings.plugin_path)
            self._herder = make_herder(settings, files)
        except ConnectError as error:
            raise CliError(str(error).rstrip(".")) from None
        self._server = ConnectServer(self._herder, listener, host, settings.url)

    async def start(self) -> None:
        from caudal.connect.errors import ConnectError
        from caudal.connect.runtime.model import RestError

        try:
            await self._server.start()
        except (ConnectError, RestError) as error:
            raise CliError(" ".join(str(error).split()).rstrip(".")) from None

    async def stop(self) -> None:
        await self._server.stop()

    def facts(self) -> dict[str, Any]:
        return {"connectors": len(self._herder.connectors())}

    def greeting(self) -> str:
        count = len(self._herder.connectors())
        return f", with {count} connector{'s' if count != 1 else ''}" if count else ""


def make_herder(settings: WorkerSettings, files: Sequence[Path]) -> Herder:
    if settings.mode == "standalone":
        from caudal.connect.runtime.standalone import StandaloneHerder

        return StandaloneHerder(settings, files)
    from caudal.connect.runtime.distributed import DistributedHerder

    return DistributedHerder(settings)


def properties_of(options: Options) -> tuple[dict[str, str], str, int]:
    """All properties, and where to listen. What -c says wins over the flags, and the flags over the file."""
    file = properties_of_file(options.config) if options.config is not None else {}
    typed = typed_properties(options.properties)
    flags = {
        "bootstrap.servers": options.bootstrap,
        "group.id": options.group,
        "schema.registry.url": options.registry,
        "spark.master": options.master,
        "plugin.path": ",".join(map(str, options.plugins)),
        "allowed.folders": ",".join(map(str, options.allowed_folders)),
    }
    properties = {"bootstrap.servers": DEFAULT_BOOTSTRAP, **file}
    properties |= {name: value for name, value in flags.items() if value}
    properties |= typed
    places = (listening(typed), (options.host, options.port), listening(file))
    host = next((host for host, _ in places if host), DEFAULT_HOST)
    return properties, host, next((port for _, port in places if port is not None), DEFAULT_PORT)


def settings_of(properties: dict[str, str], standalone: bool, url: str) -> WorkerSettings:
    from caudal.connect.runtime.settings import WorkerSettings

    fields = worker_fields(properties)
    for folder in fields.get("allowed_folders", ()):
        if not folder.is_dir():
            raise UsageError(f"there is no folder '{folder}' (--allow-folder)")
    if standalone:
        fields.setdefault("offsets_file", DEFAULT_OFFSETS)
    return WorkerSettings(url=url, mode="standalone" if standalone else "distributed", **fields)
