"""One stream or table: its columns, formats, topic, figures, and the queries that read and write it."""

from __future__ import annotations

from html import escape

from nicegui import ui

from caudal.ksql.syntax.names import written_name
from caudal.ui.components import badge, card, code_view, copy_link, empty_state, facts, number, stat, text, url
from caudal.ui.components.buttons import button
from caudal.ui.pages.ksql.pieces import column_facts, ksql, query_url
from caudal.ui.services.errors import UiError
from caudal.ui.services.ksql import Ksql, Refused
from caudal.ui.services.ksql_entities import Source, sources_of
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

REFRESH_SECONDS = 2.0


@page("/ksql/sources/{name:path}", title="Stream or table", nav=False)
async def source(name: str) -> None:
    client = ksql()
    if client is None:
        return
    try:
        found = await _described(client, name)
    except Refused as error:
        page_heading(name)
        empty_state("search_off", t("There is no stream or table {name}", name=name), error.message)
        return
    _show(client, found)


async def _described(client: Ksql, name: str) -> Source:
    found = sources_of(await client.execute(f"DESCRIBE {written_name(name)} EXTENDED;"))
    if not found:
        raise UiError(t("What answers at {url} is not a KSQL server.", url=client.url))
    return found[0]


def _show(client: Ksql, found: Source) -> None:
    with page_heading(found.name):
        query = f"SELECT * FROM {written_name(found.name)} EMIT CHANGES;"
        button(t("Query it"), lambda: ui.navigate.to(url("ksql", sql=query)), icon="terminal", look="primary")
        copy_link()
    with ui.element("div").classes("row items-center gap-3 flex-wrap"):
        badge(t("table") if found.is_table else t("stream"), "info")
        if found.window:
            badge(found.window)
    figures = _Figures(client, found)
    with ui.element("div").classes("grid").style("--min: 20rem"):
        with card(t("Columns")):
            facts(column_facts(found.columns, t("primary key") if found.is_table else t("key"))).classes("mono")
        with card(t("Topic")):
            ui.html(
                f'<a href="{escape(url("topics", found.topic))}">{escape(found.topic)}</a>', sanitize=False, tag="p"
            )
            facts(
                [
                    (t("Partitions"), number(found.partitions)),
                    (t("Key format"), found.key_format),
                    (t("Value format"), found.value_format),
                ]
            )
        with card(t("Queries")):
            _links(t("Written by"), found.written_by)
            _links(t("Read by"), found.read_by)
            if not (found.written_by or found.read_by):
                text(t("No query reads or writes it."), "muted")
    if found.statement:
        with card(t("Statement")):
            code_view(found.statement)
    if found.written_by:
        ui.timer(REFRESH_SECONDS, figures.refresh)


def _links(title: str, queries: tuple[str, ...]) -> None:
    if queries:
        links = ", ".join(f'<a href="{escape(query_url(one))}">{escape(one)}</a>' for one in queries)
        ui.html(f"{escape(title)}: {links}", sanitize=False, tag="p")


class _Figures:
    """What the queries that write it have done, and how fast they do it."""

    def __init__(self, client: Ksql, found: Source) -> None:
        self._client = client
        self._name = found.name
        self._before: float | None = None
        if not found.written_by:
            return
        with ui.element("div").classes("grid").style("--min: 9rem"):
            self._written = stat(t("Rows written"))
            self._rate = stat(t("Rows per second"))
            self._lag = stat(t("Lag"))
            self._wrong = stat(t("Errors"))
        self._set(found)

    async def refresh(self) -> None:
        try:
            self._set(await _described(self._client, self._name))
        except UiError:
            return  # the next time, perhaps

    def _set(self, found: Source) -> None:
        figures = figures_of(found.statistics)
        written = figures.get("written")
        self._written.set(number(written))
        if written is not None and self._before is not None:
            self._rate.set(number(max(0.0, written - self._before) / REFRESH_SECONDS, 1))
        self._before = written
        lag = figures.get("lag")
        self._lag.set(number(lag), tone="warn" if lag else "")
        self._wrong.set(found.errors or "0", tone="bad" if found.errors else "")


def figures_of(statistics: str) -> dict[str, float]:
    """What the server says in one line; of several queries it is the sum.

    >>> figures_of("records: 5  written: 3  lag: 0  records: 2  written: 2  lag: 1")
    {'records': 7.0, 'written': 5.0, 'lag': 1.0}
    """
    found: dict[str, float] = {}
    for part in statistics.split("  "):
        name, _, value = part.partition(": ")
        try:
            found[name.strip()] = found.get(name.strip(), 0.0) + float(value)
        except ValueError:
            continue  # a figure that is not known yet
    return found
