"""What the pages talk to: Kafka, and the REST servers that this control center was told of.

There is one Platform in the process, since NiceGUI has one application in it. A server that was not given is None, and
the page that needs it says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from caudal.ui.history import History
from caudal.ui.sampler import EVERY_SECONDS, Sampler
from caudal.ui.services.http import Http
from caudal.ui.services.kafka import Kafka


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where everything is. `client` is librdkafka's configuration."""

    bootstrap: str
    client: dict[str, Any] = field(default_factory=dict)
    registry: str | None = None
    connect: str | None = None
    ksql: str | None = None
    metrics: tuple[str, ...] = ()  # of the brokers, Prometheus pages
    docs: str | None = None  # the folder of the built documentation
    keep_history: bool = True  # in the topic, for the next start
    sample_seconds: float = EVERY_SECONDS


class Platform:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.bootstrap = settings.bootstrap
        self.kafka = Kafka(settings.client, settings.bootstrap)
        self.registry = _http(settings.registry, "Schema Registry")
        self.connect = _http(settings.connect, "Connect")
        self.ksql = _http(settings.ksql, "KSQL")
        self.history = History()
        self.sampler = Sampler(
            self.history, self.kafka, settings.metrics, settings.keep_history, settings.sample_seconds
        )
        given = {"registry": settings.registry, "connect": settings.connect, "ksql": settings.ksql}
        self.urls = {"kafka": settings.bootstrap, **{name: url for name, url in given.items() if url}}

    async def start(self) -> None:
        self.sampler.start()

    async def stop(self) -> None:
        await self.sampler.stop()
        for server in (self.registry, self.connect, self.ksql):
            if server is not None:
                await server.close()
        await self.kafka.close()


_current: list[Platform] = []


def platform() -> Platform:
    """The one of this process."""
    if not _current:
        raise RuntimeError("the control center is not running in this process")
    return _current[0]


def use(chosen: Platform | None) -> None:
    """Make this the platform of the process; None when it ends."""
    _current[:] = [chosen] if chosen is not None else []


def _http(url: str | None, name: str) -> Http | None:
    return Http(url, name) if url else None
