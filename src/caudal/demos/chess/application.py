"""The Streams application: moves in, squares out.

    moves ──▶ board of each game (table) ──▶ the squares that a move changed ──▶ squares (table)

The board follows from the moves, on any machine, again and again. A move that the rules do not allow raises, and the
application's handler sends it to the dead letters; the board stays as it is.
"""

from __future__ import annotations

from typing import Any

from caudal.demos.chess import topics
from caudal.demos.chess.rules import SQUARES, START, Position, new_game, play
from caudal.serde import Json, String
from caudal.streams import StreamsBuilder

APPLICATION_ID = "chess-demo"
# How an application of this topology is to be made.
HANDLERS = {"on_processing_error": "dead letter", "dead_letter_topic": topics.REFUSED}


class IllegalMoveError(ValueError):
    """What the dead letter says."""


def chess(application_id: str = APPLICATION_ID) -> StreamsBuilder:
    builder = StreamsBuilder(application_id, key=String(), value=Json())
    moves = builder.stream(topics.MOVES, value=String())
    boards = moves.group_by_key().aggregate(opened, moved, value=Json(), store="boards")
    boards.to_stream().flat_map(changed_squares).to(topics.SQUARES)
    builder.table(topics.SQUARES, store="squares")
    return builder


def opened() -> Position:
    return {**new_game(), "before": START}


def moved(game: str, move: str, position: Position) -> Position:
    """The position after a move, with the board before it."""
    after = play(game, move, position)
    if "refused" in after:
        raise IllegalMoveError(f"{game}, move {position['moves'] + 1}: {move}: {after['refused']}")
    return {**after, "before": position["board"]}


def changed_squares(game: str, position: Position) -> list[tuple[str, dict[str, Any]]]:
    """The rows of the table that change; a game's first move puts up all its pieces before."""
    number, rows = position["moves"], []
    if number == 1:
        rows = [_row(game, square, piece, 0, None, None) for square, piece in zip(SQUARES, START, strict=True)]
    for square, old, new in zip(SQUARES, position["before"], position["board"], strict=True):
        if old != new:
            rows.append(_row(game, square, new, number, position["move"], position["result"]))
    return rows


def _row(
    game: str, square: str, piece: str, number: int, move: str | None, result: str | None
) -> tuple[str, dict[str, Any]]:
    value = {"piece": "" if piece == "." else piece, "number": number, "move": move, "result": result}
    return f"{game}/{square}", value
