"""The tabs of a topic, but for its messages: partitions, consumers, schema, configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from caudal.ui.components import (
    Column,
    PagedTable,
    card,
    empty_state,
    facts,
    guarded,
    json_view,
    missing_server,
    notify_success,
    number,
    page_of,
    size,
    text,
    url,
)
from caudal.ui.components.buttons import button
from caudal.ui.components.code import code_view
from caudal.ui.components.forms import form_dialog, show_problems
from caudal.ui.pages.topics.service import topics
from caudal.ui.platform import platform
from caudal.ui.services import topic_changes
from caudal.ui.services.errors import UiError
from caudal.ui.services.topic_changes import ConfigRow, config_rows
from caudal.ui.services.topics import ConsumerRow, PartitionRow
from caudal.ui.words import t

CONFIG_STYLE = """
.config-table th.k-mono { font-family: var(--font); }
.config-table td:nth-child(1) { white-space: nowrap; } .config-table td:nth-child(3) { white-space: nowrap; }
.config-table td:nth-child(2) { min-width: 9rem; } .config-table td:nth-child(5) { min-width: 16rem; }
.mr-auto { margin-right: auto; }
"""
NOT_FOUND = (404, 40401, 40402, 40403)


async def partitions_tab(name: str) -> None:
    rows = [_partition_cells(row) for row in await topics().partitions(name)]
    table = PagedTable(
        [
            Column("index", t("Partition"), "number", sortable=True),
            Column("leader", t("Leader"), "number", sortable=True),
            Column("replicas", t("Replicas"), "mono"),
            Column("isr", t("In sync"), "mono"),
            Column("first", t("First offset"), "number", sortable=True),
            Column("end", t("Next offset"), "number", sortable=True),
            Column("messages", t("Messages"), "number", sortable=True),
            Column("size", t("Size"), "number", sortable=True),
            Column("state", t("State"), "badge"),
        ],
        lambda query: page_of(rows, query),
        label=t("Partitions"),
        sort="index",
        size=100,
    )
    await table.refresh()


def _partition_cells(row: PartitionRow) -> dict[str, Any]:
    healthy = len(row.isr) == len(row.replicas)
    state = t("in sync") if healthy else t("under-replicated")
    if row.leader < 0:
        healthy, state = False, t("no leader")
    known = row.first is not None and row.end is not None
    return {
        "id": str(row.index),
        "index": row.index,
        "leader": row.leader,
        "replicas": ", ".join(map(str, row.replicas)),
        "isr": ", ".join(map(str, row.isr)),
        "first": _figure(row.first),
        "end": _figure(row.end),
        "messages": _figure((row.end or 0) - (row.first or 0) if known else None),
        "size": {"text": size(row.size), "sort": row.size},
        "state": {"text": state, "tone": "good" if healthy else "warn"},
    }


def _figure(value: int | None) -> dict[str, Any]:
    return {"text": number(value), "sort": value}


async def consumers_tab(name: str) -> None:
    groups = await topics().consumers(name)
    if not groups:
        empty_state(
            "groups",
            t("No consumer group reads this topic"),
            t("A group is shown here when it has committed an offset of the topic."),
        )
        return
    rows = [_consumer_cells(group) for group in groups]
    table = PagedTable(
        [
            Column("group", t("Group"), sortable=True),
            Column("state", t("State"), "status", sortable=True),
            Column("partitions", t("Partitions"), "number", sortable=True),
            Column("lag", t("Lag"), "number", sortable=True),
        ],
        lambda query: page_of(rows, query, lambda row: str(row["id"])),
        label=t("Consumers"),
        search=t("Filter groups"),
        sort="-lag",
    )
    await table.refresh()


def _consumer_cells(row: ConsumerRow) -> dict[str, Any]:
    return {
        "id": row.group,
        "group": {"text": row.group, "href": url("groups", row.group)},
        "state": {"text": row.state or "–", "tone": "good" if row.state == "stable" else ""},
        "partitions": row.partitions,
        "lag": _figure(row.lag),
    }


async def schema_tab(name: str) -> None:
    registry = platform().registry
    if registry is None:
        missing_server("Schema Registry", "--registry")
        return
    with ui.element("div").classes("grid").style("--min: 24rem"):
        for part, title in (("value", t("Value")), ("key", t("Key"))):
            subject = f"{name}-{part}"
            with card(title):
                try:
                    found = await registry.get(f"{url('subjects', subject)}/versions/latest")
                except UiError as error:
                    if error.code not in NOT_FOUND:
                        raise
                    text(t("No schema is registered as {subject}.", subject=subject), "muted")
                    ui.link(t("Register one"), url("schemas", new=subject))
                    continue
                _schema(subject, found)


def _schema(subject: str, found: Mapping[str, Any]) -> None:
    kind = str(found.get("schemaType") or "AVRO")
    facts(
        [
            (t("Subject"), subject),
            (t("Version"), str(found.get("version"))),
            (t("Language"), kind),
            (t("Schema id"), str(found.get("id"))),
        ]
    )
    body = str(found.get("schema", ""))
    code_view(body) if kind == "PROTOBUF" else json_view(body)
    ui.link(t("All versions"), url("schemas", subject))


async def config_tab(name: str) -> None:
    known: dict[str, ConfigRow] = {}

    async def load(query: Any) -> Any:
        known.clear()
        known.update({row.name: row for row in config_rows(await platform().kafka.topic_configs(name))})
        return page_of([_config_cells(row) for row in known.values()], query, lambda row: str(row["id"]))

    ui.add_css(CONFIG_STYLE)
    table = PagedTable(
        [
            Column("name", t("Setting"), "mono", sortable=True),
            Column("value", t("Value"), "mono"),
            Column("default", t("Default"), "mono"),
            Column("source", t("Source"), "badge", sortable=True),
            Column("doc", t("What it does")),
            Column("edit", "", "actions"),
        ],
        load,
        label=t("Configuration"),
        search=t("Filter settings"),
        size=100,
        on_action=lambda _, row: edit_config(name, known[str(row["id"])], table),
    ).classes("config-table")
    await table.refresh()


def _config_cells(row: ConfigRow) -> dict[str, Any]:
    sources = {
        "topic": t("this topic"),
        "broker": t("broker"),
        "cluster": t("cluster"),
        "broker file": t("broker's file"),
        "default": t("default"),
    }
    edit = [{"name": "edit", "label": t("Edit"), "icon": "edit"}]
    return {
        "id": row.name,
        "name": row.name,
        "value": "••••" if row.sensitive else row.value or t("(empty)"),
        "default": {"text": row.default if row.is_set and row.default is not None else "", "tone": "muted"},
        "source": {"text": sources[row.source], "tone": "info" if row.is_set else ""},
        "doc": {"text": row.documentation, "tone": "muted text-sm"},
        "edit": [] if row.read_only else edit,
    }


def edit_config(topic: str, row: ConfigRow, table: PagedTable) -> None:
    with form_dialog(row.name) as dialog:
        text(row.documentation, "form-note")
        field = ui.input(t("Value"), value="" if row.sensitive else row.value).props("outlined dense autofocus")
        if row.default is not None:
            field.props["hint"] = t("Default: {value}", value=row.default)

        async def change(value: str | None) -> None:
            wrong = "" if value is None else topic_changes.config_problem(row.name, value)
            if show_problems({"value": field}, {"value": wrong}):
                return
            try:
                await topic_changes.change_config(platform().kafka, topic, row.name, value)
            except UiError as error:
                # What the broker alone can say about the value belongs beside it, too.
                show_problems({"value": field}, {"value": error.message})
                return
            topics().forget()
            dialog.close()
            notify_success(t("{setting} was changed.", setting=row.name))
            await table.refresh()

        save = guarded(lambda: change(str(field.value)))
        field.on("keydown.enter", save)
        with ui.element("div").classes("form-foot"):
            if row.is_set:
                button(t("Back to the default"), lambda: change(None), look="mr-auto").props("flat")
            button(t("Cancel"), dialog.close, look="").props("flat")
            button(t("Save"), save, look="primary")
