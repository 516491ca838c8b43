"""One share group: its members, and where the queue of each partition begins. The figures follow by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from caudal.ui.components import Column, PagedTable, copy_link, grid, guarded, link_tabs, number, page_of, stat, url
from caudal.ui.pages.groups.figures import figure, lag_tone, state_tone, state_word
from caudal.ui.pages.groups.member_table import member_table
from caudal.ui.platform import platform
from caudal.ui.services import share_groups
from caudal.ui.services.share_groups import ShareGroup, ShareOffset
from caudal.ui.shell import page_heading
from caudal.ui.words import t

REFRESH_SECONDS = 5.0


async def share_view(name: str, tab: str) -> None:
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
        "start": figure(row.start),
        "lag": {**figure(row.lag), "tone": lag_tone(row.lag)},
        "found_by": row.topic,
    }
