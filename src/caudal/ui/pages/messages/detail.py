"""The drawer of one message: its key, value and headers in full, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nicegui import ui

from caudal.ui.components import badge, code_view, copy_link, facts, h2, json_view, size, text
from caudal.ui.components.buttons import button
from caudal.ui.pages.messages.producing import replay_dialog
from caudal.ui.pages.messages.table import time_of
from caudal.ui.platform import platform
from caudal.ui.services.decoding import Message, Note, Part, Readings, preview
from caudal.ui.services.messages import one_message
from caudal.ui.words import t

if TYPE_CHECKING:
    from caudal.ui.pages.messages.browser import MessageBrowser

LONGEST_SHOWN = 200_000  # characters; more would hold up the browser


async def open_message(
    topic: str,
    partitions: int,
    partition: int,
    offset: int,
    readings: Readings,
    browser: MessageBrowser,
    on_close: Callable[[], None],
) -> None:
    """UiError when there is no such message."""
    here = platform()
    message = await one_message(here.kafka, here.settings.registry, topic, partition, offset, readings)
    title = t("Partition {partition}, offset {offset}", partition=partition, offset=offset)
    dialog = ui.dialog(value=True).props(f'position="right" full-height aria-label="{title}"')

    def closed() -> None:
        on_close()
        dialog.delete()

    dialog.on("hide", closed)
    with dialog, ui.card().classes("message-drawer"):
        with ui.element("div").classes("head"):
            ui.label(title).classes("dialog-title").props('role="heading" aria-level="2"')
            copy_link()
            close = button("", dialog.close, icon="close", look="")
            close.props(f'flat dense autofocus aria-label="{t("Close")}"')
        _facts(message)
        part(t("Key"), message.key)
        part(t("Value"), message.value)
        _headers(message)
        with ui.element("div").classes("actions"):
            button(
                t("Edit and send again"),
                lambda: replay_dialog(topic, partitions, message, browser),
                icon="edit",
            )


def _facts(message: Message) -> None:
    record = message.record
    kinds = {1: t("set by the producer"), 2: t("set by the broker")}
    kind = kinds.get(record.timestamp_type, "")
    rows = [
        (t("Topic"), record.topic),
        (t("Time"), f"{time_of(record.timestamp)} {f'({kind})' if kind else ''}"),
        (t("Timestamp"), str(record.timestamp)),
        (t("Size"), t("{key} key, {value} value", key=_size(record.key), value=_size(record.value))),
    ]
    facts(rows)


def _size(data: bytes | None) -> str:
    return size(None if data is None else len(data))


def part(title: str, shown: Part) -> None:
    """A key or a value in full."""
    with ui.element("div").classes("part-head"):
        h2(title)
        badge(shown.kind if shown.schema_id is None else f"{shown.kind} · {t('schema')} {shown.schema_id}")
    if shown.note is not None:
        text(note_text(shown.note), "muted text-sm")
    pretty = shown.pretty()
    if len(pretty) > LONGEST_SHOWN:
        text(t("Only the beginning is shown; export the message to see it all."), "muted text-sm")
        code_view(preview(pretty, LONGEST_SHOWN), copy=False)
    elif isinstance(shown.value, (dict, list)):
        json_view(pretty)
    else:
        code_view(pretty)


def note_text(note: Note) -> str:
    """A note of the decoder in the visitor's language."""
    if note.code == "could-be":
        return t("As a number: {number}", number=note.detail)
    if note.code == "not-a-number":
        return t("These bytes are no {kind}.", kind=note.detail)
    if note.code == "no-registry":
        return t("It may have a schema, but this control center knows no Schema Registry.")
    if note.code == "registry-away":
        return t("The Schema Registry could not be asked: {reason}", reason=note.detail)
    if note.code == "unknown-schema":
        return t("The Schema Registry has no schema {id}.", id=note.detail)
    if note.code == "unknown-language":
        return t("Schema {id} is in a language that is not read here.", id=note.detail)
    return t("It cannot be read: {reason}", reason=note.detail)


def _headers(message: Message) -> None:
    with ui.element("div").classes("part-head"):
        h2(t("Headers"))
    if message.record.headers:
        facts([(name, "null" if value is None else value) for name, value in message.headers.items()])
    else:
        text(t("None"), "muted")
