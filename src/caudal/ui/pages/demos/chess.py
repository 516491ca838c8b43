"""The chess board, live and at any moment of the game: by move, by time, and by the offset of the table's topic."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from nicegui import events, ui

from caudal.demos.chess.replay import GameHistory
from caudal.ui.components import card, clock, empty_state, guarded, set_query, text
from caudal.ui.components.cards import facts
from caudal.ui.pages.demos.chess_html import board_html, moves_html, result_text, title_of
from caudal.ui.pages.demos.style import add_style
from caudal.ui.platform import platform
from caudal.ui.services import chess as service
from caudal.ui.shell import page, page_heading
from caudal.ui.words import t

EVERY_SECONDS = 0.5
PATIENCE_SECONDS = 1.5  # before it is said that there is nothing
PLAY_TICKS = 2  # refreshes between two moves that are played back


@page("/demos/chess", title="Chess", icon="grid_on", order=92, shortcut="h")
async def chess(game: str = "", move: str = "", offset: str = "") -> None:
    """`move` or `offset` stop at a moment; without them the newest game is followed."""
    add_style()
    page_heading(t("Chess"), t("The moves are a stream, the board is a table: ask it for any moment."))
    view = _View(game, _number(move), _number(offset))
    view.refresh()
    ui.timer(EVERY_SECONDS, guarded(view.refresh))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


class _View:
    def __init__(self, game: str, move: int | None, offset: int | None) -> None:
        self._wanted = game  # empty: the newest
        self._move = move  # None: follow the game
        self._offset = offset
        self._playing = False
        self._ticks = 0
        self._seen: tuple[Any, ...] | None = None
        self._patient_until = time.monotonic() + PATIENCE_SECONDS
        self._missing = empty_state(
            "grid_on",
            t("No game is being played in this cluster"),
            t("Start one: caudal demo chess --bootstrap {bootstrap}", bootstrap=platform().bootstrap),
        )
        self._content = ui.element("div").classes("chess")
        with self._content:
            self._build()

    # -- what is built once --------------------------------------------------------------------------------------------

    def _build(self) -> None:
        with card():
            self._board = ui.html("", sanitize=False)
            with ui.element("div").classes("row items-center gap-2"):
                self._button("first_page", t("First position"), lambda: self._go(0))
                self._button("chevron_left", t("One move back"), lambda: self._go(self._number() - 1))
                self._play = self._button("play_arrow", t("Play the game"), self._toggle)
                self._button("chevron_right", t("One move on"), lambda: self._go(self._number() + 1))
                self._button("sensors", t("Live game"), self._follow)
                with ui.element("div").props('role="status" aria-live="polite"'):
                    self._said = text("", "muted text-sm")
            with ui.element("div").classes("replay"):
                self._by_move = self._range("by-move", t("By move"), lambda value: self._go(value))
                self._by_time = self._range("by-time", t("By time"), self._go_to_time)
        with ui.element("div").classes("stack"):
            with card(t("Game")):
                self._games = ui.select({}, on_change=guarded(self._on_game)).props("outlined dense options-dense")
                self._games.props["aria-label"] = t("Game")
                self._facts = ui.element("div")
            with card(t("Moves")):
                self._moves = ui.html("", sanitize=False).classes("moves")
                self._moves.on(
                    "click",
                    guarded(lambda event: self._go(int(event.args))),
                    js_handler="(event) => { const to = event.target.closest('[data-move]'); "
                    "if (to) emit(Number(to.dataset.move)); }",
                )
            with card(t("Refused moves (dead letters)")):
                self._refused = text("", "text-sm")

    def _button(self, icon: str, name: str, action: Any) -> ui.button:
        return ui.button(icon=icon, on_click=guarded(action)).props(f'flat dense aria-label="{name}"').tooltip(name)

    def _range(self, name: str, label: str, action: Any) -> ui.element:
        """The browser's own slider: it has a keyboard and a name without our help."""
        ui.html(escape(label), sanitize=False, tag="label").props(f'for="{name}"')
        slider = ui.element("input")
        slider.props.update({"type": "range", "id": name, "min": 0, "max": 0, "value": 0})
        slider.on("input", guarded(lambda event: action(int(event.args))), js_handler="(e) => emit(+e.target.value)")
        return slider

    # -- what the visitor does -----------------------------------------------------------------------------------------

    def _history(self) -> GameHistory:
        return service.history_of(service.watch().look(), self._game())

    def _game(self) -> str:
        return self._wanted or service.newest(service.watch().look()) or ""

    def _number(self) -> int:
        return self._history().moves if self._move is None else self._move

    def _go(self, number: int) -> None:
        """Stops at a move of the game that is shown."""
        self._wanted, self._offset = self._game(), None
        self._move = max(0, min(number, self._history().moves))
        self._playing = False
        self._write()

    def _go_to_time(self, tenths: int) -> None:
        moved = self._history().moved()
        if moved:
            self._go(self._history().move_at_time(moved[0].timestamp + tenths * 100))

    def _follow(self) -> None:
        self._wanted, self._move, self._offset, self._playing = "", None, None, False
        self._write()

    def _toggle(self) -> None:
        was_playing = self._playing
        begin = 0 if self._number() >= self._history().moves else self._number()
        self._go(self._number() if was_playing else begin)
        self._playing = not was_playing
        self.refresh()

    def _on_game(self, event: events.ValueChangeEventArguments[Any]) -> None:
        if event.value and event.value != self._game():
            self._wanted, self._move, self._offset = str(event.value), None, None
            self._write()

    def _write(self) -> None:
        set_query(game=self._wanted, move=self._move, offset=self._offset)
        self.refresh()

    # -- what changes --------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        replay, refused = service.watch().look(), service.watch_refused().look()
        self._missing.set_visibility(not replay.games and time.monotonic() > self._patient_until)
        self._content.set_visibility(bool(replay.games))
        if self._playing and self._move is not None:
            self._ticks += 1
            if self._ticks % PLAY_TICKS == 0:
                self._move += 1
                self._playing = self._move < self._history().moves
                set_query(move=self._move)
        game, history = self._game(), self._history()
        letters = refused.moves.get(game, [])
        seen = (replay.version, game, self._move, self._offset, self._playing, len(letters))
        if not replay.games or seen == self._seen:
            return
        self._seen = seen
        if self._offset is not None:
            self._move = history.at_offset(self._offset).number
        moment = history.at_offset(self._offset) if self._offset is not None else history.at_move(self._number())
        live = self._move is None
        said = result_text(moment.result, moment.number)
        self._said.set_content(escape(f"{t('Live game') if live else t('Replayed')} · {said}"))
        self._board.set_content(board_html(moment, t("{game}, after move {n}", game=title_of(game), n=moment.number)))
        self._play.props["icon"] = "pause" if self._playing else "play_arrow"
        self._play.props["aria-label"] = t("Pause the replay") if self._playing else t("Play the game")
        self._play.update()
        self._moves.set_content(moves_html(history, moment.number))
        self._show_ranges(history, moment.number, moment.timestamp)
        options = {name: title_of(name) for name in service.recent(replay)}
        options.setdefault(game, title_of(game))
        self._games.set_options(options, value=game)
        self._facts.clear()
        with self._facts:
            facts(
                (
                    (t("Move"), f"{moment.number} / {history.moves}{f' ({moment.move})' if moment.move else ''}"),
                    (t("Time of the move"), clock(moment.timestamp / 1000) if moment.timestamp else "–"),
                    (t("Offset in chess.squares"), str(moment.offset) if moment.offset >= 0 else "–"),
                )
            )
        none = t("None: every move was allowed.")
        self._refused.set_content(escape(t("Refused: {moves}", moves=", ".join(letters)) if letters else none))

    def _show_ranges(self, history: GameHistory, number: int, timestamp: int) -> None:
        moved = history.moved()
        first, last = (moved[0].timestamp, moved[-1].timestamp) if moved else (0, 0)
        self._by_move.props.update({"max": history.moves, "value": number})
        self._by_time.props.update({"max": -(-(last - first) // 100), "value": max(0, -(-(timestamp - first) // 100))})
        self._by_move.props["aria-valuetext"] = t("move {n} of {all}", n=number, all=history.moves)
        self._by_time.props["aria-valuetext"] = clock(timestamp / 1000) if timestamp else "–"
        self._by_move.update()
        self._by_time.update()
