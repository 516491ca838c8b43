"""Whether an HTTP request means this server: the Host header names this machine as the operator exposed it.

A web page can make a browser ask any port of this machine (DNS rebinding); what it cannot do is choose the Host header.
"""

from __future__ import annotations

import socket


def names_us(host_header: str, bound: str, *own: str) -> bool:
    """`bound` is what the server listens on, `own` are further names of it."""
    host = host_of(host_header)
    if host in {"localhost", "127.0.0.1", "::1", bound.lower()}:
        return True
    if _is_loopback(bound):
        return False
    # Exposed on purpose: addresses and this machine's own names are fine; a stranger's name is what rebinding uses.
    names = {name.lower() for name in own}
    return _is_address(host) or host in names | {socket.gethostname().lower(), socket.getfqdn().lower()}


def host_of(header: str) -> str:
    """The host without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


def _is_address(host: str) -> bool:
    import ipaddress

    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or (host.startswith("127.") and _is_address(host))
