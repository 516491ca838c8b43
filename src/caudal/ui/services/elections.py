"""The election night as the page sees it: standings from the topics, the map's geometry, and words for its state."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

from caudal.demos.elections.standings import FOLLOWED, Standings
from caudal.ui.platform import platform
from caudal.ui.services.watching import Watch
from caudal.ui.words import t


@functools.cache
def watch() -> Watch[Standings]:
    return Watch(platform().kafka.config, FOLLOWED, Standings)


@functools.cache
def geometry() -> dict[str, Any]:
    """See scripts/spain-map."""
    text = resources.files("caudal.demos.elections").joinpath("spain.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def is_there(standings: Standings) -> bool:
    """Whether anybody has ever held an election in this cluster."""
    return bool(standings.status)


def state_of(standings: Standings) -> tuple[str, str]:
    """What is happening, in a sentence, and its tone."""
    application = standings.status.get("application", {}).get("state", "")
    night = standings.status.get("night", {})
    phase, at = night.get("phase", ""), night.get("clock", "")
    if application in ("STARTING", "CREATED", "RESTARTING"):
        if phase == "voting":
            return t("{clock} · The polls are open; Spark is starting…", clock=at), "info"
        return t("Spark is starting…"), "info"
    if application == "STANDBY":
        return t("Another instance of the application is at work."), "info"
    if application in ("ERROR", "STOPPED"):
        return t("The application is not running; what it has counted stays."), "warn"
    if phase == "voting":
        return t("{clock} · The polls are open.", clock=at), "info"
    if phase == "counting":
        return t("{clock} · The votes are being counted.", clock=at), "good"
    if phase == "over" and standings.counted < 1:
        return t("{clock} · The last reports are being counted.", clock=at), "good"
    return t("All votes are counted. The next night follows."), "good"
