"""The live tail in the page: a few times a second what has come is pushed to the table; it can be paused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from caudal.ui.components import number
from caudal.ui.components.buttons import button
from caudal.ui.platform import platform
from caudal.ui.services.message_query import Query
from caudal.ui.services.messages import follow
from caudal.ui.services.tailing import Tail
from caudal.ui.words import t

if TYPE_CHECKING:
    from caudal.ui.pages.messages.browser import MessageBrowser

PUSH_SECONDS = 0.3


class LiveTail:
    """Its button is there only while a topic is followed."""

    def __init__(self, browser: MessageBrowser) -> None:
        self._browser = browser
        self._tail: Tail | None = None
        self._paused = False
        self._missed = 0  # while paused
        self._pause = button(t("Pause"), self._toggle, icon="pause", look="").props("flat dense")
        self._pause.set_visibility(False)
        self._timer = ui.timer(PUSH_SECONDS, self._push, active=False)

    async def start(self, topic: str, query: Query) -> None:
        self._tail = await follow(platform().kafka, platform().settings.registry, topic, query)
        self._paused, self._missed = False, 0
        self._show_button()
        self._pause.set_visibility(True)
        self._timer.activate()

    def stop(self) -> None:
        if self._tail is not None:
            self._tail.stop()
            self._tail = None
        self._pause.set_visibility(False)
        self._timer.deactivate()

    def _toggle(self) -> None:
        self._paused = not self._paused
        self._show_button()

    def _show_button(self) -> None:
        self._pause.set_text(t("Go on") if self._paused else t("Pause"))
        self._pause.set_icon("play_arrow" if self._paused else "pause")

    def _push(self) -> None:
        tail = self._tail
        if tail is None:
            return
        come = tail.take()
        if self._paused:
            self._missed += len(come)
        elif come:
            self._browser.push(come)
        if tail.failure:
            self._browser.failed_live(tail.failure)
            self.stop()
            return
        parts = [t("following: {count} came", count=number(tail.arrived))]
        if tail.skipped:
            parts.append(t("{count} skipped, too fast to show", count=number(tail.skipped)))
        if self._missed:
            parts.append(t("{count} came while paused", count=number(self._missed)))
        self._browser.say(" · ".join(parts))
