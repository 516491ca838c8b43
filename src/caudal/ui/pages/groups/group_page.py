"""One group: its figures, then tabs for the lag of each partition with a plot, the members, and the reset of offsets.

`?kind=share` shows a share group: members and where each partition's queue begins. The figures follow by themselves.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from caudal.ui.components import (
    Column,
    Page,
    PagedTable,
    Query,
    card,
    confirm_by_name,
    copy_link,
    grid,
    guarded,
    line_plot,
    link_tabs,
    notify_success,
    number,
    page_of,
    stat,
    url,
)
from caudal.ui.history import Point
from caudal.ui.pages.groups.reset_form import ResetForm
from caudal.ui.pages.groups.state import lag_tone, state_tone, state_word
from caudal.ui.platform import platform
from caudal.ui.services import groups, share_groups
from caudal.ui.services.groups import Group, Member, PartitionLag
from caudal.ui.services.share_groups import ShareGroup, ShareOffset
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t, tn

REFRESH_SECONDS = 5.0
PLOT_SECONDS = 3600
SHOWN_PARTITIONS = 12  # of one member in a cell; the rest is counted


@page("/groups/{name:path}", title="Consumer group", nav=False)
async def show(name: str, tab: str = "lag", kind: str = "") -> None:
    if kind == "share":
        await _share_page(name, tab)
        return
    view = GroupView(await groups.group(platform().kafka, name))
    await view.build(tab if tab in ("lag", "members", "reset") else "lag")


class GroupView:
    """The page of a consumer group while somebody looks at it."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.tables: list[PagedTable] = []

    async def build(self, tab: str) -> None:
        name = self.group.name
        with page_heading(name, t("Consumer group")):
            copy_link()
            delete = ui.button(t("Delete"), icon="delete_outline", on_click=guarded(self.delete))
            delete.props("flat no-caps")
        with grid("9rem"):
            self.state, self.lag = stat(t("State")), stat(t("Lag"))
            self.members, self.partitions = stat(t("Members")), stat(t("Partitions"))
            self.coordinator = stat(t("Coordinator"))
        tabs = {
            "lag": (t("Lag"), url("groups", name)),
            "members": (t("Members"), url("groups", name, tab="members")),
            "reset": (t("Reset offsets"), url("groups", name, tab="reset")),
        }
        link_tabs(tabs, tab, t("Parts of the group"))
        match tab:
            case "lag":
                self._lag_tab()
            case "members":
                self.tables.append(member_table(lambda: self.group.members))
            case "reset":
                await ResetForm(self.group, on_done=self.refresh).build()
        await self._draw()
        ui.timer(REFRESH_SECONDS, guarded(self.refresh))

    def _lag_tab(self) -> None:
        with card(t("Lag over the last hour")):
            self.plot = line_plot(t("Lag over the last hour"))
        self.tables.append(
            PagedTable(
                [
                    Column("topic", t("Topic"), sortable=True),
                    Column("partition", t("Partition"), kind="number", sortable=True),
                    Column("committed", t("Committed"), kind="number", sortable=True),
                    Column("end", t("End"), kind="number", sortable=True),
                    Column("lag", t("Lag"), kind="number", sortable=True),
                    Column("member", t("Member"), kind="mono"),
                ],
                self._partitions,
                label=t("Lag of each partition"),
                search=t("Filter by topic or member"),
                empty=t("Nothing is committed or assigned."),
            )
        )

    def _partitions(self, query: Query) -> Page:
        return page_of([_partition_row(row) for row in self.group.partitions], query, lambda row: str(row["found_by"]))

    async def refresh(self) -> None:
        self.group = await groups.group(platform().kafka, self.group.name)
        await self._draw()

    async def _draw(self) -> None:
        group = self.group
        self.state.set(state_word(group.state), group.assignor, state_tone(group.state))
        self.lag.set(number(group.lag), t("records behind"), lag_tone(group.lag))
        self.members.set(number(len(group.members)))
        self.partitions.set(number(len(group.partitions)), tn("in {n} topic", "in {n} topics", len(group.topics)))
        if group.coordinator is not None:
            self.coordinator.set(t("Broker {id}", id=group.coordinator[0]), group.coordinator[1])
        if hasattr(self, "plot"):
            self._draw_plot()
        for table in self.tables:
            await table.refresh()

    def _draw_plot(self) -> None:
        history, labels, now = platform().history, {"group": self.group.name}, time.time()
        points = history.series("group_lag", labels, since=now - PLOT_SECONDS)
        if self.group.lag is not None:
            points.append(Point(now, self.group.lag))
        self.plot.update({t("Lag"): points})

    async def delete(self) -> None:
        name = self.group.name
        what = t("The group {name} and its committed offsets will be deleted.", name=name)
        if await confirm_by_name(name, what):
            await groups.delete(platform().kafka, name)
            notify_success(t("The group {name} is deleted.", name=name))
            ui.navigate.to("/groups")


