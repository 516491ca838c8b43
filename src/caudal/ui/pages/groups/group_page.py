"""One group: its figures, then tabs for the lag of each partition with a plot, the members, and the reset of offsets.

The figures follow by themselves. With `?kind=share` it is a share group, which `share_view.py` shows.
"""

from __future__ import annotations

import time
from collections import deque
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
    h2,
    line_plot,
    link_tabs,
    notify_success,
    number,
    page_of,
    query_parameter,
    set_query,
    stat,
    url,
)
from caudal.ui.components.buttons import button
from caudal.ui.history import Point
from caudal.ui.pages.groups.figures import figure, lag_tone, state_tone, state_word
from caudal.ui.pages.groups.member_table import member_table
from caudal.ui.pages.groups.reset_form import ResetForm
from caudal.ui.pages.groups.share_view import share_view
from caudal.ui.platform import platform
from caudal.ui.services import groups
from caudal.ui.services.groups import Group, PartitionLag
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t, tn

REFRESH_SECONDS = 5.0
SEEN_POINTS = 720  # an hour of looking


@page("/groups/{name:path}", title="Consumer group", nav=False)
async def show(name: str, tab: str = "lag", kind: str = "") -> None:
    if kind == "share":
        await share_view(name, tab)
        return
    view = GroupView(await groups.group(platform().kafka, name))
    await view.build(tab if tab in ("lag", "members", "reset") else "lag")


class GroupView:
    """The page of a consumer group while somebody looks at it."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.tables: list[PagedTable] = []
        self.seen: deque[Point] = deque(maxlen=SEEN_POINTS)

    async def build(self, tab: str) -> None:
        name = self.group.name
        with page_heading(name, t("Consumer group")):
            copy_link()
            button(t("Delete"), self.delete, icon="delete_outline")
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
        with card():
            with ui.row().classes("w-full items-center justify-between"):
                h2(t("Lag over time"))
                self.hours = ui.select(
                    {1: t("Last hour"), 24: t("Last 24 hours")},
                    value=24 if query_parameter("hours") == "24" else 1,
                    label=t("Shown"),
                    on_change=guarded(self._hours_chosen),
                )
                self.hours.props("outlined dense options-dense").style("min-width: 9rem")
            self.plot = line_plot(t("Lag over time"))
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

    def _hours_chosen(self) -> None:
        set_query(hours=None if self.hours.value == 1 else self.hours.value)
        self._draw_plot()

    def _draw_plot(self) -> None:
        """The sampler's points with those that this page saw itself, which lie closer together."""
        now = time.time()
        if self.group.lag is not None:
            self.seen.append(Point(now, self.group.lag))
        since = now - self.hours.value * 3600
        sampled = platform().history.series("group_lag", {"group": self.group.name}, since=since)
        points = sorted([*sampled, *(point for point in self.seen if point.at >= since)])
        self.plot.update({t("Lag"): points if len(points) > 1 else []})

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
        "committed": figure(row.committed),
        "end": figure(row.end) if row.end is not None else {"text": t("gone"), "sort": -1},
        "lag": {**figure(row.lag), "tone": lag_tone(row.lag)},
        "member": {"text": member.client_id if member else "–", "title": member.member_id if member else ""},
        "found_by": f"{row.topic} {member.client_id if member else ''} {member.member_id if member else ''}",
    }
