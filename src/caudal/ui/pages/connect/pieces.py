"""What the pages about Connect have in common: the client, states with their colours, links, the sheet of styles."""

from __future__ import annotations

from pathlib import Path

from nicegui import ui

from caudal.ui.components import missing_server, url
from caudal.ui.platform import platform
from caudal.ui.services.connect import Connect

TONES = {"RUNNING": "good", "PAUSED": "info", "FAILED": "bad", "RESTARTING": "warn", "UNASSIGNED": "warn"}
STYLES = Path(__file__).with_name("connect.css")


def connect() -> Connect | None:
    """The client; where there is no server the page says so, and has nothing else to show."""
    ui.add_css(STYLES)
    http = platform().connect
    if http is None:
        missing_server("Connect", "--connect")
        return None
    return Connect(http)


def tone(state: str) -> str:
    return TONES.get(state, "")


def connector_url(name: str, **query: object) -> str:
    return url("connect", "connectors", name, **query)


def topic_url(topic: str) -> str:
    return url("topics", topic)
