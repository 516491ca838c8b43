"""`caudal connect` as a process of its own, and what tests ask it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx

from tests.server_process import ServerProcess

WAIT_SECONDS = 120.0
# On a broker that allows it (group.min.session.timeout.ms): who was killed is missed soon.
QUICK = (
    "session.timeout.ms=3000",
    "heartbeat.interval.ms=500",
    "scheduled.rebalance.max.delay.ms=0",
    "offset.flush.interval.ms=500",
)


class ConnectProcess(ServerProcess):
    def __init__(self, bootstrap: str, *arguments: str, properties: tuple[str, ...] = QUICK, log: Any = None) -> None:
        given = [word for each in properties for word in ("-c", each)]
        super().__init__("connect", bootstrap, *given, *arguments, log=log)

    @property
    def id(self) -> str:
        """As statuses name it."""
        return self.url.removeprefix("http://")

    def ask(self, method: str, path: str, body: Any = None, status: int | None = None) -> Any:
        """The body of the answer. A rebalance is waited for, as every client of Connect does."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            answer = httpx.request(method, self.url + path, json=body, timeout=WAIT_SECONDS, trust_env=False)
            if answer.status_code == 409 and "rebalance" in answer.text and time.monotonic() < deadline:
                time.sleep(0.1)
                continue
            assert status is None or answer.status_code == status, f"{answer.status_code} {answer.text}"
            return answer.json() if answer.content else None

    def insist(self, method: str, path: str, body: Any = None) -> Any:
        """As `ask`, and again while the worker or its leader is away."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            answer = httpx.request(method, self.url + path, json=body, timeout=WAIT_SECONDS, trust_env=False)
            if answer.is_success:
                return answer.json() if answer.content else None
            assert answer.status_code in (409, 500, 503) and time.monotonic() < deadline, answer.text
            time.sleep(0.1)

    def states(self, connector: str) -> list[str]:
        """Of the connector and its tasks."""
        status = self.ask("GET", f"/connectors/{connector}/status")
        if "connector" not in status:
            return []
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]


def until(question: Callable[[], Any], wanted: Any, seconds: float = WAIT_SECONDS) -> None:
    """Waits until the answer is as wanted."""
    deadline = time.monotonic() + seconds
    while (answer := question()) != wanted:
        assert time.monotonic() < deadline, f"{answer!r} is not {wanted!r}"
        time.sleep(0.1)
