"""One pipeline: its topology with live rates, its figures and plots; its tasks; everything else about it."""

from __future__ import annotations

from html import escape

from nicegui import ui

from caudal.pipelines.board import Instance, Pipeline
from caudal.pipelines.records import Order
from caudal.ui.components import badge, copy_link, empty_state, link_tabs, url
from caudal.ui.components.errors import guarded
from caudal.ui.pages.pipelines.facts import facts_tab
from caudal.ui.pages.pipelines.live import LiveView
from caudal.ui.pages.pipelines.states import (
    ICONS,
    TONES,
    carry_out,
    order_word,
    orders_for,
    origin_word,
    shown_name,
    state_word,
)
from caudal.ui.pages.pipelines.tasks import tasks_tab
from caudal.ui.platform import platform
from caudal.ui.services.pipelines import Pipelines, now_ms, pipelines
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

REFRESH_SECONDS = 2.0
RANGES = (5, 15, 60)  # minutes


@page("/pipelines/{application}", title="Pipeline", nav=False, order=60)
async def detail_page(application: str, tab: str = "live", minutes: int = 5) -> None:
    service = pipelines(platform().kafka)
    await service.begin()
    found = service.get(application)
    if found is None:
        page_heading(application)
        empty_state(
            "account_tree",
            t("There is no pipeline {name}", name=application),
            t("It has stopped, or has never reported to this cluster."),
            t("All pipelines"),
            lambda: ui.navigate.to("/pipelines"),
        )
        # One that is just starting, or that comes back, is shown as soon as it reports.
        ui.timer(REFRESH_SECONDS, lambda: ui.navigate.reload() if service.get(application) is not None else None)
        return
    head = Head(service, found)
    shown = tab if tab in ("tasks", "details") else "live"
    here = ("pipelines", application)
    link_tabs(
        {
            "live": (t("Live"), url(*here)),
            "tasks": (t("Tasks"), url(*here, tab="tasks")),
            "details": (t("Details"), url(*here, tab="details")),
        },
        shown,
        t("Views of the pipeline"),
    )
    if shown == "details":
        await facts_tab(found)
        ui.timer(REFRESH_SECONDS, guarded(head.refresh))
    elif shown == "tasks":
        refresh_tasks = await tasks_tab(found, service)

        async def refresh() -> None:
            head.refresh()
            await refresh_tasks()

        ui.timer(REFRESH_SECONDS, guarded(refresh))
    else:
        view = LiveView(found.leader, application, minutes if minutes in RANGES else RANGES[0], RANGES)

        def refresh_view() -> None:
            head.refresh()
            now = service.get(application)
            if now is not None:
                view.show(now.leader, now.state(now_ms()))

        refresh_view()
        ui.timer(REFRESH_SECONDS, guarded(refresh_view))


class Head:
    """Name, state and buttons; follows the state."""

    def __init__(self, service: Pipelines, found: Pipeline) -> None:
        self._service = service
        self._name = found.application
        self._shown: tuple[str, tuple[Order, ...]] | None = None
        self._busy = False
        name = shown_name(found)
        with page_heading(name, found.application if name != found.application else ""):
            self._actions = ui.element("div").classes("actions")
            _spark_link(found.leader)
            copy_link()
        self._state = ui.element("div").classes("flex gap-2 items-center flex-wrap")
        self._failure = ui.html("", sanitize=False).classes("error-panel").props('role="alert"')
        self.refresh()

    def refresh(self) -> None:
        found = self._service.get(self._name)
        state = "STOPPED" if found is None else found.state(now_ms())
        orders = tuple(orders_for(found)) if found is not None else ()
        self._show_failure(found)
        if self._busy or (state, orders) == self._shown:
            return
        self._shown = (state, orders)
        self._state.clear()
        with self._state:
            badge(state_word(state), TONES.get(state, "")).props(f'data-testid="state" data-state="{state}"')
            if found is not None:
                self._badges(found)
        self._actions.clear()
        with self._actions:
            for order in orders:
                self._button(order, found)

    def _badges(self, found: Pipeline) -> None:
        about = found.leader.about
        badge(origin_word(found))
        for key in ("lane", "mode", "guarantee"):
            if about.get(key):
                badge(str(about[key]))
        if len(found.instances) > 1:
            badge(t("{n} instances", n=len(found.instances)), "info")

    def _button(self, order: Order, found: Pipeline | None) -> None:
        assert found is not None
        label = order_word(order, found)
        button = ui.button(label, icon=ICONS[order], color=None).props("unelevated no-caps").classes("secondary")

        async def press() -> None:
            now = self._service.get(self._name)
            if now is None:
                return

            def begun() -> None:
                self._busy = True
                button.props("loading")

            try:
                await carry_out(order, now, begun)
            finally:
                self._busy, self._shown = False, None
                self.refresh()

        button.on_click(guarded(press))

    def _show_failure(self, found: Pipeline | None) -> None:
        text = ""
        if found is None:
            text = t("It has stopped in good order.")
        elif found.leader.figures.get("failure"):
            text = str(found.leader.figures["failure"])
        elif found.state(now_ms()) == "GONE":
            text = t("Nothing has been heard of it for a while: its process was killed, or cannot reach the cluster.")
        content = f"<p>{escape(text)}</p>"
        if self._failure.content != content:
            self._failure.content = content
        self._failure.set_visibility(bool(text))


def _spark_link(leader: Instance) -> None:
    """Spark's own page, where it has one. Only http addresses: what is on the topic may come from anybody."""
    address = str((leader.about.get("spark") or {}).get("ui") or "")
    if address.startswith(("http://", "https://")):
        link = ui.link(t("Spark UI"), address, new_tab=True).classes("nowrap")
        link.props('rel="noopener noreferrer"')
