"""A connector's offsets: how far it is, and, while it is stopped, another place to go on from or none."""

from __future__ import annotations

import json
from typing import Any

from nicegui import ui

from caudal.ui.components import (
    Column,
    Page,
    PagedTable,
    Query,
    card,
    confirm_by_name,
    notify_success,
    number,
    page_of,
    text,
)
from caudal.ui.components.buttons import button
from caudal.ui.platform import platform
from caudal.ui.services.connect import Connect, Connector, Offset
from caudal.ui.services.errors import UiError
from caudal.ui.words import t


async def offsets_tab(client: Connect, connector: Connector) -> None:
    await _Offsets(client, connector).build()


class _Offsets:
    def __init__(self, client: Connect, connector: Connector) -> None:
        self._client = client
        self._connector = connector
        self._found: list[Offset] = []

    async def build(self) -> None:
        if self._connector.is_sink:
            columns = [
                Column("topic", t("Topic"), sortable=True),
                Column("partition", t("Partition"), "number", sortable=True),
                Column("offset", t("Offset"), "number", sortable=True),
                Column("end", t("End"), "number", sortable=True),
                Column("lag", t("Lag"), "number", sortable=True),
            ]
        else:
            columns = [Column("partition", t("Partition"), "mono"), Column("offset", t("Offset"), "mono")]
        self._table = PagedTable(
            columns, self._load, label=t("Offsets"), empty=t("It has stored no offsets yet."), prefix="o"
        )
        await self._table.refresh()
        if self._connector.state == "STOPPED":
            self._change()
        else:
            text(t("Stop the connector to change its offsets."), "muted")

    async def _load(self, query: Query) -> Page:
        self._found = await self._client.offsets(self._connector.name, platform().kafka)
        row = _sink_row if self._connector.is_sink else _source_row
        return page_of([row(one) for one in self._found], query)

    def _change(self) -> None:
        with card(t("Change offsets")):
            text(
                t("Each entry has a partition and the offset to go on from; null as the offset forgets the partition."),
                "muted",
            )
            written = [{"partition": one.partition, "offset": one.offset} for one in self._found]
            self._area = ui.textarea(t("Offsets as JSON"), value=json.dumps(written, indent=2, ensure_ascii=False))
            self._area.props("outlined autogrow").classes("w-full json-area")
            with ui.element("div").classes("row gap-2 flex-wrap"):
                button(t("Save offsets"), self._alter, look="primary")
                button(t("Reset all offsets"), self._reset)

    async def _alter(self) -> None:
        try:
            offsets = _parsed(str(self._area.value))
            said = await self._client.alter_offsets(self._connector.name, offsets)
        except UiError as error:
            self._area.error = error.message
            return
        self._area.error = None
        notify_success(said)
        await self._table.refresh()

    async def _reset(self) -> None:
        what = t("{name} forgets how far it is, and begins anew when it is resumed.", name=self._connector.name)
        if await confirm_by_name(self._connector.name, what, t("Reset")):
            notify_success(await self._client.reset_offsets(self._connector.name))
            await self._table.refresh()


def _parsed(written: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(written)
    except json.JSONDecodeError as error:
        raise UiError(t("This is not JSON: {reason} at line {line}.", reason=error.msg, line=error.lineno)) from None
    if isinstance(found, dict) and isinstance(found.get("offsets"), list):
        found = found["offsets"]
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise UiError(t("Write a list of objects, each with a partition and an offset."))
    return found


def _sink_row(one: Offset) -> dict[str, Any]:
    topic, partition = str(one.partition.get("kafka_topic", "")), one.partition.get("kafka_partition")
    at = (one.offset or {}).get("kafka_offset")
    return {
        "topic": topic,
        "partition": partition,
        "offset": {"text": number(at), "sort": at},
        "end": {"text": number(one.end), "sort": one.end},
        "lag": {"text": number(one.lag), "sort": one.lag, "tone": "warn" if one.lag else ""},
    }


def _source_row(one: Offset) -> dict[str, Any]:
    return {"partition": _json(one.partition), "offset": _json(one.offset)}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
