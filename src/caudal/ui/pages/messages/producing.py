"""The form that writes a message, new or as an edited copy of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from caudal.ui.components import guarded, notify_success
from caudal.ui.components.forms import foot, form_dialog, show_problems
from caudal.ui.platform import platform
from caudal.ui.services.decoding import Message
from caudal.ui.services.errors import UiError
from caudal.ui.services.message_query import QueryError
from caudal.ui.services.producing import HEX, JSON, NULL, SCHEMA, TEXT, Draft, Written, draft_of, produce
from caudal.ui.words import t

if TYPE_CHECKING:
    from caudal.ui.pages.messages.browser import MessageBrowser

ANY = -1  # the partitioner's choice


@guarded
async def produce_dialog(topic: str, partitions: int, browser: MessageBrowser | None) -> None:
    subjects = await _subjects()
    value = Written(SCHEMA, "", f"{topic}-value") if f"{topic}-value" in subjects else Written(JSON)
    key = Written(SCHEMA, "", f"{topic}-key") if f"{topic}-key" in subjects else Written(TEXT)
    _Form(topic, partitions, Draft(key, value), subjects, browser, t("Produce message"))


async def replay_dialog(topic: str, partitions: int, message: Message, browser: MessageBrowser) -> None:
    """The message in the form, to be changed and written again."""
    subjects = await _subjects()
    ids = {part.schema_id for part in (message.key, message.value) if part.schema_id is not None}
    named = {id: subject for id in ids if (subject := await _subject_of(id, topic))}
    draft = draft_of(message, named)
    _Form(topic, partitions, draft, subjects, browser, t("Edit and send again"))


async def _subjects() -> list[str]:
    """Without a registry, or while it is away, messages are written without schemas."""
    registry = platform().registry
    try:
        return sorted(await registry.get("/subjects")) if registry is not None else []
    except UiError:
        return []


async def _subject_of(id: int, topic: str) -> str | None:
    registry = platform().registry
    try:
        found = await registry.get(f"/schemas/ids/{id}/versions") if registry is not None else []
    except UiError:
        return None
    names = [str(one["subject"]) for one in found]
    return next((name for name in names if name.startswith(f"{topic}-")), names[0] if names else None)


class _PartFields:
    """The fields of the key or the value."""

    def __init__(self, label: str, written: Written, subjects: list[str], rows: int) -> None:
        formats = {TEXT: t("Text"), JSON: "JSON", HEX: t("Hexadecimal"), NULL: t("Null")}
        if subjects:
            formats[SCHEMA] = t("With a schema")
        known = written.subject if written.subject in subjects else None
        with ui.element("div").classes("pair"):
            self.format = ui.select(formats, value=written.format, label=t("{part}: format", part=label))
            self.subject = ui.select(
                subjects, value=known, label=t("{part}: subject", part=label), with_input=True, clearable=True
            )
            self.subject.bind_visibility_from(self.format, "value", value=SCHEMA)
        self.text = ui.textarea(label, value=written.text).props(f'rows="{rows}" spellcheck="false"')
        self.text.bind_enabled_from(self.format, "value", backward=lambda value: value != NULL)
        for field in (self.format, self.subject, self.text):
            field.props("outlined dense hide-bottom-space")

    def written(self) -> Written:
        return Written(str(self.format.value), str(self.text.value or ""), str(self.subject.value or ""))


class _Form:
    def __init__(
        self,
        topic: str,
        partitions: int,
        draft: Draft,
        subjects: list[str],
        browser: MessageBrowser | None,
        title: str,
    ) -> None:
        self._topic = topic
        self._browser = browser
        with form_dialog(title) as self._dialog:
            self._key = _PartFields(t("Key"), draft.key, subjects, 1)
            self._value = _PartFields(t("Value"), draft.value, subjects, 8)
            self._headers = ui.textarea(t("Headers, one name=value per line"), value=draft.headers).props(
                'outlined dense hide-bottom-space rows="2" spellcheck="false"'
            )
            choices: dict[int, str] = {ANY: t("Chosen by the key")}
            choices |= {one: str(one) for one in range(partitions)}
            self._partition = ui.select(
                choices, value=ANY if draft.partition is None else draft.partition, label=t("Partition")
            ).props("outlined dense")
            self._fields: dict[str, ValidationElement[Any]] = {
                "key": self._key.text,
                "value": self._value.text,
                "key_subject": self._key.subject,
                "value_subject": self._value.subject,
                "headers": self._headers,
            }
            foot(self._dialog, t("Send"), self._send)

    async def _send(self) -> None:
        partition = int(self._partition.value)
        draft = Draft(
            self._key.written(),
            self._value.written(),
            str(self._headers.value or ""),
            None if partition == ANY else partition,
        )
        show_problems(self._fields, {})
        here = platform()
        try:
            at, offset = await produce(here.kafka, here.settings.registry, self._topic, draft)
        except QueryError as error:
            show_problems(self._fields, {error.field: error.message})
            return
        notify_success(t("Written to partition {partition} at offset {offset}.", partition=at, offset=offset))
        self._dialog.close()
        if self._browser is not None:
            await self._browser.reload()
