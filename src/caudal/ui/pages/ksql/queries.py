"""The queries that run, and one of them: its state, its plan as a graph or text, to pause, resume or terminate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from caudal.ui.components import (
    Column,
    PagedTable,
    badge,
    card,
    code_view,
    confirm_by_name,
    copy_link,
    empty_state,
    error_panel,
    facts,
    link_tabs,
    notify_success,
    page_of,
    status_dot,
    url,
)
from caudal.ui.components.buttons import button
from caudal.ui.pages.ksql.explanation import graph, plan_text
from caudal.ui.pages.ksql.pieces import column_facts, ksql, query_url, source_url, tabs, tone
from caudal.ui.services.errors import UiError
from caudal.ui.services.ksql import Ksql, Refused
from caudal.ui.services.ksql_catalog import read_catalog
from caudal.ui.services.ksql_entities import Query, explained, queries_of
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

REFRESH_SECONDS = 2.0


@page("/ksql/queries", title="Queries", nav=False)
async def queries() -> None:
    client = ksql()
    page_heading("KSQL", t("Queries that run until they are terminated."))
    if client is None:
        return
    tabs("queries")
    await _Queries(client).build()


class _Queries:
    def __init__(self, client: Ksql) -> None:
        self._client = client
        self._found: list[Query] = []

    async def build(self) -> None:
        self._away = ui.element("div").classes("away")
        self._found = await self._asked()
        columns = [
            Column("id", t("Query"), sortable=True),
            Column("state", t("State"), "status", sortable=True),
            Column("kind", t("Type"), "badge", sortable=True),
            Column("sink", t("Writes to"), sortable=True),
            Column("sql", t("Statement"), "mono"),
        ]
        table = PagedTable(
            columns,
            lambda asked: page_of([_row(one) for one in self._found], asked, search=lambda row: str(row["find"])),
            label=t("Queries"),
            search=t("Filter by id, stream or statement"),
            empty=t("No queries run. CREATE STREAM … AS SELECT in the editor starts one."),
            sort="id",
        )
        await table.refresh()

        async def refresh() -> None:
            try:
                self._found = await self._asked()
            except UiError as error:
                _say_away(self._away, error)
                return
            self._away.clear()
            await table.refresh()

        ui.timer(REFRESH_SECONDS, refresh)

    async def _asked(self) -> list[Query]:
        """The extended list knows whether a query is still starting; push queries are only in the plain one."""
        found = queries_of(await self._client.execute("SHOW QUERIES; SHOW QUERIES EXTENDED;"))
        by_id: dict[str, Query] = {}
        for one in found:
            if one.id not in by_id or one.topology:
                by_id[one.id] = one
        return list(by_id.values())


def _row(one: Query) -> dict[str, Any]:
    sink = ", ".join(one.sinks)
    return {
        "id": {"text": one.id, "href": query_url(one.id)} if one.kind == "PERSISTENT" else one.id,
        "state": {"text": one.state, "tone": tone(one.state)},
        "kind": {"text": one.kind},
        "sink": {"text": sink, "href": source_url(sink)} if len(one.sinks) == 1 else sink or None,
        "sql": {"text": " ".join(one.sql.split()), "title": one.sql},
        "find": f"{one.id} {sink} {one.sql}",
    }


# -- one query ---------------------------------------------------------------------------------------------------------


@page("/ksql/queries/{query_id}", title="Query", nav=False)
async def query(query_id: str, view: str = "graph") -> None:
    client = ksql()
    if client is None:
        return
    try:
        found = await _described(client, query_id)
    except Refused as error:
        page_heading(query_id)
        empty_state(
            "manage_search",
            t("There is no query {id}", id=query_id),
            error.message,
            t("All queries"),
            lambda: ui.navigate.to(url("ksql", "queries")),
        )
        return
    await _QueryPage(client, found).build(view)


async def _described(client: Ksql, query_id: str) -> Query:
    (entity, *_) = await client.execute(f"EXPLAIN {query_id};")
    found = explained(entity)
    if found is None:
        raise UiError(t("What answers at {url} is not a KSQL server.", url=client.url))
    return found


class _QueryPage:
    def __init__(self, client: Ksql, found: Query) -> None:
        self._client = client
        self._found = found

    async def build(self, view: str) -> None:
        found = self._found
        with page_heading(found.id):
            self._pause = button(t("Pause"), self._control("PAUSE", t("The query is paused.")), icon="pause")
            self._resume = button(t("Resume"), self._control("RESUME", t("The query goes on.")), icon="play_arrow")
            button(t("Terminate"), self._terminate, icon="stop")
            copy_link()
        self._away = ui.element("div").classes("away")
        self._state = ui.element("div").classes("row items-center gap-3 flex-wrap")
        self._error = ui.element("div").classes("w-full away")
        code_view(found.sql)
        views = {"graph": (t("Graph"), query_url(found.id)), "text": (t("Text"), query_url(found.id, view="text"))}
        chosen = view if view in views else "graph"
        link_tabs(views, chosen, t("The plan"))
        self._plan = ui.element("div").classes("stack w-full")
        self._draw = self._graph if chosen == "graph" else self._text
        self._labels = (await read_catalog(self._client)).labels
        self._drawn = ""
        self._facts()
        self._show()
        ui.timer(REFRESH_SECONDS, self._refresh)

    def _facts(self) -> None:
        found = self._found
        with card(t("Facts")):
            known = [
                (t("Reads"), ", ".join(found.sources)),
                (t("Writes to"), ", ".join(found.sinks)),
                (t("Consumer group"), found.group),
                *found.properties,
            ]
            facts((name, value) for name, value in known if value)
            if found.group:
                ui.link(t("Lag of its consumer group"), url("groups", found.group))
        with card(t("Columns")):
            facts(column_facts(found.columns, t("key"))).classes("mono")

    async def _refresh(self) -> None:
        try:
            found = await _described(self._client, self._found.id)
        except UiError as error:
            _say_away(self._away, error)
            return
        self._away.clear()
        if found != self._found:
            self._found = found
            self._show()

    def _show(self) -> None:
        found = self._found
        self._state.clear()
        with self._state:
            status_dot(found.state, tone(found.state))
            badge(found.kind)
            if found.is_on_its_way:
                ui.spinner(size="1em")
                ui.label(t("Spark is starting it; the first query takes about 20 seconds.")).classes("muted")
        self._error.clear()
        if found.error:
            with self._error:
                error_panel(found.error)
        self._pause.set_visibility(found.state not in ("PAUSED", "ERROR"))
        self._resume.set_visibility(found.state in ("PAUSED", "ERROR"))
        if found.topology != self._drawn or not self._plan.default_slot.children:
            self._drawn = found.topology
            self._plan.clear()
            with self._plan:
                self._draw()

    def _graph(self) -> None:
        graph(self._found, self._labels)

    def _text(self) -> None:
        plan_text(self._found)

    def _control(self, action: str, said: str) -> Callable[[], Any]:
        async def do() -> None:
            await self._client.execute(f"{action} {self._found.id};")
            notify_success(said)
            await self._refresh()

        return do

    async def _terminate(self) -> None:
        what = t("The query ends, and its place in its topics is forgotten. What it has written stays.")
        if await confirm_by_name(self._found.id, what, t("Terminate")):
            await self._client.execute(f"TERMINATE {self._found.id};")
            ui.navigate.to(url("ksql", "queries"))


def _say_away(place: ui.element, error: UiError) -> None:
    if not place.default_slot.children:
        with place:
            error_panel(error.message)
