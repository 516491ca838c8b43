"""One connector: its state, tasks with their errors, configuration, topics and offsets, and what can be done to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from typing import Any

from nicegui import ui

from caudal.ui.components import (
    badge,
    card,
    code_view,
    confirm,
    confirm_by_name,
    copy_link,
    empty_state,
    error_panel,
    facts,
    guarded,
    json_view,
    link_tabs,
    notify_success,
    status_dot,
    text,
    url,
)
from caudal.ui.components.buttons import button
from caudal.ui.pages.connect.offsets import offsets_tab
from caudal.ui.pages.connect.pieces import connect, connector_url, tone, topic_url
from caudal.ui.services.connect import Connect, Connector, Task
from caudal.ui.services.connect_form import form_of
from caudal.ui.services.connect_secrets import masked
from caudal.ui.services.errors import UiError
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

REFRESH_SECONDS = 2.0


@page("/connect/connectors/{name:path}", title="Connector", nav=False)
async def connector(name: str, tab: str = "tasks") -> None:
    client = connect()
    if client is None:
        return
    try:
        found = await client.connector(name)
    except UiError as error:
        if error.code != 404:
            raise
        page_heading(name)
        empty_state(
            "cable",
            t("There is no connector {name}", name=name),
            t("It may have been deleted."),
            t("All connectors"),
            lambda: ui.navigate.to("/connect"),
        )
        return
    await _ConnectorPage(client, found).build(tab)


class _ConnectorPage:
    def __init__(self, client: Connect, found: Connector) -> None:
        self._client = client
        self._found = found
        self._name = found.name

    async def build(self, tab: str) -> None:
        with page_heading(self._name, self._found.plugin):
            self._buttons()
            copy_link()
        self._away = ui.element("div").classes("away")
        self._state = ui.element("div").classes("row items-center gap-3 flex-wrap")
        tabs = {
            "tasks": (t("Tasks"), connector_url(self._name)),
            "config": (t("Configuration"), connector_url(self._name, tab="config")),
            "topics": (t("Topics"), connector_url(self._name, tab="topics")),
            "offsets": (t("Offsets"), connector_url(self._name, tab="offsets")),
        }
        chosen = tab if tab in tabs else "tasks"
        link_tabs(tabs, chosen, self._name)
        self._tasks: ui.element | None = None
        match chosen:
            case "config":
                await self._config()
            case "topics":
                await self._topics()
            case "offsets":
                await offsets_tab(self._client, self._found)
            case _:
                self._tasks = ui.element("div").classes("stack w-full")
        self._show()
        ui.timer(REFRESH_SECONDS, self._refresh)

    async def _refresh(self) -> None:
        try:
            found = await self._client.connector(self._name)
        except UiError as error:
            if not self._away.default_slot.children:
                with self._away:
                    error_panel(error.message)
            return
        self._away.clear()
        if found != self._found:
            self._found = found
            self._show()

    def _show(self) -> None:
        """What depends on the state: drawn anew when it is another."""
        found = self._found
        self._state.clear()
        with self._state:
            status_dot(found.state, tone(found.state))
            badge(found.kind)
            if found.worker:
                text(t("on {worker}", worker=found.worker), "muted")
        self._show_buttons()
        if self._tasks is not None:
            self._tasks.clear()
            with self._tasks:
                self._task_list()

    # -- actions -------------------------------------------------------------------------------------------------------

    def _buttons(self) -> None:
        """Made once, and shown as the state asks: a button that goes away under its own click could say nothing."""
        name = self._name
        self._resume = button(t("Resume"), self._done(self._client.resume, t("{name} goes on.", name=name)))
        self._pause = button(t("Pause"), self._done(self._client.pause, t("{name} is being paused.", name=name)))
        self._stop_it = button(t("Stop"), self._stop)
        for made, icon in ((self._resume, "play_arrow"), (self._pause, "pause"), (self._stop_it, "stop")):
            made.set_icon(icon)
        with button(t("Restart"), icon="restart_alt"), ui.menu():
            ui.menu_item(t("The connector alone"), on_click=self._restart(False, False))
            ui.menu_item(t("The connector and all its tasks"), on_click=self._restart(True, False))
            ui.menu_item(t("Only what failed"), on_click=self._restart(True, True))
        button(t("Edit"), lambda: ui.navigate.to(url("connect", "edit", name)), icon="edit")
        button(t("Delete"), self._delete, icon="delete")

    def _show_buttons(self) -> None:
        rests = self._found.state in ("PAUSED", "STOPPED")
        self._resume.set_visibility(rests)
        self._pause.set_visibility(not rests)
        self._stop_it.set_visibility(self._found.state != "STOPPED")

    def _done(self, action: Callable[[str], Awaitable[Any]], said: str) -> Callable[[], Awaitable[None]]:
        async def do() -> None:
            await action(self._name)
            notify_success(said)
            await self._refresh()

        return do

    async def _stop(self) -> None:
        sure = await confirm(
            t("Stop {name}?", name=self._name),
            t("Its tasks end and give back what they hold. Its offsets can be changed then. Resume starts it again."),
            t("Stop"),
        )
        if sure:
            await self._client.stop(self._name)
            notify_success(t("{name} is stopped.", name=self._name))
            await self._refresh()

    def _restart(self, tasks: bool, only_failed: bool) -> Callable[[], Awaitable[None]]:
        async def do() -> None:
            await self._client.restart(self._name, tasks=tasks, only_failed=only_failed)
            notify_success(t("{name} is being restarted.", name=self._name))
            await self._refresh()

        return guarded(do)

    async def _restart_task(self, task: int) -> None:
        await self._client.restart_task(self._name, task)
        with self._away:  # its own button may be drawn anew by now
            notify_success(t("Task {id} is being restarted.", id=task))
        await self._refresh()

    async def _delete(self) -> None:
        what = t("The connector {name} stops, and its configuration is deleted. Its topics stay.", name=self._name)
        if await confirm_by_name(self._name, what):
            await self._client.delete(self._name)
            ui.navigate.to("/connect")

    # -- tabs ----------------------------------------------------------------------------------------------------------

    def _task_list(self) -> None:
        if self._found.trace:
            with card(t("The connector failed"), "trace"):
                _trace(self._found.reason, self._found.trace)
        if not self._found.tasks:
            text(
                t("It has no tasks now.") if self._found.state != "STOPPED" else t("A stopped connector has no tasks."),
                "muted",
            )
        for task in self._found.tasks:
            with card(classes="trace" if task.trace else ""):
                self._task(task)

    def _task(self, task: Task) -> None:
        with ui.element("div").classes("row items-center gap-3 flex-wrap"):
            ui.html(escape(t("Task {id}", id=task.id)), sanitize=False, tag="h2")
            status_dot(task.state, tone(task.state))
            if task.worker:
                text(t("on {worker}", worker=task.worker), "muted")
            again = ui.button(icon="restart_alt", color=None, on_click=guarded(lambda: self._restart_task(task.id)))
            label = t("Restart task {id}", id=task.id)
            again.props(f'flat dense aria-label="{escape(label)}"').classes("ml-auto").tooltip(label)
        if task.trace:
            _trace(task.reason, task.trace)

    async def _config(self) -> None:
        config = masked(self._found.config, await self._passwords())
        with card(t("Configuration")):
            facts(sorted(config.items())).classes("mono")
        with card(t("As JSON")):
            json_view({"name": self._name, "config": dict(sorted(config.items()))})

    async def _passwords(self) -> set[str]:
        """A plugin that is gone hides by the names of its keys alone."""
        try:
            return form_of(self._found.plugin, await self._client.plugin_keys(self._found.plugin)).passwords
        except UiError:
            return set()

    async def _topics(self) -> None:
        found = await self._client.topics(self._name)
        with card(t("Topics that it has used")):
            if not found:
                text(t("None since it was started."), "muted")
                return
            links = "".join(f'<li><a href="{escape(topic_url(topic))}">{escape(topic)}</a></li>' for topic in found)
            ui.html(links, sanitize=False, tag="ul").style("padding-left: 1.1rem")
            button(t("Forget which they were"), self._forget_topics).style("align-self: flex-start")

    async def _forget_topics(self) -> None:
        await self._client.forget_topics(self._name)
        ui.navigate.to(connector_url(self._name, tab="topics"))


def _trace(reason: str, trace: str) -> None:
    """The line that says it, and all of it to read or copy."""
    ui.html(escape(reason), sanitize=False, tag="p").classes("reason")
    with ui.expansion(t("Trace")).classes("w-full"):
        code_view(trace)
