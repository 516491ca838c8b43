"""The table of messages: one page of rows at a time, and rows that are pushed while a topic is followed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from nicegui import events
from nicegui.element import Element

from caudal.ui.components import clock, guarded, size
from caudal.ui.services.decoding import Message, preview
from caudal.ui.services.schema_reading import SERDES
from caudal.ui.words import t

MOST_LIVE = 200


class MessageTable(Element, component="message_table.js"):
    """`on_open` is called with a partition and an offset."""

    def __init__(self, on_open: Callable[[int, int], Any]) -> None:
        super().__init__()
        self._props.update(
            rows=[],
            label=t("Messages"),
            empty="",
            busy=True,
            opened="",
            words={
                "time": t("Time"),
                "partition": t("Partition"),
                "offset": t("Offset"),
                "key": t("Key"),
                "value": t("Value"),
                "size": t("Size"),
            },
        )

        async def opened(event: events.GenericEventArguments) -> None:
            partition, _, offset = str(event.args["id"]).partition(":")
            await on_open(int(partition), int(offset))

        self.on("open", guarded(opened))

    def show(self, messages: Sequence[Message], empty: str) -> None:
        self._props.update(rows=[row_of(message) for message in messages], empty=empty, busy=False)
        self.update()

    def add(self, messages: Iterable[Message]) -> None:
        """On top, the newest first."""
        self.run_method("add", [row_of(message) for message in messages][::-1], MOST_LIVE)

    def highlight(self, opened: str) -> None:
        """The row that is open in the drawer."""
        self._props["opened"] = opened
        self.update()


def row_of(message: Message) -> dict[str, Any]:
    record, key, value = message.record, message.key, message.value
    return {
        "id": f"{record.partition}:{record.offset}",
        "label": t("Open offset {offset} of partition {partition}", offset=record.offset, partition=record.partition),
        "time": time_of(record.timestamp),
        "partition": record.partition,
        "offset": record.offset,
        "key": preview(key.text),
        "keyKind": key.kind,
        "value": preview(value.text),
        "valueKind": value.kind,
        "badge": {"JSON": "JSON Schema", "AVRO": "Avro", "PROTOBUF": "Protobuf"}[value.kind]
        if value.kind in SERDES
        else "",
        "size": size(message.size),
    }


def time_of(timestamp: int) -> str:
    """A producer may write any number as a time."""
    try:
        datetime.fromtimestamp(timestamp / 1000)
    except (ValueError, OverflowError, OSError):
        return str(timestamp)
    return clock(timestamp / 1000) if timestamp >= 0 else "–"
