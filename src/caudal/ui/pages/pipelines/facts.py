"""Everything about a pipeline that does not move: where it comes from, how it runs, its stores and its description."""

from __future__ import annotations

from typing import Any

from caudal.pipelines.board import Instance, Pipeline
from caudal.ui.components import Column, PagedTable, card, clock, code_view, facts, grid, number, page_of, text, url
from caudal.ui.pages.pipelines.states import origin_word
from caudal.ui.words import t


async def facts_tab(found: Pipeline) -> None:
    leader = found.leader
    with grid("19rem"):
        with card(t("How it runs")):
            facts(how(found))
        with card("Spark"):
            facts(spark(leader))
            if not (leader.about.get("spark") or {}).get("ui"):
                text(t("Spark serves a page of its own with --spark-conf spark.ui.enabled=true."), "muted")
        with card(t("Trouble")):
            facts(trouble(leader.figures))
    if leader.origin.get("sql"):
        with card("SQL"):
            code_view(str(leader.origin["sql"]))
    stores = leader.topology.get("stores", ())
    if stores:
        await _stores(stores)
    with card(t("Topology as text")):
        code_view(str(leader.about.get("description", "")))


async def _stores(stores: Any) -> None:
    rows = [
        {
            "store": store["name"],
            "kind": store["kind"],
            "changelog": {"text": store["changelog"], "href": url("topics", store["changelog"])}
            if store.get("changelog")
            else "–",
        }
        for store in stores
    ]
    with card(t("Stores")):
        table = PagedTable(
            [
                Column("store", t("Store"), "mono"),
                Column("kind", t("Kind")),
                Column("changelog", t("Changelog topic"), "mono"),
            ],
            lambda query: page_of(rows, query),
            label=t("Stores"),
            prefix="s_",
        )
        await table.refresh()


def how(found: Pipeline) -> list[tuple[str, str]]:
    about, origin = found.leader.about, found.leader.origin
    started = about.get("started")
    pairs = [
        (
            t("Origin"),
            " ".join(
                filter(None, [origin_word(found), origin.get("program"), origin.get("query"), origin.get("connector")])
            ),
        ),
        (t("Lane"), f"{about.get('lane', '–')}: {about.get('why', '')}"),
        (t("Mode"), str(about.get("mode", "–"))),
        (t("Guarantee"), str(about.get("guarantee", "–"))),
        (t("Deadline"), str(about.get("deadline") or "–")),
        (t("Host"), f"{about.get('host', '–')} · {about.get('pid', '–')}"),
        ("Python", str(about.get("python", "–"))),
        (t("Started"), clock(started / 1000) if isinstance(started, int) else "–"),
    ]
    if origin.get("kind") == "connect":
        pairs.append((t("Orders"), t("It is paused and stopped as a connector, on the page of Connect.")))
    elif not found.leader.takes_orders:
        pairs.append((t("Orders"), t("It takes none: CAUDAL_PIPELINES is read-only where it runs.")))
    return pairs


def spark(leader: Instance) -> list[tuple[str, str]]:
    told = leader.about.get("spark") or {}
    names = {"version": t("Version"), "master": "Master", "application": t("Application"), "ui": t("Spark UI")}
    return [(name, str(told.get(key) or "–")) for key, name in names.items()]


def trouble(figures: dict[str, Any]) -> list[tuple[str, str]]:
    dropped = figures.get("dropped") or {}
    return [
        (t("Failure"), str(figures.get("failure") or "–")),
        (t("Last trouble"), str(figures.get("last_trouble") or "–")),
        (t("Restarts"), number(figures.get("restarts") or 0)),
        *((t("Dropped: {why}", why=why), number(count)) for why, count in sorted(dropped.items())),
    ]
