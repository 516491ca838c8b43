"""The list of groups: consumer groups with state, members, lag and coordinator, and share groups on a tab of their own.

Only the groups of the shown page are asked for members and lag. Sorting by those needs all of them, so it is offered up
to a bound; a filter brings a larger cluster below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nicegui import ui

from caudal.ui.components import (
    Column,
    Page,
    PagedTable,
    Query,
    copy_link,
    empty_state,
    link_tabs,
    number,
    page_of,
    query_parameter,
    set_query,
    url,
)
from caudal.ui.pages.groups.figures import figure, lag_tone, state_tone, state_word
from caudal.ui.platform import platform
from caudal.ui.services import groups, share_groups
from caudal.ui.services.errors import UiError
from caudal.ui.services.groups import STATES, Listing, Summary
from caudal.ui.services.share_groups import NotServed, ShareGroup, ShareListing
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

SORT_LIMIT = 1000  # groups whose lag may be asked for at once
LISTED = ("name", "state")  # columns that the list of names can be sorted by


@page("/groups", title="Consumer groups", icon="groups", order=20, shortcut="c")
async def show(kind: str = "") -> None:
    shared = kind == "share"
    with page_heading(t("Consumer groups")):
        copy_link()
    tabs = {"": (t("Consumer groups"), "/groups"), "share": (t("Share groups"), url("groups", kind="share"))}
    link_tabs(tabs, "share" if shared else "", t("Kinds of groups"))
    await (_share_table() if shared else _table())


async def _table() -> None:
    chosen = {"state": query_parameter("state")}

    async def load(query: Query) -> Page:
        return await group_rows(query, chosen["state"])

    async def choose(state: str) -> None:
        chosen["state"] = state
        set_query(state=state, page=None)
        table.query = Query(1, table.query.size, table.query.sort, table.query.descending, table.query.q)
        await table.refresh()

    options = {"": t("Every state"), **{state: state_word(state) for state in STATES}}
    with ui.row().classes("w-full items-center gap-2"):
        state = chosen["state"] if chosen["state"] in options else ""
        picker = ui.select(options, value=state, label=t("State"), on_change=lambda event: choose(event.value))
        picker.props("outlined dense options-dense").style("min-width: 12rem")
    table = PagedTable(
        [
            Column("name", t("Group"), sortable=True),
            Column("state", t("State"), kind="status", sortable=True),
            Column("members", t("Members"), kind="number", sortable=True),
            Column("topics", t("Topics"), kind="number"),
            Column("lag", t("Lag"), kind="number", sortable=True),
            Column("coordinator", t("Coordinator"), kind="number"),
        ],
        load,
        label=t("Consumer groups"),
        search=t("Filter by name"),
        empty=t("No group here. A consumer with a group.id makes one: caudal consume TOPIC -G NAME"),
        sort="name",
    )
    await table.refresh()


async def group_rows(query: Query, state: str) -> Page:
    """The page of the table that is asked for."""
    kafka = platform().kafka
    found = chosen_groups(await groups.listings(kafka), query.q, state)
    if query.sort in LISTED or not query.sort:
        found.sort(key=lambda each: (getattr(each, query.sort or "name"), each.name), reverse=query.descending)
        shown = await groups.summaries(kafka, found[query.start : query.start + query.size])
        return Page([_row(each) for each in shown], len(found))
    if len(found) > SORT_LIMIT:
        limit = number(SORT_LIMIT)
        raise UiError(t("Filter the list first: up to {limit} groups can be sorted by this column.", limit=limit))
    rows = [_row(each) for each in await groups.summaries(kafka, found)]
    return page_of(rows, Query(query.page, query.size, query.sort, query.descending))


def chosen_groups(listed: Iterable[Listing], text: str, state: str) -> list[Listing]:
    wanted = text.strip().lower()
    return [each for each in listed if wanted in each.name.lower() and state in ("", each.state)]


def _row(group: Summary) -> dict[str, Any]:
    return {
        "id": group.name,
        "name": {"text": group.name, "href": url("groups", group.name)},
        "state": {"text": state_word(group.state), "tone": state_tone(group.state), "title": group.error},
        "members": figure(group.members),
        "topics": number(group.topics),
        "lag": {**figure(group.lag), "tone": lag_tone(group.lag)},
        "coordinator": group.coordinator,
    }


async def _share_table() -> None:
    kafka = platform().kafka
    try:
        listed = await share_groups.listings(kafka)
    except NotServed as error:
        empty_state("move_to_inbox", t("No share groups"), error.message)
        return

    async def load(query: Query) -> Page:
        found = _matching(await share_groups.listings(kafka), query)
        shown = await share_groups.share_groups(kafka, found[query.start : query.start + query.size])
        return Page([_share_row(each) for each in shown], len(found))

    if not listed:
        empty_state(
            "move_to_inbox",
            t("No share groups yet"),
            t("Consumers of a share group work on a topic as on a queue: each record goes to one of them."),
        )
        return
    table = PagedTable(
        [
            Column("name", t("Group"), sortable=True),
            Column("state", t("State"), kind="status"),
            Column("members", t("Members"), kind="number"),
            Column("lag", t("Lag"), kind="number"),
            Column("coordinator", t("Coordinator"), kind="number"),
        ],
        load,
        label=t("Share groups"),
        search=t("Filter by name"),
        sort="name",
    )
    await table.refresh()


def _matching(listed: Sequence[ShareListing], query: Query) -> list[ShareListing]:
    found = [each for each in listed if query.q.lower() in each.name.lower()]
    return found[::-1] if query.descending else found


def _share_row(group: ShareGroup) -> Mapping[str, Any]:
    return {
        "id": group.name,
        "name": {"text": group.name, "href": url("groups", group.name, kind="share")},
        "state": {"text": state_word(group.state), "tone": state_tone(group.state)},
        "members": number(len(group.members)),
        "lag": {"text": number(group.lag), "tone": lag_tone(group.lag)},
        "coordinator": group.coordinator,
    }
