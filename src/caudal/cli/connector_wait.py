"""Waiting for a connector: until all of its tasks run or something of it has failed, with how many run by now."""

from __future__ import annotations

import time
from typing import Any

from caudal.cli.connect_access import ConnectClient
from caudal.cli.connector_text import has_failed, is_running
from caudal.cli.errors import CliError
from caudal.cli.progress import Tracker

LOOK_SECONDS = 0.2


def wait_until_it_runs(client: ConnectClient, name: str, seconds: float) -> dict[str, Any]:
    """The status when it runs or has failed. A status is there a moment after the connector."""
    with Tracker(f"{name} starts", unit="tasks run") as tracker:
        return _watched(client, name, seconds, tracker)


def _watched(client: ConnectClient, name: str, seconds: float, tracker: Tracker) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while True:
        try:
            found: dict[str, Any] = client.of(name, "/status")
        except CliError:
            if time.monotonic() > deadline:
                raise
            found = {}
        if found and (has_failed(found) or is_running(found)):
            return found
        states = [task["state"] for task in found.get("tasks", ())]
        tracker.update(states.count("RUNNING"), total=len(states) or None)
        if time.monotonic() > deadline:
            raise CliError(
                f"{name} does not run after {seconds:.0f} s; `caudal connector status {name}` says how it is"
            )
        time.sleep(LOOK_SECONDS)
