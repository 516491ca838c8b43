"""The overview: the cluster at a glance, its traffic over time, and how every component is."""

from __future__ import annotations

import time

from nicegui import ui

from caudal.ui.components import (
    Column,
    PagedTable,
    card,
    duration,
    grid,
    guarded,
    line_plot,
    link_tabs,
    number,
    page_of,
    rate,
    size,
    stat,
    url,
)
from caudal.ui.components.table import Page, Query
from caudal.ui.history import Point
from caudal.ui.platform import Platform, platform
from caudal.ui.services.brokers import totals
from caudal.ui.services.errors import UiError
from caudal.ui.services.health import Component, components
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t, tn

REFRESH_SECONDS = 5.0
RANGES = {"15m": 900.0, "1h": 3600.0, "6h": 6 * 3600.0, "24h": 24 * 3600.0}
DEFAULT_RANGE = "15m"
TOPICS_SHOWN = 6


@page("/", title="Overview", icon="insights", order=0, shortcut="o")
async def overview(last: str = DEFAULT_RANGE) -> None:
    here = platform()
    chosen = last if last in RANGES else DEFAULT_RANGE
    with page_heading(t("Overview")):
        link_tabs({name: (name, url(last=name)) for name in RANGES}, chosen, t("Time range")).classes("pills")
    figures = _Figures(here)
    plots = _Plots(here, RANGES[chosen])
    table = _components_table(here)

    async def refresh() -> None:
        plots.show()
        await figures.show()
        await table.refresh()

    await refresh()
    ui.timer(REFRESH_SECONDS, guarded(refresh), immediate=False)


class _Figures:
    def __init__(self, here: Platform) -> None:
        self._here = here
        with grid("8.1rem"):
            self.brokers = stat(t("Brokers"), href="/brokers")
            self.replicas = stat(t("Under-replicated"))
            self.topics = stat(t("Topics"), href="/topics")
            self.groups = stat(t("Groups"), href="/groups")
            self.messages = stat(t("Messages"))
            self.bytes = stat(t("Bytes in"))
            self.latency = stat(t("Produce latency"))

    async def show(self) -> None:
        history = self._here.history
        # The broker's silence is on this page as a state, not in its place.
        try:
            cluster = await self._here.kafka.cluster()
            groups = await self._here.kafka.groups()
        except UiError as error:
            self.brokers.set("0", error.message, "bad")
            return
        known = totals(cluster)
        controller = t("controller: {id}", id=cluster.controller_id) if cluster.controller_id >= 0 else ""
        self.brokers.set(number(len(cluster.brokers)), controller)
        short = known.under_replicated
        leaderless = tn("{n} without a leader", "{n} without a leader", known.leaderless) if known.leaderless else ""
        self.replicas.set(
            number(short), leaderless or (t("all in sync") if not short else ""), "bad" if short else "good"
        )
        self.topics.set(number(known.topics), tn("{n} partition", "{n} partitions", known.partitions))
        self.groups.set(number(len(groups)), _active(groups))
        self.messages.set(rate(history.latest("messages_per_second")), t("all topics"))
        in_bytes, out_bytes = history.latest("bytes_in_per_second"), history.latest("bytes_out_per_second")
        self.bytes.set(_bytes_rate(in_bytes), t("out: {rate}", rate=_bytes_rate(out_bytes)))
        self.latency.set(duration(_latency(self._here, "Produce", "0.99")), "p99")


class _Plots:
    def __init__(self, here: Platform, seconds: float) -> None:
        self._here = here
        self._seconds = seconds
        with grid("24rem"):
            with card(t("Messages per second")):
                self.messages = line_plot(t("Messages per second"))
            with card(t("Bytes per second")):
                self.bytes = line_plot(t("Bytes per second"), unit="bytes", legend=True)
            with card(t("Busiest topics, messages per second")):
                self.topics = line_plot(t("Busiest topics, messages per second"), area=False, legend=True)
            with card(t("Request latency")):
                self.latency = line_plot(t("Request latency"), unit="ms", area=False, legend=True, log=True)

    def show(self) -> None:
        history = self._here.history
        since = time.time() - self._seconds
        self.messages.update({t("Messages"): history.series("messages_per_second", since=since)})
        self.bytes.update(
            {
                t("In"): history.series("bytes_in_per_second", since=since),
                t("Out"): history.series("bytes_out_per_second", since=since),
            }
        )
        self.topics.update(busiest(self._here, since))
        quantiles = (("Produce", "0.5"), ("Produce", "0.99"), ("Fetch", "0.5"))
        self.latency.update(
            {
                f"{api} {'p99' if quantile == '0.99' else 'p50'}": history.series(
                    "request_latency_ms", {"api": api, "quantile": quantile}, since
                )
                for api, quantile in quantiles
            }
        )


def busiest(here: Platform, since: float) -> dict[str, list[Point]]:
    """The topics with the most messages in this time."""
    found = {}
    for labels in here.history.labels("messages_per_second"):
        points = here.history.series("messages_per_second", labels, since)
        total = sum(point.value for point in points if point.value == point.value)
        if total:
            found[labels["topic"]] = (total, points)
    best = sorted(found, key=lambda topic: -found[topic][0])[:TOPICS_SHOWN]
    return {topic: found[topic][1] for topic in best}


def _components_table(here: Platform) -> PagedTable:
    columns = [
        Column("name", t("Component")),
        Column("state", t("State"), kind="status"),
        Column("address", t("Address"), kind="mono"),
        Column("version", t("Version")),
    ]

    async def load(query: Query) -> Page:
        return page_of([_component_row(item) for item in await components(here)], query)

    with card(t("Components")).classes("flush"):
        return PagedTable(columns, load, label=t("Components"), foot=False)


def _component_row(item: Component) -> dict[str, object]:
    states = {"up": (t("up"), "good"), "down": (t("does not answer"), "bad"), "absent": (t("not connected"), "")}
    text, tone = states[item.state]
    name = {"Control center": t("Control center")}.get(item.name, item.name)
    return {
        "id": item.name,
        "name": {"text": name, "href": item.page} if item.page else name,
        "state": {"text": text, "tone": tone, "title": item.trouble},
        "address": item.address or None,
        "version": item.version or None,
    }


def _active(groups: list[object]) -> str:
    stable = sum(str(getattr(group, "state", "")).upper().endswith("STABLE") for group in groups)
    return t("{n} active", n=stable)


def _bytes_rate(value: float | None) -> str:
    return "–" if value is None else f"{size(value)}/s"


def _latency(here: Platform, api: str, quantile: str) -> float | None:
    return here.history.latest("request_latency_ms", {"api": api, "quantile": quantile})
