"""`caudal registry`: the Schema Registry as a process."""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from caudal.cli import http_process
from caudal.cli.errors import CliError
from caudal.cli.http_process import DEFAULT_HOST

DEFAULT_PORT = 8081
EXTRA = "the Schema Registry needs its extra: pip install 'caudal[registry]'"
# Of the group's member only: the other clients would warn about them.
MEMBER_PROPERTIES = ("session.timeout.ms", "heartbeat.interval.ms", "group.instance.id", "max.poll.interval.ms")

log = logging.getLogger("caudal.registry")


@dataclass(frozen=True, slots=True)
class Options:
    bootstrap: str
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    group: str = "schema-registry"
    topic: str = "_schemas"
    advertised: str | None = None
    properties: Sequence[str] = ()
    log_level: str = "info"
    ready_fd: int = -1
    stop_on_stdin_eof: bool = False


def is_installed() -> bool:
    """Whether the extra is there."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("uvicorn", "httptools", "httpx", "fastavro", "jsonschema"))


def run(options: Options) -> NoReturn:
    """Until stopped; then this process ends."""
    if not is_installed():
        raise CliError(EXTRA)
    process = http_process.Process(
        name="registry",
        host=options.host,
        port=options.port,
        log_level=options.log_level,
        ready_fd=options.ready_fd,
        stop_on_stdin_eof=options.stop_on_stdin_eof,
    )
    http_process.run(process, options.bootstrap, lambda listener: _Registry(options, listener))


class _Registry:
    def __init__(self, options: Options, listener: socket.socket) -> None:
        from caudal.registry.server import RegistryServer

        self._topic = options.topic
        self._server = RegistryServer(_settings(options, listener.getsockname()[1]), listener, options.host)

    async def start(self) -> None:
        from caudal.registry.errors import RegistryError
        from caudal.registry.topic import TopicRefused

        try:
            await self._server.start()
        except (TopicRefused, RegistryError) as error:
            raise CliError(str(error).rstrip(".")) from None
        broken = self._server.instance.index.broken
        if broken:
            log.warning("%d records of %s cannot be read and are skipped", broken, self._topic)

    async def stop(self) -> None:
        await self._server.stop()

    def facts(self) -> dict[str, Any]:
        instance = self._server.instance
        return {"subjects": len(instance.index.subjects), "writer": instance.is_writer}

    def greeting(self) -> str:
        instance = self._server.instance
        other = "" if instance.is_writer else "; another instance writes"
        return f", with {len(instance.index.subjects)} subjects{other}"


def _settings(options: Options, port: int) -> Any:
    from caudal.cli.clients import client_config
    from caudal.registry.instance import Settings

    url = http_process.advertised_url(options.host, port, options.advertised)
    client = client_config(options.bootstrap, options.properties)
    member = {name: client.pop(name) for name in MEMBER_PROPERTIES if name in client}
    return Settings(client, url, options.topic, options.group, member)
