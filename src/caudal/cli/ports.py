"""Who holds a TCP port: the process behind 'address already in use'. Uses psutil, imported only when somebody asks."""

from __future__ import annotations

import errno
import socket
from typing import NamedTuple


class PortHolder(NamedTuple):
    """The listening process; pid is None when the system does not let us see it (another user's process)."""

    pid: int | None
    program: str

    def __str__(self) -> str:
        return f"{self.program} (pid {self.pid})" if self.pid is not None else self.program


def port_holder(port: int) -> PortHolder | None:
    """The process that listens on `port`, or None when nobody does."""
    import psutil

    try:
        connections = psutil.net_connections(kind="tcp")
    except (psutil.AccessDenied, OSError):
        return PortHolder(None, "a process of another user") if is_listening("127.0.0.1", port) else None
    found = False
    for connection in connections:
        if connection.status != psutil.CONN_LISTEN or not connection.laddr or connection.laddr.port != port:
            continue
        found = True
        if connection.pid is None:
            continue
        try:
            process = psutil.Process(connection.pid)
            return PortHolder(connection.pid, _program(process.name(), process.cmdline()))
        except psutil.Error:
            return PortHolder(connection.pid, "a process")
    return PortHolder(None, "a process of another user") if found else None


def is_listening(host: str, port: int, timeout: float = 0.5) -> bool:
    """Whether something accepts connections there."""
    try:
        with socket.create_connection((host, port), timeout):
            return True
    except OSError:
        return False


def is_taken(host: str, port: int) -> bool:
    """Whether binding this address fails because somebody else has it.

    Other troubles are left to whoever binds in earnest.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    return False


def taken_message(port: int, flag: str) -> str:
    """The sentence for a port that is in use, with who holds it and the way out."""
    holder = port_holder(port)
    return f"port {port} is taken by {holder or 'another process'}; stop it, or choose another port with {flag}"


def _program(name: str, command: list[str]) -> str:
    # An interpreter's own name says nothing: show the script or module it runs.
    if name.startswith(("python", "java")) and len(command) > 1:
        interesting = [part for part in command[1:] if not part.startswith("-")]
        shown = " ".join(part.rsplit("/", 1)[-1] for part in interesting[:2])
        return f"{name} {shown}".strip()
    return name
