"""The connectors with their state, and the plugins that are installed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from nicegui import ui

from caudal.ui.components import (
    Column,
    Page,
    PagedTable,
    Query,
    empty_state,
    error_panel,
    link_tabs,
    notify_success,
    number,
    page_of,
    stat,
    url,
)
from caudal.ui.components.buttons import button
from caudal.ui.pages.connect.pieces import connect, connector_url, tone
from caudal.ui.platform import platform
from caudal.ui.services.connect import Connect, Connector, Plugin
from caudal.ui.services.errors import UiError
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

REFRESH_SECONDS = 3.0
DETAIL_SECONDS = 12.0  # how long a connector's topics and lag stay good: each is a request


@page("/connect", title="Connect", icon="cable", order=40, shortcut="c", wide=True)
async def overview(tab: str = "connectors") -> None:
    client = connect()
    with page_heading(t("Connect"), t("Connectors move data between Kafka and other systems.")):
        if client is not None:
            button(t("New connector"), lambda: ui.navigate.to("/connect/new"), icon="add", look="primary")
    if client is None:
        return
    tabs = {
        "connectors": (t("Connectors"), url("connect")),
        "plugins": (t("Plugins"), url("connect", tab="plugins")),
    }
    chosen = tab if tab in tabs else "connectors"
    link_tabs(tabs, chosen, t("Connect"))
    if chosen == "plugins":
        await _plugins(client)
    else:
        await _Connectors(client).build()


class _Connectors:
    """The list; asked for anew every few seconds."""

    def __init__(self, client: Connect) -> None:
        self._client = client
        self._found: list[Connector] = []
        self._details: dict[str, tuple[float, list[str], int | None]] = {}

    async def build(self) -> None:
        self._found = await self._client.connectors()
        if not self._found:
            empty_state(
                "cable",
                t("No connectors yet"),
                t("A connector reads from or writes to a database, files, HTTP or another cluster."),
                t("New connector"),
                lambda: ui.navigate.to("/connect/new"),
            )
            return
        with ui.element("div").classes("grid").style("--min: 9rem"):
            self._all = stat(t("Connectors"))
            self._running = stat(t("Running"))
            self._failed = stat(t("Failed"))
            self._tasks = stat(t("Tasks"))
        self._away = ui.element("div").classes("away")
        columns = [
            Column("name", t("Name"), sortable=True),
            Column("state", t("State"), "status", sortable=True),
            Column("kind", t("Type"), "badge", sortable=True),
            Column("plugin", t("Plugin"), sortable=True),
            Column("tasks", t("Tasks"), "number", sortable=True),
            Column("topics", t("Topics")),
            Column("lag", t("Lag"), "number", sortable=True),
            Column("worker", t("Worker"), "mono", sortable=True),
            Column("reason", t("Error")),
            Column("actions", "", "actions"),
        ]
        self._table = PagedTable(
            columns,
            self._load,
            label=t("Connectors"),
            search=t("Filter by name, plugin or state"),
            sort="name",
            on_action=self._act,
        )
        self._table.classes("connect-list")
        self._show_figures()
        await self._table.refresh()
        ui.timer(REFRESH_SECONDS, self._refresh)

    async def _refresh(self) -> None:
        """A worker that is away for a moment leaves what was known, and a sentence above it."""
        try:
            self._found = await self._client.connectors()
            await self._table.refresh()
        except UiError as error:
            if not self._away.default_slot.children:
                with self._away:
                    error_panel(error.message)
            return
        self._away.clear()
        self._show_figures()

    def _show_figures(self) -> None:
        failed = sum(one.worst == "FAILED" for one in self._found)
        tasks = [task for one in self._found for task in one.tasks]
        self._all.set(number(len(self._found)))
        self._running.set(number(sum(one.worst == "RUNNING" for one in self._found)))
        self._failed.set(number(failed), tone="bad" if failed else "")
        self._tasks.set(number(len(tasks)), t("{n} running", n=sum(task.state == "RUNNING" for task in tasks)))

    async def _load(self, query: Query) -> Page:
        rows = [_row(one) for one in self._found]
        asked = page_of(rows, query, search=lambda row: f"{row['id']} {row['plugin']} {row['state']['text']}")
        by_name = {one.name: one for one in self._found}
        shown = await asyncio.gather(*(self._detailed(row, by_name[row["id"]]) for row in asked.rows))
        return Page(shown, asked.total)

    async def _detailed(self, row: Mapping[str, Any], one: Connector) -> dict[str, Any]:
        """With topics and lag, which are requests of their own: only for what is on the screen."""
        kept = self._details.get(one.name)
        if kept is None or time.monotonic() - kept[0] > DETAIL_SECONDS:
            topics, lag = await asyncio.gather(self._topics(one), self._lag(one))
            kept = self._details[one.name] = (time.monotonic(), topics, lag)
        _, topics, lag = kept
        listed = {
            "text": ", ".join(topics[:2]) + (f" +{len(topics) - 2}" if len(topics) > 2 else ""),
            "title": ", ".join(topics),
        }
        behind = {"text": number(lag), "sort": lag, "tone": "warn" if lag else ""} if lag is not None else None
        return {**row, "topics": listed if topics else None, "lag": behind}

    async def _topics(self, one: Connector) -> list[str]:
        try:
            return await self._client.topics(one.name)
        except UiError:
            return []  # deleted in this moment, or the worker does not keep track of them

    async def _lag(self, one: Connector) -> int | None:
        if not one.is_sink:
            return None
        try:
            lags = [offset.lag for offset in await self._client.offsets(one.name, platform().kafka)]
        except UiError:
            return None
        known = [lag for lag in lags if lag is not None]
        return sum(known) if known else None

    async def _act(self, name: str, row: Mapping[str, Any]) -> None:
        connector = str(row["id"])
        match name:
            case "pause":
                await self._client.pause(connector)
                notify_success(t("{name} is being paused.", name=connector))
            case "resume":
                await self._client.resume(connector)
                notify_success(t("{name} goes on.", name=connector))
            case "restart":
                await self._client.restart(connector, tasks=True, only_failed=True)
                notify_success(t("What failed of {name} is being restarted.", name=connector))
        await self._refresh()


def _row(one: Connector) -> dict[str, Any]:
    running = sum(task.state == "RUNNING" for task in one.tasks)
    reason = one.reason or next((task.reason for task in one.tasks if task.trace), "")
    return {
        "id": one.name,
        "name": {"text": one.name, "href": connector_url(one.name)},
        "state": {"text": one.worst, "tone": tone(one.worst)},
        "kind": {"text": one.kind},
        "plugin": one.plugin.rpartition(".")[2],
        "tasks": {"text": f"{running}/{len(one.tasks)}", "sort": len(one.tasks), "tone": "bad" if one.failed else ""},
        "worker": one.worker or None,
        "reason": {"text": _short(reason), "title": reason, "tone": "bad"} if reason else None,
        "actions": _actions(one),
    }


def _actions(one: Connector) -> list[dict[str, str]]:
    offered = []
    if one.worst in ("FAILED", "RESTARTING"):
        offered.append({"name": "restart", "label": t("Restart what failed of"), "icon": "restart_alt"})
    if one.state in ("PAUSED", "STOPPED"):
        offered.append({"name": "resume", "label": t("Resume"), "icon": "play_arrow"})
    else:
        offered.append({"name": "pause", "label": t("Pause"), "icon": "pause"})
    return offered


def _short(text: str, most: int = 70) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


# -- plugins -----------------------------------------------------------------------------------------------------------


async def _plugins(client: Connect) -> None:
    found = await client.plugins()
    kinds = {
        "source": t("Sources"),
        "sink": t("Sinks"),
        "converter": t("Converters"),
        "header_converter": t("Header converters"),
        "transformation": t("Transforms"),
        "predicate": t("Predicates"),
        "broken": t("Plugins that cannot be loaded"),
    }
    for kind, title in kinds.items():
        some = [one for one in found if one.kind == kind]
        if some:
            ui.html(escape(title), sanitize=False, tag="h2")
            plugin_cards(some, linked=kind in ("source", "sink"))


def plugin_cards(plugins: Sequence[Plugin], *, linked: bool) -> None:
    """Each version of each; those of connectors lead to their form."""
    cards = "".join(_card(one, linked) for one in plugins)
    ui.html(cards, sanitize=False).classes("plugin-grid")


def _card(one: Plugin, linked: bool) -> str:
    tag, href = "div", ""
    if linked:
        tag, href = "a", f' href="{escape(url("connect", "new", plugin=one.name, version=one.version))}"'
    delivery = f'<span class="badge">{escape(one.delivery)}</span>' if one.delivery else ""
    version = f'<span class="muted text-xs">{escape(one.version)}</span>' if one.version else ""
    about = f"<p>{escape(one.error or one.about)}</p>" if one.error or one.about else ""
    return (
        f'<{tag} class="plugin-card"{href}><span class="head"><strong>{escape(one.shown)}</strong>{version}</span>'
        f"{about}<code>{escape(one.name)}</code><span>{delivery}</span></{tag}>"
    )
