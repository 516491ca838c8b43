"""The brokers: who they are, what they lead and keep, and the configuration of each."""

from __future__ import annotations

from typing import Any

from caudal.ui.components import (
    Column,
    PagedTable,
    badge,
    empty_state,
    grid,
    link_tabs,
    number,
    page_of,
    size,
    stat,
    url,
)
from caudal.ui.components.table import Page, Query
from caudal.ui.platform import platform
from caudal.ui.services.brokers import BrokerRow, brokers
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t, tn

# Where a value comes from, in the order of confluent-kafka's ConfigSource.
SOURCES = {1: "dynamic (topic)", 2: "dynamic (broker)", 3: "dynamic (all brokers)", 4: "static", 5: "default"}


@page("/brokers", title="Brokers", icon="dns", order=70, shortcut="b")
async def all_brokers() -> None:
    here = platform()
    cluster = await here.kafka.cluster()
    page_heading(t("Brokers"), t("Cluster {id}", id=cluster.cluster_id or "–"))

    async def load(query: Query) -> Page:
        found = await brokers(here.kafka)
        return page_of([_row(item) for item in found], query)

    columns = [
        Column("id", t("Id"), kind="number", sortable=True),
        Column("address", t("Address"), kind="mono"),
        Column("role", t("Role"), kind="badge"),
        Column("rack", t("Rack")),
        Column("leaders", t("Leads"), kind="number", sortable=True),
        Column("replicas", t("Replicas"), kind="number", sortable=True),
        Column("out_of_sync", t("Out of sync"), kind="number", sortable=True),
        Column("bytes", t("On disk"), kind="number", sortable=True),
    ]
    await PagedTable(columns, load, label=t("Brokers"), sort="id").refresh()


@page("/brokers/{number_}", title="Broker", nav=False)
async def one_broker(number_: int, show: str = "changed") -> None:
    here = platform()
    found = {item.id: item for item in await brokers(here.kafka)}
    if number_ not in found:
        empty_state("dns", t("There is no broker {id}", id=number_), t("Brokers are known while they run."))
        return
    item = found[number_]
    with page_heading(t("Broker {id}", id=item.id), f"{item.host}:{item.port}"):
        if item.is_controller:
            badge(t("controller"), "info")
    with grid("10rem"):
        stat(t("Leads"), number(item.leaders), tn("{n} partition", "{n} partitions", item.leaders))
        stat(t("Replicas"), number(item.replicas))
        stat(t("Out of sync"), number(item.out_of_sync), tone="bad" if item.out_of_sync else "good")
        stat(t("On disk"), size(item.bytes))
        stat(t("Rack"), item.rack or "–")
    entries = await here.kafka.broker_configs(item.id)
    link_tabs(
        {
            "changed": (t("Changed settings"), url("brokers", item.id)),
            "all": (t("All settings"), url("brokers", item.id, show="all")),
        },
        show,
        t("Settings"),
    )
    rows = [config_row(entry) for entry in entries.values() if show == "all" or not entry.is_default]

    def load(query: Query) -> Page:
        return page_of(rows, query, lambda row: f"{row['name']} {row['value']}")

    columns = [
        Column("name", t("Name"), kind="mono", sortable=True),
        Column("value", t("Value"), kind="mono"),
        Column("source", t("Source"), sortable=True),
        Column("access", t("Access"), kind="badge"),
    ]
    table = PagedTable(
        columns,
        load,
        label=t("Settings"),
        search=t("Filter settings"),
        empty=t("Every setting has its default value."),
        sort="name",
    )
    await table.refresh()


def _row(item: BrokerRow) -> dict[str, Any]:
    return {
        "id": {"text": item.id, "href": url("brokers", item.id), "sort": item.id},
        "address": f"{item.host}:{item.port}",
        "role": {"text": t("controller"), "tone": "info"} if item.is_controller else {"text": ""},
        "rack": item.rack,
        "leaders": item.leaders,
        "replicas": item.replicas,
        "out_of_sync": {"text": item.out_of_sync, "tone": "bad" if item.out_of_sync else "", "sort": item.out_of_sync},
        "bytes": {"text": size(item.bytes), "sort": item.bytes},
    }


def config_row(entry: Any) -> dict[str, Any]:
    """A setting as a row of a table. What is secret has no value."""
    sources = {
        "dynamic (topic)": t("dynamic (topic)"),
        "dynamic (broker)": t("dynamic (broker)"),
        "dynamic (all brokers)": t("dynamic (all brokers)"),
        "static": t("given at the start"),
        "default": t("default"),
    }
    source = int(getattr(entry.source, "value", entry.source) or 0)
    return {
        "id": entry.name,
        "name": entry.name,
        "value": "••••••" if entry.is_sensitive else (entry.value if entry.value not in (None, "") else None),
        "source": sources.get(SOURCES.get(source, ""), t("default") if entry.is_default else None),
        "access": {"text": t("read only") if entry.is_read_only else ""},
    }
