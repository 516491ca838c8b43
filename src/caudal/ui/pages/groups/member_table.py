"""The members of a group with what they are assigned; consumer groups and share groups alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from caudal.ui.components import Column, Page, PagedTable, Query, page_of
from caudal.ui.services.groups import Member
from caudal.ui.words import t

SHOWN_PARTITIONS = 12  # of one member in a cell; the rest is counted


def member_table(members: Callable[[], Sequence[Member]]) -> PagedTable:
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
