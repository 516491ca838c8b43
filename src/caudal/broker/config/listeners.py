"""`listeners` and `advertised.listeners`: text such as PLAINTEXT://host:port into addresses, with Kafka's checks.

Only PLAINTEXT is served so far. A listener of another security protocol is refused at the start: answering it in the
clear would be worse than not starting.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from caudal.broker.config.definition import ConfigError

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SERVED_PROTOCOLS = ("PLAINTEXT",)

# The host may be empty, a name, an IPv4 address, or an IPv6 address in brackets.
_LISTENER = re.compile(r"([A-Za-z0-9_.\-]+)://(?:\[([0-9A-Fa-f:.%]+)\]|([0-9A-Za-z\-._%]*)):(-?\d+)")


@dataclass(frozen=True, slots=True)
class Listener:
    """One address; an empty host means every interface, port 0 means any free port."""

    name: str
    protocol: str
    host: str
    port: int

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def protocol_map(text: str) -> dict[str, str]:
    """listener.security.protocol.map into name → protocol."""
    protocols: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, protocol = (part.strip() for part in pair.partition(":"))
        if not name or protocol not in SECURITY_PROTOCOLS:
            raise ConfigError(
                f"listener.security.protocol.map has {pair!r}; write NAME:PROTOCOL with a protocol out of "
                f"{', '.join(SECURITY_PROTOCOLS)}."
            )
        protocols[name.upper()] = protocol
    return protocols


def parse_listeners(values: Sequence[str], protocols: dict[str, str], *, setting: str = "listeners") -> list[Listener]:
    """Addresses of one setting, in order; names are unique, and ports too where the setting is `listeners`."""
    found: list[Listener] = []
    for value in values:
        match = _LISTENER.fullmatch(value)
        if match is None:
            raise ConfigError(
                f"{setting} has {value!r}; write NAME://host:port, for example PLAINTEXT://127.0.0.1:9092."
            )
        name = match[1].upper()
        port = int(match[4])
        if not 0 <= port <= 65535:
            raise ConfigError(f"{setting} has port {port} in {value!r}; a port is between 0 and 65535.")
        protocol = protocols.get(name)
        if protocol is None:
            raise ConfigError(
                f"{setting} names the listener {name}, which has no security protocol; "
                f"add {name}:PLAINTEXT to listener.security.protocol.map."
            )
        if protocol not in SERVED_PROTOCOLS:
            raise ConfigError(
                f"{setting} asks for {protocol} on {value!r}; this broker serves {', '.join(SERVED_PROTOCOLS)} only."
            )
        found.append(Listener(name, protocol, match[2] or match[3] or "", port))
    names = [listener.name for listener in found]
    if len(set(names)) != len(names):
        raise ConfigError(f"{setting} uses a listener name twice; each listener needs its own name.")
    if setting == "listeners":
        # One port may be shared by an IPv4 and an IPv6 address, as in Kafka.
        bound = [(":" in listener.host, listener.port) for listener in found if listener.port != 0]
        if len(set(bound)) != len(bound):
            raise ConfigError(f"{setting} uses a port twice; each listener needs its own port.")
    return found


def check_advertised(listeners: Sequence[Listener], advertised: Sequence[Listener]) -> None:
    known = {listener.name for listener in listeners}
    for listener in advertised:
        if listener.name not in known:
            raise ConfigError(f"advertised.listeners names {listener.name}, which is not in listeners.")
        if listener.host in ("", "0.0.0.0", "::"):
            raise ConfigError(
                "advertised.listeners cannot be 0.0.0.0 or empty; "
                "give the address under which clients reach this broker."
            )
