"""What the pages about KSQL have in common: the client, states with their colours, links, the sheet of styles."""

from __future__ import annotations

from pathlib import Path

from nicegui import ui

from caudal.ui.components import link_tabs, missing_server, url
from caudal.ui.platform import platform
from caudal.ui.services.ksql import Ksql
from caudal.ui.services.ksql_completion import Column
from caudal.ui.words import t

TONES = {"RUNNING": "good", "PAUSED": "info", "ERROR": "bad"}
ON_ITS_WAY = "warn"  # CREATED, STARTING, RESTARTING, STANDBY
STYLES = Path(__file__).with_name("ksql.css")


def ksql() -> Ksql | None:
    """The client; where there is no server the page says so, and has nothing else to show."""
    ui.add_css(STYLES)
    http = platform().ksql
    if http is None:
        missing_server("KSQL", "--ksql")
        return None
    return Ksql(http)


def tabs(chosen: str) -> None:
    links = {
        "editor": (t("Editor"), url("ksql")),
        "queries": (t("Queries"), url("ksql", "queries")),
    }
    link_tabs(links, chosen, "KSQL")


def tone(state: str) -> str:
    return TONES.get(state, ON_ITS_WAY)


def query_url(query_id: str, **query: object) -> str:
    return url("ksql", "queries", query_id, **query)


def source_url(name: str) -> str:
    return url("ksql", "sources", name)


def column_facts(columns: tuple[Column, ...], key: str) -> list[tuple[str, str]]:
    return [(one.name, f"{one.type} · {key}" if one.is_key else one.type) for one in columns]
