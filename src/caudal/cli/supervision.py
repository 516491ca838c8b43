"""Several of our servers as one process tree: started as soon as they can, watched, stopped in reverse order.

Each server is a child process of its own command, started with a pipe to say that it is ready and a stdin that ends
when this process does: whatever happens to the parent, kill -9 included, no child stays behind. A server that dies
takes the rest down, with its own words on the screen; what is not a server (a demonstration) may end.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from caudal.cli.broker_process import STOP_SECONDS
from caudal.cli.errors import CliError

READY_SECONDS = 120.0
STOP_WAIT_SECONDS = STOP_SECONDS + 5  # longer than any of the servers gives itself
LOOK_SECONDS = 0.2

_PLACEHOLDER = re.compile(r"\{(address|metrics):([^}]+)\}")


class Service(NamedTuple):
    """One server: its name in the table and the `caudal` arguments that run it.

    `address_of(name)` and `metrics_of(name)` among them stand for addresses of others, which may have taken a free
    port. `expected` is its own address where that is known before it runs, or what the table shows of something that
    is no server.
    """

    name: str
    arguments: list[str]
    expected: str = ""
    is_server: bool = True


@dataclass(slots=True)
class Running:
    service: Service
    process: subprocess.Popen[bytes]
    ready: int = -1  # the end of the pipe that it says its facts on; -1 when it has
    said: bytes = b""
    facts: dict[str, Any] = field(default_factory=dict)


def address_of(name: str) -> str:
    return f"{{address:{name}}}"


def metrics_of(name: str) -> str:
    return f"{{metrics:{name}}}"


def supervise(services: Sequence[Service], notes: list[str], data: Path | None) -> None:
    """Start the services, show the table, wait for a signal or a death, stop all in reverse order."""
    started = time.perf_counter()
    stop = StopFlag()
    running: list[Running] = []
    try:
        if not start_all(services, running, stop):
            return
        print_addresses(running, notes, data, time.perf_counter() - started)
        while not stop.asked:
            watch(running)
            stop.wait(LOOK_SECONDS)
    finally:
        stop_all(running)
    print("stopped")


def start_all(services: Sequence[Service], running: list[Running], stop: StopFlag) -> bool:
    """Each as soon as the addresses that it is told are known; those that need nothing of each other side by side.

    False when a signal came before all were ready.
    """
    waiting = list(services)
    deadline = time.monotonic() + READY_SECONDS
    while not stop.asked:
        known = addresses(running, waiting)
        for service in list(waiting):
            told = filled(service, known)
            # What is no server comes last, when there is something to work with.
            if told is not None and (service.is_server or all(item.ready < 0 for item in running)):
                waiting.remove(service)
                running.append(start(told))
                known = addresses(running, waiting)
        starting = {item.ready: item for item in running if item.ready >= 0}
        if not starting:
            # What waits for a server that is not there would wait for ever; there is no such service by construction.
            assert not waiting, [service.name for service in waiting]
            running.sort(key=lambda item: [service.name for service in services].index(item.service.name))
            return True
        for descriptor in stop.wait(LOOK_SECONDS, *starting):
            hear(starting[descriptor])
        if time.monotonic() > deadline:
            raise CliError(f"the {next(iter(starting.values())).service.name} did not start in {READY_SECONDS:.0f} s")
    return False


def addresses(running: Sequence[Running], waiting: Sequence[Service]) -> dict[str, str]:
    """What stands for what: said by those that are ready, and expected of those that took a given port."""
    known = {}
    for service in (*waiting, *(item.service for item in running)):
        if service.expected and service.is_server:
            known[address_of(service.name)] = service.expected
    for item in running:
        if item.facts:
            known[address_of(item.service.name)] = reachable(str(item.facts["address"]))
            known[metrics_of(item.service.name)] = reachable(str(item.facts.get("metrics") or ""))
    return known


def filled(service: Service, known: Mapping[str, str]) -> Service | None:
    """The service with every address filled in; None while one is unknown."""
    words = [service.expected, *service.arguments]
    if any(match[0] not in known for word in words for match in _PLACEHOLDER.finditer(word)):
        return None
    expected, *arguments = (_PLACEHOLDER.sub(lambda match: known[match[0]], word) for word in words)
    return service._replace(expected=expected, arguments=arguments)


def reachable(address: str) -> str:
    """A server that listens everywhere is asked here."""
    return address.replace("0.0.0.0:", "127.0.0.1:").replace("[::]:", "127.0.0.1:")


def start(service: Service) -> Running:
    command = [sys.executable, "-m", "caudal.cli.main", *service.arguments, "--stop-on-stdin-eof"]
    ready_read, ready_write = os.pipe()
    if service.is_server:
        command += ["--ready-fd", str(ready_write)]
    # A group of its own: Ctrl-C reaches this process only, which then stops the servers in order.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=(ready_write,), start_new_session=True
    )
    os.close(ready_write)
    if not service.is_server:
        os.close(ready_read)
        return Running(service, process)
    os.set_blocking(ready_read, False)
    return Running(service, process, ready_read)


def hear(item: Running) -> None:
    """What a starting server says on its pipe. When it ends without its facts, it did not start."""
    part = os.read(item.ready, 4096)
    item.said += part
    if part and not item.said.endswith(b"\n"):
        return
    os.close(item.ready)
    item.ready = -1
    if not part:
        item.process.wait(STOP_WAIT_SECONDS)
        # The child has said on stderr what is wrong; one line more says what that means here.
        raise CliError(f"the {item.service.name} did not start", exit_code=item.process.returncode or 1)
    item.facts = json.loads(item.said)


def watch(running: list[Running]) -> None:
    """Raises when a server is gone; says it once when something else is."""
    for item in list(running):
        code = item.process.poll()
        if code is None:
            continue
        if item.service.is_server:
            raise CliError(f"{item.service.name} ended by itself with exit code {code}; its last lines are above")
        running.remove(item)
        if code:
            name = item.service.name.lower()
            print(f"the {name} ended with exit code {code}; the platform goes on without it", file=sys.stderr)


def stop_all(running: Sequence[Running]) -> None:
    for item in reversed(running):
        if item.ready >= 0:
            os.close(item.ready)
            item.ready = -1
        if item.process.poll() is None:
            item.process.terminate()
        try:
            item.process.wait(STOP_WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"the {item.service.name} did not stop in {STOP_WAIT_SECONDS:.0f} s and is killed", file=sys.stderr)
            item.process.kill()
            item.process.wait()
        if item.process.stdin is not None:
            item.process.stdin.close()


def print_addresses(running: Sequence[Running], notes: Sequence[str], data: Path | None, seconds: float) -> None:
    rows = []
    for item in running:
        shown = str(item.facts["address"]) if item.facts else item.service.expected
        if shown:
            rows.append((item.service.name, shown))
        if item.facts.get("metrics"):
            rows.append(("  metrics", str(item.facts["metrics"])))
    if data is not None:
        rows.append(("Data", str(data.resolve())))
    first, second = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    print(f"Caudal is up after {seconds:.1f} s. Ctrl-C stops it.\n")
    print(f"  ┌─{'─' * first}─┬─{'─' * second}─┐")
    for name, address in rows:
        print(f"  │ {name.ljust(first)} │ {address.ljust(second)} │")
    print(f"  └─{'─' * first}─┴─{'─' * second}─┘")
    for note in notes:
        print(f"  note: {note}")
    print(flush=True)


class StopFlag:
    """SIGINT and SIGTERM turned into a flag that a wait can be woken by."""

    def __init__(self) -> None:
        self.asked = False
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: object) -> None:
        self.asked = True
        os.write(self._write, b"x")

    def wait(self, seconds: float, *others: int) -> list[int]:
        """Up to `seconds`, or until a signal or one of the `others` can be read; returns the readable others."""
        with selectors.DefaultSelector() as selector:
            for descriptor in (self._read, *others):
                selector.register(descriptor, selectors.EVENT_READ)
            return [key.fd for key, _ in selector.select(seconds) if key.fd in others]
