"""The board at any moment: the table's history up to an offset, a time or a move, folded. Pure: records come in.

A table is what its changelog says up to a point; so a point in the past is asked for as easily as the present.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from caudal.demos.chess.rules import SQUARES

LAST_GAMES = 40


class Change(NamedTuple):
    offset: int
    timestamp: int
    square: str
    piece: str
    number: int
    move: str | None
    result: str | None


class Moment(NamedTuple):
    """A position as it can be shown. `offset` and `timestamp` are of the last record that is in it."""

    board: str
    number: int
    move: str | None
    result: str | None
    offset: int
    timestamp: int


@dataclass
class GameHistory:
    changes: list[Change] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)  # move → how many changes there are with it

    @property
    def moves(self) -> int:
        return max(self.ends, default=0)

    def at_move(self, number: int) -> Moment:
        return self._fold(self.ends.get(max(0, min(number, self.moves)), 0))

    def at_offset(self, offset: int) -> Moment:
        return self._fold(bisect_right(self.changes, offset, key=lambda change: change.offset))

    def at_time(self, timestamp: int) -> Moment:
        return self._fold(bisect_right(self.changes, timestamp, key=lambda change: change.timestamp))

    def move_at_time(self, timestamp: int) -> int:
        return self.at_time(timestamp).number

    def moved(self) -> list[Change]:
        """One change of each move, in order: what was played and when."""
        return [self.changes[self.ends[number] - 1] for number in sorted(self.ends) if number]

    def _fold(self, count: int) -> Moment:
        table = dict.fromkeys(SQUARES, "")
        for change in self.changes[:count]:
            table[change.square] = change.piece
        board = "".join(table[square] or "." for square in SQUARES)
        if not count:
            return Moment(board, 0, None, None, -1, 0)
        last = self.changes[count - 1]
        return Moment(board, last.number, last.move, last.result, last.offset, last.timestamp)


class Replay:
    """The last games of the topic. `version` grows with each record."""

    def __init__(self) -> None:
        self.games: dict[str, GameHistory] = {}
        self.version = 0

    def take(self, topic: str, key: str, value: Any, place: tuple[int, int, int]) -> None:
        if value is None:
            return
        game, _, square = key.rpartition("/")
        _, offset, timestamp = place
        history = self.games.get(game)
        if history is None:
            history = GameHistory()
            self.games = dict([*self.games.items(), (game, history)][-LAST_GAMES:])
        change = Change(offset, timestamp, square, value["piece"], value["number"], value["move"], value["result"])
        history.changes.append(change)
        history.ends[change.number] = len(history.changes)
        self.version += 1