def _partition_row(row: PartitionLag) -> dict[str, Any]:
    member = row.member
    return {
        "topic": {"text": row.topic, "href": url("topics", row.topic)},
        "partition": row.partition,
        "committed": _figure(row.committed),
        "end": _figure(row.end) if row.end is not None else {"text": t("gone"), "sort": -1},
        "lag": {**_figure(row.lag), "tone": lag_tone(row.lag)},
        "member": {"text": member.client_id if member else "–", "title": member.member_id if member else ""},
        "found_by": f"{row.topic} {member.client_id if member else ''} {member.member_id if member else ''}",
    }


def _figure(value: int | None) -> dict[str, Any]:
    return {"text": number(value), "sort": -1 if value is None else value}


def member_table(members: Any) -> PagedTable:
    """`members` is asked anew for every page of the table."""

    def load(query: Query) -> Page:
        return page_of([_member_row(member) for member in members()], query, lambda row: str(row["found_by"]))

    return PagedTable(
        [
            Column("client", t("Client"), sortable=True),
            Column("host", t("Host"), kind="mono", sortable=True),
            Column("count", t("Partitions"), kind="number", sortable=True),
            Column("assigned", t("Assignment"), kind="mono"),
            Column("member", t("Member id"), kind="mono"),
        ],
        load,
        label=t("Members and their assignment"),
        search=t("Filter by client, host or topic"),
        empty=t("The group has no members at the moment."),
    )


def _member_row(member: Member) -> Mapping[str, Any]:
    assigned = assignment_text(member.assigned)
    instance = f" ({member.instance_id})" if member.instance_id else ""
    return {
        "id": member.member_id,
        "client": f"{member.client_id}{instance}",
        "host": member.host,
        "count": len(member.assigned),
        "assigned": assigned,
        "member": member.member_id,
        "found_by": f"{member.client_id} {instance} {member.host} {member.member_id} {assigned}",
    }


def assignment_text(assigned: Sequence[tuple[str, int]]) -> str:
    """orders: 0, 1, 2 · payments: 4; a long one ends with how many more there are."""
    parts: dict[str, list[int]] = {}
    for topic, partition in assigned[:SHOWN_PARTITIONS]:
        parts.setdefault(topic, []).append(partition)
    text = " · ".join(f"{topic}: {', '.join(map(str, numbers))}" for topic, numbers in parts.items())
    more = len(assigned) - SHOWN_PARTITIONS
    return f"{text} {t('and {n} more', n=more)}" if more > 0 else text or "–"


async def _share_page(name: str, tab: str) -> None:
    found: dict[str, ShareGroup] = {"group": await share_groups.share_group(platform().kafka, name)}
    tab = "members" if tab == "members" else "offsets"
    with page_heading(name, t("Share group: its members work on the topics as on a queue")):
        copy_link()
    with grid("9rem"):
        state, lag, members = stat(t("State")), stat(t("Lag")), stat(t("Members"))
        coordinator = stat(t("Coordinator"))
    tabs = {
        "offsets": (t("Partitions"), url("groups", name, kind="share")),
        "members": (t("Members"), url("groups", name, kind="share", tab="members")),
    }
    link_tabs(tabs, tab, t("Parts of the group"))
    if tab == "members":
        table = member_table(lambda: found["group"].members)
    else:
        table = PagedTable(
            [
                Column("topic", t("Topic"), sortable=True),
                Column("partition", t("Partition"), kind="number", sortable=True),
                Column("start", t("First open record"), kind="number", sortable=True),
                Column("lag", t("Lag"), kind="number", sortable=True),
            ],
            lambda query: page_of(
                [_share_offset_row(row) for row in found["group"].offsets], query, lambda row: str(row["found_by"])
            ),
            label=t("Lag of each partition"),
            search=t("Filter by topic"),
        )

    async def draw() -> None:
        group = found["group"]
        state.set(state_word(group.state), group.assignor, state_tone(group.state))
        lag.set(number(group.lag), t("records behind"), lag_tone(group.lag))
        members.set(number(len(group.members)))
        coordinator.set(t("Broker {id}", id=group.coordinator))
        await table.refresh()

    async def refresh() -> None:
        found["group"] = await share_groups.share_group(platform().kafka, name)
        await draw()

    await draw()
    ui.timer(REFRESH_SECONDS, guarded(refresh))


def _share_offset_row(row: ShareOffset) -> Mapping[str, Any]:
    return {
        "topic": {"text": row.topic, "href": url("topics", row.topic)},
        "partition": row.partition,
        "start": _figure(row.start),
        "lag": {**_figure(row.lag), "tone": lag_tone(row.lag)},
        "found_by": row.topic,
    }
