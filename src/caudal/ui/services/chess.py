"""The games of chess as the page sees them: the history of the table of squares, and the dead letters."""

from __future__ import annotations

import functools
from typing import Any

from caudal.demos.chess import topics
from caudal.demos.chess.replay import GameHistory, Replay
from caudal.ui.platform import platform
from caudal.ui.services.watching import Watch


class Refused:
    """Moves that the rules did not allow: dead letters, by game."""

    def __init__(self) -> None:
        self.moves: dict[str, list[str]] = {}

    def take(self, topic: str, key: str, value: Any, place: tuple[int, int, int]) -> None:
        if isinstance(value, bytes):
            self.moves = {**self.moves, key: [*self.moves.get(key, []), value.decode(errors="replace")]}


@functools.cache
def watch() -> Watch[Replay]:
    return Watch(platform().kafka.config, [topics.SQUARES], Replay)


@functools.cache
def watch_refused() -> Watch[Refused]:
    return Watch(platform().kafka.config, [topics.REFUSED], Refused, raw=True)


def newest(replay: Replay) -> str | None:
    """The game that was played in last."""
    moved = {name: history.changes[-1].offset for name, history in replay.games.items() if history.changes}
    return max(moved, key=lambda name: moved[name]) if moved else None


def recent(replay: Replay, count: int = 12) -> list[str]:
    """The games that were played in last, newest first."""
    named = [(history.changes[-1].offset, name) for name, history in replay.games.items() if history.changes]
    return [name for _, name in sorted(named, reverse=True)[:count]]


def history_of(replay: Replay, game: str | None) -> GameHistory:
    return replay.games.get(game or "", GameHistory())
