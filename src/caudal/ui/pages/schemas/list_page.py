"""The subjects of the registry with their newest versions, the settings for all, and registering a new subject."""

from __future__ import annotations

from typing import Any

from nicegui import events, ui

from caudal.ui.components import (
    Column,
    Page,
    PagedTable,
    Query,
    card,
    copy_link,
    guarded,
    link_tabs,
    number,
    query_parameter,
    set_query,
    url,
)
from caudal.ui.pages.schemas.away import with_registry
from caudal.ui.pages.schemas.register_form import RegisterForm
from caudal.ui.pages.schemas.settings_form import level_select, mode_select
from caudal.ui.services.registry import TYPES, Registry, SubjectRow
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t


@page("/schemas", title="Schemas", icon="schema", order=30, shortcut="s")
async def show(tab: str = "subjects", subject: str = "") -> None:
    with page_heading(t("Schemas")):
        copy_link()
    tabs = {
        "subjects": (t("Subjects"), "/schemas"),
        "register": (t("Register a schema"), url("schemas", tab="register")),
        "settings": (t("Settings for all"), url("schemas", tab="settings")),
    }
    tab = tab if tab in tabs else "subjects"
    link_tabs(tabs, tab, t("Parts of the registry"))

    async def build(registry: Registry) -> None:
        match tab:
            case "register":
                await RegisterForm(registry, subject).build()
            case "settings":
                await _settings(registry)
            case _:
                await _subjects(registry)

    await with_registry(build)


async def _settings(registry: Registry) -> None:
    with card(t("For every subject without a setting of its own")):
        level_select(registry, await registry.level())
        mode_select(registry, await registry.mode())


async def _subjects(registry: Registry) -> None:
    shown = {"deleted": query_parameter("deleted") == "1"}

    async def load(query: Query) -> Page:
        found = [name for name in await registry.subjects(shown["deleted"]) if query.q.lower() in name.lower()]
        if query.descending:
            found.reverse()
        rows = await registry.rows(found[query.start : query.start + query.size])
        return Page([_row(row) for row in rows], len(found))

    async def choose(event: events.ValueChangeEventArguments[bool | None]) -> None:
        shown["deleted"] = bool(event.value)
        set_query(deleted=1 if event.value else None)
        await table.refresh()

    ui.checkbox(t("Show deleted subjects too"), value=shown["deleted"], on_change=guarded(choose)).props("dense")
    table = PagedTable(
        [
            Column("name", t("Subject"), sortable=True),
            Column("type", t("Type"), kind="badge"),
            Column("latest", t("Latest version"), kind="number"),
            Column("versions", t("Versions"), kind="number"),
            Column("id", t("Id"), kind="number"),
            Column("level", t("Compatibility")),
        ],
        load,
        label=t("Subjects"),
        search=t("Filter by name"),
        empty=t("No subject here. Register a schema, or let a producer with a serialiser do it."),
        sort="name",
    )
    await table.refresh()


def _row(row: SubjectRow) -> dict[str, Any]:
    deleted = row.latest is None
    return {
        "id": number(row.id),
        "name": {"text": row.name, "href": url("schemas", row.name)},
        "type": {"text": t("deleted"), "tone": "warn"} if deleted else {"text": TYPES.get(row.type, row.type)},
        "latest": number(row.latest),
        "versions": number(row.versions),
        "level": {"text": row.level or t("as for all"), "tone": "" if row.level else "muted"},
    }
