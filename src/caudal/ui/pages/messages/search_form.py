"""The form above the messages: where to begin, what to look for, how to read keys and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from caudal.ui.components import guarded
from caudal.ui.components.buttons import button
from caudal.ui.components.forms import show_problems
from caudal.ui.services.decoding import READINGS, Readings
from caudal.ui.services.filters import Filter
from caudal.ui.services.message_query import (
    LIVE,
    NEWEST,
    OFFSET,
    OLDEST,
    PAGE_SIZES,
    TIME,
    Query,
    QueryError,
    parse_partitions,
)
from caudal.ui.words import t


class SearchForm:
    """`on_search` is called when the visitor asks for something else."""

    def __init__(self, query: Query, partitions: int, on_search: Callable[[], Any]) -> None:
        self._partitions = partitions
        self._search = guarded(on_search)
        self._build(query)

    def query(self) -> Query:
        """What the form asks for, from its beginning. QueryError where a field is wrong."""
        return Query(
            start=str(self._start.value),
            offset=_text(self._offset),
            time=_text(self._time),
            partitions=parse_partitions(_text(self._partition), self._partitions),
            filter=Filter(_text(self._words), _text(self._key), _text(self._header), _text(self._where)),
            readings=Readings(str(self._key_as.value), str(self._value_as.value)),
            size=int(self._size.value),
        )

    def show_problem(self, error: QueryError | None) -> None:
        """Beside its field; None: all is well."""
        if error is not None and error.field in ("partition", "where", "key", "header"):
            self._more.open()
        show_problems(self._fields, {} if error is None else {error.field: error.message})

    def _build(self, query: Query) -> None:
        starts = {
            NEWEST: t("Newest first"),
            OLDEST: t("Oldest first"),
            OFFSET: t("From offset"),
            TIME: t("From time"),
            LIVE: t("Live"),
        }
        with ui.element("form").classes("search-bar").props('role="search"') as form:
            form.on("submit.prevent", self._search)
            self._start = ui.select(starts, value=query.start, label=t("Begin"), on_change=self._search_now)
            self._start.props("outlined dense options-dense")
            self._offset = self._field(t("Offset"), query.offset)
            self._time = self._field(t("Time"), query.time, placeholder="2026-01-31T12:00, -10m")
            self._offset.bind_visibility_from(self._start, "value", value=OFFSET)
            self._time.bind_visibility_from(self._start, "value", value=TIME)
            self._words = self._field(t("Text in key, value or headers"), query.filter.text).classes("grow-field")
            button(t("Search"), icon="search", look="primary").props('type="submit"')
        used = bool(query.partitions or query.filter != Filter(query.filter.text) or query.readings != Readings())
        self._more = ui.expansion(t("More filters"), icon="tune", value=used).classes("w-full").props("dense")
        with self._more, ui.element("form").classes("search-more") as form:
            form.on("submit.prevent", self._search)
            self._where = self._field(
                t("Expression"),
                query.filter.expression,
                placeholder='value.amount > 10 and key == "ana" or headers.kind like "a%"',
            ).classes("wide-field")
            self._key = self._field(t("Key (may end in %)"), query.filter.key)
            self._header = self._field(t("Header (name=value)"), query.filter.header)
            self._partition = self._field(t("Partitions"), ",".join(map(str, query.partitions)), placeholder="0,2-4")
            readings = {one: t("Automatic") if one == "auto" else one for one in READINGS}
            self._key_as = self._choice(t("Read keys as"), readings, query.readings.key)
            self._value_as = self._choice(t("Read values as"), readings, query.readings.value)
            self._size = self._choice(t("Messages per page"), {one: str(one) for one in PAGE_SIZES}, query.size)
            # Enter in one of several fields submits a form only when it has a button.
            ui.element("button").props('type="submit" hidden').classes("hidden")
        self._fields: dict[str, ValidationElement[Any]] = {
            "offset": self._offset,
            "time": self._time,
            "where": self._where,
            "partition": self._partition,
        }

    async def _search_now(self) -> None:
        """A place to begin that needs no number is taken at once."""
        if self._start.value not in (OFFSET, TIME) or _text(
            self._offset if self._start.value == OFFSET else self._time
        ):
            await self._search()

    def _choice(self, label: str, options: dict[Any, str], value: Any) -> ui.select:
        choice = ui.select(options, value=value, label=label, on_change=self._search)
        return choice.props("outlined dense options-dense")

    @staticmethod
    def _field(label: str, value: str, placeholder: str = "") -> ui.input:
        field = ui.input(label, value=value).props('outlined dense hide-bottom-space autocomplete="off"')
        if placeholder:
            field.props["placeholder"] = placeholder
        return field


def _text(field: ui.input) -> str:
    return str(field.value or "").strip()
