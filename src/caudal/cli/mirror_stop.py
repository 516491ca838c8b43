"""The mirrors on a copy's Connect, as a promotion sees them: which there are, and their end."""

from __future__ import annotations

import time
from typing import Any

from caudal.cli.connect_access import ConnectClient, connect_client
from caudal.cli.errors import CliError
from caudal.cli.mirror_connectors import mirror_kind
from caudal.cli.profiles import Profile

STOP_SECONDS = 60.0


class Mirrors:
    """Found when it is made; where that was impossible, nothing is known of them and `stop` says so."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._configs: dict[str, dict[str, Any]] = {}
        self._running: list[str] = []
        self._failure: str | None = None
        if profile.connect is None:
            self._failure = (
                f"the profile '{profile.name}' has no --connect: if mirrors write to it, stop them "
                "(caudal connector stop)"
            )
            return
        try:
            with connect_client(profile.connect) as client:
                found = client.ask("GET", "/connectors", expand=["info", "status"])
        except CliError as error:
            self._failure = f"the mirrors could not be stopped: {error.message}"
            return
        for name, one in found.items():
            if mirror_kind(one["info"]["config"]):
                self._configs[name] = one["info"]["config"]
                if not _is_stopped(one["status"]):
                    self._running.append(name)

    def are_none(self) -> bool:
        """As far as is known; a Connect that does not answer may have some."""
        return not self._configs and (self._failure is None or self._profile.connect is None)

    def are_stopped(self) -> bool:
        return self._failure is None and not self._running

    def checkpoint_configs(self) -> list[dict[str, Any]]:
        return [config for config in self._configs.values() if mirror_kind(config) == "Checkpoint"]

    def stop(self, done: list[str], notes: list[str], left: list[str]) -> None:
        """All of them; returns when they have stopped."""
        if self._failure is not None:
            left.append(self._failure)
            return
        assert self._profile.connect is not None
        if not self._configs:
            notes.append(f"no mirror runs on {self._profile.connect}")
            return
        try:
            with connect_client(self._profile.connect) as client:
                for name in self._running:
                    client.of(name, "/stop", "PUT")
                for name in self._running:
                    _wait_until_stopped(client, name)
                    done.append(f"the connector {name} is stopped")
        except CliError as error:
            left.append(f"the mirrors could not be stopped: {error.message}")


def _is_stopped(status: dict[str, Any]) -> bool:
    return bool(status["connector"]["state"] == "STOPPED" and not status["tasks"])


def _wait_until_stopped(client: ConnectClient, name: str) -> None:
    """So that the last records' offset syncs are written before groups are translated."""
    deadline = time.monotonic() + STOP_SECONDS
    while not _is_stopped(status := client.of(name, "/status")):
        if time.monotonic() > deadline:
            raise CliError(f"the connector {name} does not stop; it is {status['connector']['state']}")
        time.sleep(0.2)
