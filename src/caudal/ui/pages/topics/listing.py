"""The list of topics: searched, sorted and cut on the server; creating a topic."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from caudal.ui.components import (
    Column,
    Page,
    PagedTable,
    Query,
    copy_link,
    duration,
    number,
    query_parameter,
    set_query,
    size,
    url,
)
from caudal.ui.components.buttons import button
from caudal.ui.pages.topics.creating import create_dialog
from caudal.ui.pages.topics.service import topics
from caudal.ui.services.topics import UNLIMITED, TopicQuery, TopicRow, is_internal
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t


@page("/topics", title="Topics", icon="topic", order=10, shortcut="t")
async def topic_list() -> None:
    internal = query_parameter("internal") == "1"

    async def load(query: Query) -> Page:
        answer = await topics().page(
            TopicQuery(query.q, switch.value, query.sort or "name", query.descending, query.page, query.size)
        )
        return Page([row_cells(row) for row in answer.rows], answer.total)

    async def show_internal() -> None:
        set_query(internal="1" if switch.value else None, page=None)
        await table.refresh()

    ui.add_css(".topic-list td:first-child { min-width: 10rem; }")
    with page_heading(t("Topics")):
        switch = ui.switch(t("Internal topics"), value=internal, on_change=show_internal)
        copy_link()
        button(t("Create topic"), create_dialog, icon="add", look="primary")
    table = PagedTable(
        [
            Column("name", t("Name"), sortable=True),
            Column("messages", t("Messages"), "number", sortable=True),
            Column("size", t("Size"), "number", sortable=True),
            Column("partitions", t("Partitions"), "number", sortable=True),
            Column("replicas", t("Replicas"), "number", sortable=True),
            Column("retention", t("Retention")),
            Column("state", t("State"), "badge"),
        ],
        load,
        label=t("Topics"),
        search=t("Filter topics"),
        empty=t("No topic matches. Create one, or show the internal ones."),
        sort="name",
    ).classes("topic-list")
    await table.refresh()
    if query_parameter("new") == "1":
        create_dialog()


def row_cells(row: TopicRow) -> dict[str, Any]:
    """A topic as the table shows it."""
    return {
        "id": row.name,
        "name": {"text": row.name, "href": url("topics", row.name)},
        "messages": number(row.messages),
        "size": size(row.size),
        "partitions": number(row.partitions),
        "replicas": number(row.replicas),
        "retention": retention_text(row),
        "state": state_badge(row),
    }


def retention_text(row: TopicRow) -> str:
    if row.retention is None:
        return "–"
    if "delete" not in row.cleanup:
        return t("compacted")
    kept = t("for ever") if row.retention == UNLIMITED else duration(row.retention)
    return f"{kept}, {t('compacted')}" if "compact" in row.cleanup else kept


def state_badge(row: TopicRow) -> dict[str, str]:
    if row.under_replicated:
        return {"text": t("under-replicated: {count}", count=row.under_replicated), "tone": "warn"}
    return {"text": t("internal") if is_internal(row.name) else "", "tone": ""}
