"""This machine's network: ports, localhost, its own name, and proxies that catch what is meant for localhost."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from caudal.cli.doctor.check import Answer, Situation, check, note, ok, trouble
from caudal.cli.ports import port_holder

PORTS = {
    9092: ("broker", "--kafka-port"),
    9404: ("metrics", "--metrics-port"),
    8081: ("Schema Registry", "--registry-port"),
    8083: ("Connect", "--connect-port"),
    8088: ("KSQL", "--ksql-port"),
    9021: ("control center", "--ui-port"),
}
PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


@check("ports")
def check_ports(situation: Situation) -> Iterator[Answer]:
    meant = {port for _, port in situation.cluster.addresses()} if situation.bootstrap_given else set()
    meant |= {urlsplit(url).port or 80 for url in situation.services.values()}
    held = {port: holder for port in PORTS if (holder := port_holder(port)) is not None}
    free = [str(port) for port in PORTS if port not in held]
    if free:
        yield ok(f"free: {', '.join(free)}")
    for port, holder in held.items():
        what, flag = PORTS[port]
        if "caudal" in holder.program or port in meant:
            yield ok(f"{port} ({what}) is held by {holder}")
        else:
            stop = f"kill {holder.pid}" if holder.pid is not None else "stop it"
            yield note(f"{port} ({what}) is held by {holder}", f"{stop}, or start with another port: {flag} N")


@check("localhost")
def check_localhost(_: Situation) -> Iterator[Answer]:
    """Servers listen on 127.0.0.1; where localhost means ::1 only, nobody finds them under that name."""
    fix = "add the line '127.0.0.1 localhost' to /etc/hosts, or write 127.0.0.1 instead of localhost"
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo("localhost", None, type=socket.SOCK_STREAM)}
    except OSError as error:
        yield trouble(f"the name localhost means nothing here: {error.strerror}", fix)
        return
    if "127.0.0.1" in found:
        yield ok(f"localhost is {', '.join(sorted(found))}")
    elif all(":" in address for address in found):
        yield trouble(f"localhost is {', '.join(sorted(found))} only, and servers listen on 127.0.0.1", fix)
    else:
        yield trouble(f"localhost is {', '.join(sorted(found))}, which is not this machine", fix)


@check("host name")
def check_host_name(_: Situation) -> Iterator[Answer]:
    name = socket.gethostname()
    try:
        addresses = {str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except OSError:
        yield trouble(
            f"this machine's own name, {name}, cannot be resolved: Spark and `--host 0.0.0.0` need it",
            f"echo '127.0.1.1 {name}' | sudo tee -a /etc/hosts",
        )
        return
    yield ok(f"{name} is {', '.join(sorted(addresses))}")


@check("proxies")
def check_proxies(_: Situation) -> Iterator[Answer]:
    set_here = [name for name in PROXIES if os.environ.get(name)]
    if not set_here:
        return
    excepted = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    names = {part.strip().lstrip(".") for part in excepted.split(",")}
    missing = [host for host in ("localhost", "127.0.0.1") if host not in names and "*" not in names]
    if missing:
        yield note(
            f"{set_here[0]} is set and {' and '.join(missing)} not excepted: curl and browsers ask the proxy for "
            "servers of this machine (Caudal's own commands do not)",
            f"export NO_PROXY={','.join(filter(None, [excepted, *missing]))}",
        )
    else:
        yield ok(f"{set_here[0]} is set, and leaves this machine out")
