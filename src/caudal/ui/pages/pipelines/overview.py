"""The list of pipelines: what runs on Spark for this cluster, wherever that is, and how it fares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from caudal.pipelines.board import Pipeline
from caudal.pipelines.records import Order
from caudal.ui.components import Column, Page, PagedTable, Query, duration, empty_state, number, page_of, rate, url
from caudal.ui.components.errors import guarded
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
from caudal.ui.platform import platform
from caudal.ui.services.pipelines import now_ms, pipelines
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

REFRESH_SECONDS = 2.0


@page("/pipelines", title="Pipelines", icon="account_tree", order=60, shortcut="p")
async def list_page() -> None:
    page_heading(
        t("Pipelines"), t("Streams applications and KSQL queries that run on Spark, in any process of this cluster.")
    )
    service = pipelines(platform().kafka)
    await service.begin()
    table = PagedTable(
        _columns(),
        lambda query: _load(query, service.all()),
        label=t("Pipelines"),
        search=t("Filter by name"),
        empty=t("No pipeline matches."),
        sort="application",
        on_action=lambda name, row: _act(Order(name), str(row["id"])),
    )
    nothing = empty_state(
        "account_tree",
        t("No pipeline runs"),
        t("Start one with `caudal run app.py`, or with CREATE STREAM … AS SELECT in KSQL. It appears here by itself."),
    )

    async def refresh() -> None:
        there = bool(service.all())
        table.set_visibility(there)
        nothing.set_visibility(not there)
        if there:
            await table.refresh()

    await refresh()
    ui.timer(REFRESH_SECONDS, guarded(refresh))


async def _act(order: Order, application: str) -> None:
    found = pipelines(platform().kafka).get(application)
    if found is not None:
        await carry_out(order, found)


def _columns() -> list[Column]:
    return [
        Column("application", t("Application"), sortable=True),
        Column("origin", t("Origin"), "badge", sortable=True),
        Column("state", t("State"), "status", sortable=True),
        Column("in", t("In"), "number", sortable=True),
        Column("out", t("Out"), "number", sortable=True),
        Column("latency", t("Latency"), "number", sortable=True),
        Column("lag", t("Lag"), "number", sortable=True),
        Column("rows", t("State rows"), "number", sortable=True),
        Column("host", t("Host"), "mono", sortable=True),
        Column("actions", "", "actions"),
    ]


def _load(query: Query, found: list[Pipeline]) -> Page:
    return page_of([row(one) for one in found], query, lambda cells: f"{cells['id']} {cells['application']['text']}")


def row(pipeline: Pipeline) -> Mapping[str, Any]:
    leader = pipeline.leader
    figures = leader.figures
    state = pipeline.state(now_ms())
    live = state == "RUNNING"
    rates = figures.get("rate") or {}
    latency = (figures.get("latency_ms") or {}).get("p50") if live else None
    host = str(leader.about.get("host", ""))
    more = len(pipeline.instances) - 1
    return {
        "id": pipeline.application,
        "application": {
            "text": shown_name(pipeline),
            "href": url("pipelines", pipeline.application),
            "title": pipeline.application,
        },
        "origin": {"text": origin_word(pipeline)},
        "state": {"text": state_word(state), "tone": TONES.get(state, ""), "title": figures.get("failure") or ""},
        "in": _figure(rates.get("in") if live else 0, rate),
        "out": _figure(rates.get("out") if live else 0, rate),
        "latency": _figure(latency, duration),
        "lag": _figure(figures.get("lag"), number),
        "rows": _figure(figures.get("state_rows"), number),
        "host": f"{host} +{more}" if more else host,
        "actions": [
            {"name": order.value, "label": order_word(order, pipeline), "icon": ICONS[order]}
            for order in orders_for(pipeline)
        ],
    }


def _figure(value: float | None, shown: Any) -> dict[str, Any]:
    return {"text": shown(value), "sort": value}
