"""One game from the first move to the verdict: played on Spark, then the table is asked for every moment of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from caudal.demos.chess import topics
from caudal.demos.chess.application import HANDLERS, chess
from caudal.demos.chess.feeding import MoveFeeder, written_moves
from caudal.demos.chess.games import Game
from caudal.demos.chess.replay import GameHistory, Replay
from caudal.demos.chess.rules import SQUARES, diagram, fen_board, from_notation, new_game, play
from caudal.demos.following import Follower
from caudal.demos.hosting import demo_host

SETTLE_SECONDS = 60.0


@dataclass
class GameOutcome:
    """`differences` is empty where the table is right at every point that was asked for."""

    game: Game
    name: str
    history: GameHistory
    board: str  # as the store answers
    refused: list[str]
    differences: list[str]
    seconds: float

    @property
    def is_right(self) -> bool:
        return not self.differences

    def text(self) -> str:
        last = self.history.at_move(self.history.moves)
        state = {**new_game(), "board": self.board, "moves": last.number, "result": last.result}
        dead = "".join(f"\n  refused: {one}" for one in self.refused)
        return f"{self.game.title}\n{diagram(self.name, state)}{dead}"

    def verdict(self) -> str:
        return (
            f"every square is right after all {len(self.game.moves)} moves and after each one before, and "
            f"{len(self.refused)} illegal moves are dead letters ({self.seconds:.0f} s)"
        )

    def as_json(self) -> dict[str, Any]:
        last = self.history.at_move(self.history.moves)
        return {
            "right": self.is_right,
            "differences": self.differences,
            "game": self.name,
            "title": self.game.title,
            "moves": last.number,
            "result": last.result,
            "board": fen_board(self.board),
            "refused": self.refused,
            "seconds": round(self.seconds, 1),
        }


def play_game(
    bootstrap: str,
    game: Game,
    speed: float,
    said: Callable[[str, float], None],
    *,
    client: Mapping[str, str] | None = None,
    state_dir: str | None = None,
) -> GameOutcome:
    """`speed` is moves per second; 0 does not pause."""
    from confluent_kafka.admin import AdminClient

    from caudal.streams.application import Application

    began = time.monotonic()
    config = {"log_level": 0, "bootstrap.servers": bootstrap, **(client or {})}
    topics.create(AdminClient(config))
    name = f"{game.id}-{int(time.time())}"  # others may have played it here before
    replay, letters = Replay(), _Letters(name)
    host = demo_host()
    application = Application(
        chess(),
        bootstrap=bootstrap,
        client=client,
        state_dir=state_dir,
        host=host,
        **HANDLERS,  # type: ignore[arg-type]
    )
    follower = Follower(config, [topics.SQUARES], replay.take)
    dead = Follower(config, [topics.REFUSED], letters.take, raw=True)
    try:
        said("spark", 0.0)
        application.start()
        said("spark", 1.0)
        feeder, moves = MoveFeeder(config), list(written_moves(game))
        for number, (move, _) in enumerate(moves, start=1):
            feeder.send(name, move)
            said("moves", 0.99 * number / len(moves))
            application.raise_failure()
            if speed:
                time.sleep(1 / speed)
        mistakes = sum(not is_legal for _, is_legal in moves)
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline and not (
            name in replay.games
            and replay.games[name].moves == len(game.moves)
            and len(letters.found) == mistakes
            and application.behind() == 0
        ):
            application.raise_failure()
            time.sleep(0.1)
        said("moves", 1.0)
        history = replay.games.get(name, GameHistory())
        board = _asked(application, name)
        wrong = differences(game, history, board)
        if len(letters.found) != mistakes:
            wrong.append(f"{len(letters.found)} moves were refused, and {mistakes} were against the rules")
        return GameOutcome(game, name, history, board, letters.found, wrong, time.monotonic() - began)
    finally:
        follower.close()
        dead.close()
        application.stop()
        host.close()


def differences(game: Game, history: GameHistory, board: str) -> list[str]:
    """The table against the rules: at the end as the store answers, and after each move as its history tells."""
    wrong = []
    if fen_board(board) != game.last:
        wrong.append(f"the table ends with {fen_board(board)} and should end with {game.last}")
    position = new_game()
    for number, written in enumerate(game.moves, start=1):
        position = play(game.id, from_notation(position, written), position)
        moment = history.at_move(number)
        if moment.board != position["board"] or moment.number != number:
            wrong.append(f"after move {number} the board is {fen_board(moment.board)}")
            continue
        if history.at_offset(moment.offset) != moment or history.at_time(moment.timestamp).number < number:
            wrong.append(f"move {number} is not found by its offset and its time")
    return wrong


def _asked(application: Any, name: str) -> str:
    """The board square by square, from the store of the running application."""
    rows = application.store("squares")
    board = ""
    for square in SQUARES:
        row = rows.get(f"{name}/{square}")
        board += (row["piece"] if row is not None else "") or "."
    return board


class _Letters:
    """The dead letters of one game."""

    def __init__(self, game: str) -> None:
        self._game = game
        self.found: list[str] = []

    def take(self, topic: str, key: str, value: Any, place: tuple[int, int, int]) -> None:
        if key == self._game:
            self.found.append(value.decode())
