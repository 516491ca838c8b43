"""The tab of messages: one search at a time, its progress, its pages, or the live tail. All of it is in the address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui

from caudal.ui.components import error_panel, guarded, notify_error, number, query_parameter, set_query
from caudal.ui.components.buttons import button
from caudal.ui.pages.messages.detail import open_message
from caudal.ui.pages.messages.exporting import export_dialog
from caudal.ui.pages.messages.live import LiveTail
from caudal.ui.pages.messages.search_form import SearchForm
from caudal.ui.pages.messages.table import MessageTable
from caudal.ui.platform import platform
from caudal.ui.services.decoding import Message
from caudal.ui.services.errors import UiError
from caudal.ui.services.message_query import LIVE, Cursor, Query, QueryError, parse_cursor
from caudal.ui.services.messages import Search, begin
from caudal.ui.words import t, tn

PARAMETERS = ("from", "offset", "time", "partition", "q", "key", "header", "where", "key_as", "value_as", "size", "at")
STYLE = Path(__file__).parent / "messages.css"
PROGRESS_SECONDS = 0.3


class MessageBrowser:
    def __init__(self, topic: str, partitions: int) -> None:
        self.topic = topic
        self.partitions = partitions
        self.query = Query.of({name: query_parameter(name) for name in PARAMETERS if query_parameter(name)})
        self._search: Search | None = None
        self._found: list[Message] = []
        self._before: list[Cursor | None] = []  # where the pages before this one begin
        self._running = 0  # a newer search makes an older one's result worthless

    def build(self) -> None:
        ui.add_css(STYLE.read_text(encoding="utf-8"))
        self._form = SearchForm(self.query, self.partitions, self._asked)
        with ui.element("div").classes("search-status"):
            self._status = ui.label("").props('aria-live="polite"')
            self._progress = ui.linear_progress(0, show_value=False, size="6px")
            self._progress.props(f'aria-label="{t("Searched so far")}"')
            self._cancel = _quiet(t("Stop"), "stop", self._stop)
            self._more = _quiet(t("Search on"), "manage_search", self._search_on)
            self._live = LiveTail(self)
            with ui.element("div").classes("paging"):
                _quiet(t("Export"), "download", lambda: export_dialog(self.topic, self.query))
                self._first = _quiet(t("First page"), "first_page", lambda: self._turn(None))
                self._previous = _quiet(t("Previous page"), "chevron_left", self._back)
                self._next = _quiet(t("Next page"), "chevron_right", self._on)
        self._trouble = ui.element("div").classes("trouble")
        self._table = MessageTable(self.open)
        self._show_state(searching=True)
        ui.context.client.on_delete(self._leave)
        ui.timer(PROGRESS_SECONDS, self._show_progress)
        # After the page is there: a search may take its time.
        ui.timer(0, guarded(self._first_search), once=True)

    # ------------------------------------------------------------------ what the visitor does

    async def _first_search(self) -> None:
        place = parse_cursor(query_parameter("open"))
        if place:
            await self.open(*next(iter(place.items())))
        await self.load()

    async def _asked(self) -> None:
        """Another search, from its beginning."""
        try:
            query = self._form.query()
        except QueryError as error:
            self._form.show_problem(error)
            return
        self._before.clear()
        await self.load(query)

    async def reload(self) -> None:
        """The same again, after a message was written."""
        if self.query.start != LIVE:
            await self.load()

    async def open(self, partition: int, offset: int) -> None:
        """A message in its drawer, and in the address."""
        place = f"{partition}:{offset}"

        def closed() -> None:
            set_query(open=None)
            self._table.highlight("")

        set_query(open=place)
        self._table.highlight(place)
        try:
            await open_message(self.topic, self.partitions, partition, offset, self.query.readings, self, closed)
        except UiError:
            closed()
            raise

    async def _turn(self, cursor: Cursor | None) -> None:
        if cursor is None:
            self._before.clear()
        await self.load(self.query.at(cursor))

    async def _on(self) -> None:
        if self._search is not None:
            self._before.append(self.query.cursor)
            await self._turn(self._search.scan.cursor())

    async def _back(self) -> None:
        if self._before:
            await self.load(self.query.at(self._before.pop()))

    async def _search_on(self) -> None:
        if self._search is not None:
            await self._read(self._search)

    def _stop(self) -> None:
        if self._search is not None:
            self._search.scan.cancel()

    # ------------------------------------------------------------------ searching

    async def load(self, query: Query | None = None) -> None:
        """Shows what the query asks for; wrong input is said beside its field."""
        self.query = query or self.query
        given = self.query.params()
        set_query(**{name: given.get(name) for name in PARAMETERS})
        await self._leave()
        self._running += 1
        mine = self._running
        self._found = []
        self._trouble.clear()
        self._form.show_problem(None)
        self._show_state(searching=True)
        try:
            if self.query.start == LIVE:
                await self._live.start(self.topic, self.query)
                self._table.show([], t("Waiting for messages…"))
                self._show_state()
                return
            search = await begin(platform().kafka, platform().settings.registry, self.topic, self.query)
        except QueryError as error:
            self._form.show_problem(error)
            self._table.show([], t("Nothing was searched."))
            self._show_state()
            return
        except UiError as error:
            self._fail(error)
            return
        if mine != self._running:
            await search.close()
            return
        self._search = search
        await self._read(search)

    async def _read(self, search: Search) -> None:
        """One step of the search: the page is full, the topic at its end, or the budget spent."""
        self._show_state(searching=True)
        try:
            found = await search.more(self.query.size - len(self._found))
        except UiError as error:
            self._fail(error)
            return
        if search is not self._search:
            return
        self._found += found
        self._table.show(self._found, self._nothing(search))
        self._show_state()

    def _nothing(self, search: Search) -> str:
        """What an empty table says."""
        if not search.scan.is_finished:
            return t("Nothing found so far.")
        return t("There are no messages here.") if self.query.filter.is_empty else t("No message matches.")

    async def _leave(self) -> None:
        self._live.stop()
        search, self._search = self._search, None
        if search is not None:
            await search.close()

    def _fail(self, error: UiError) -> None:
        self._table.show([], t("Nothing could be read."))
        self._show_state()
        with self._trouble:
            error_panel(error.message)

    # ------------------------------------------------------------------ what is shown around the table

    def _show_state(self, searching: bool = False) -> None:
        search, live = self._search, self.query.start == LIVE
        done = search is None or search.scan.is_finished
        full = len(self._found) >= self.query.size
        self._searching = searching and not live
        self._progress.set_visibility(self._searching)
        self._cancel.set_visibility(self._searching)
        self._more.set_visibility(not live and not searching and not done and not full)
        self._next.set_enabled(not live and not searching and not done)
        self._previous.set_enabled(not live and bool(self._before))
        self._first.set_enabled(not live and self.query.cursor is not None)
        self._status.text = "" if search is None else self._summary(search)
        self._show_progress()

    def _show_progress(self) -> None:
        search = self._search
        if search is not None and self._searching:
            self._progress.value = round(search.scan.passed / max(1, search.scan.total), 3)
            self._status.text = self._looked_at(search)

    def _summary(self, search: Search) -> str:
        if self.query.filter.is_empty:
            return t("{count} of {total} messages", count=number(len(self._found)), total=number(search.scan.total))
        parts = [tn("{n} message", "{n} messages", len(self._found)), self._looked_at(search)]
        if search.matching is not None and search.matching.failed:
            parts.append(
                t(
                    "{count} could not be compared: {reason}",
                    count=number(search.matching.failed),
                    reason=search.matching.reason,
                )
            )
        return " · ".join(parts)

    @staticmethod
    def _looked_at(search: Search) -> str:
        return t("looked at {scanned} of {total}", scanned=number(search.scan.scanned), total=number(search.scan.total))

    def say(self, text: str) -> None:
        """The live tail's figures."""
        self._status.text = text

    def push(self, messages: list[Message]) -> None:
        self._table.add(messages)

    def failed_live(self, reason: str) -> None:
        notify_error(reason)


def _quiet(label: str, icon: str, action: Callable[..., Any]) -> ui.button:
    return button(label, action, icon=icon, look="").props("flat dense no-wrap")
