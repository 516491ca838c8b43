"""How every component is: whether it answers, and which version it is. One short request each, all at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from caudal import __version__
from caudal.ui.services.errors import UiError
from caudal.ui.services.http import Http

if TYPE_CHECKING:
    from caudal.ui.platform import Platform

SECONDS = 3.0
# Where each says its version, and under which names.
VERSIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "registry": ("/v1/metadata/version", ("version",)),
    "connect": ("/", ("version",)),
    "ksql": ("/info", ("KsqlServerInfo", "version")),
}


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    address: str
    version: str
    state: str  # up, down or absent
    page: str  # of the control center, where there is one
    trouble: str = ""


async def components(platform: Platform) -> list[Component]:
    """Kafka, the three servers whether given or not, and the control center itself."""
    found = await asyncio.gather(
        _kafka(platform),
        _server(platform.registry, "registry", "Schema Registry", "/schemas"),
        _server(platform.connect, "connect", "Connect", "/connect"),
        _server(platform.ksql, "ksql", "KSQL", "/ksql"),
    )
    return [*found, Component("Control center", "", __version__, "up", "")]


async def _kafka(platform: Platform) -> Component:
    # Apache Kafka does not say its version; a broker of ours does, in its metrics.
    version = f"Caudal {platform.sampler.broker_version}" if platform.sampler.broker_version else ""
    try:
        await platform.kafka.cluster()
    except UiError as error:
        return Component("Kafka", platform.bootstrap, version, "down", "/brokers", error.message)
    return Component("Kafka", platform.bootstrap, version, "up", "/brokers")


async def _server(server: Http | None, key: str, name: str, page: str) -> Component:
    if server is None:
        return Component(name, "", "", "absent", page)
    path, names = VERSIONS[key]
    try:
        answer = await server.request("GET", path, timeout=SECONDS)
    except UiError as error:
        return Component(name, server.url, "", "down", page, error.message)
    return Component(name, server.url, version_in(answer, names), "up", page)


def version_in(answer: Any, names: tuple[str, ...]) -> str:
    """The value at these names; empty where the server says nothing there."""
    for name in names:
        answer = answer.get(name) if isinstance(answer, dict) else None
    return str(answer or "")
