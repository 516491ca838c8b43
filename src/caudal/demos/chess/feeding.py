"""Sends the moves of games: one game for the command, game after game for the page, with some mistakes among them.

A move that is sent twice does no harm: the second is against the rules. So after a kill it is enough to look where the
last game stood.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from caudal.demos.chess import topics
from caudal.demos.chess.games import GAMES, Game
from caudal.demos.chess.replay import Replay
from caudal.demos.chess.rules import from_notation, legal_moves, new_game, play

MISTAKE_EVERY = 15  # moves
SECONDS_PER_MOVE = 2.5
PAUSE_SECONDS = 12.0  # between two games


def written_moves(game: Game) -> Iterator[tuple[str, bool]]:
    """From where to where, and whether the rules allow it: now and then somebody tries what they do not."""
    position = new_game()
    for number, written in enumerate(game.moves, start=1):
        if number % MISTAKE_EVERY == 0:
            yield _mistake(position), False
        move = from_notation(position, written)
        yield move, True
        position = play(game.id, move, position)


def _mistake(position: dict[str, Any]) -> str:
    """A pawn that would take a step it cannot: the first one that is none."""
    rank = 2 if position["turn"] == "white" else 7
    allowed = set(legal_moves(position))
    tries = (f"{file}{rank}{file}{9 - rank}" for file in "abcdefgh")
    return next(move for move in tries if move not in allowed)


class MoveFeeder:
    def __init__(self, config: Mapping[str, Any]) -> None:
        from confluent_kafka import Producer

        self._producer = Producer({"log_level": 0, **config, "enable.idempotence": True, "linger.ms": 0})

    def send(self, game: str, move: str) -> None:
        self._producer.produce(topics.MOVES, move.encode(), game.encode())
        self._producer.flush(10)


def keep_playing(config: Mapping[str, Any], replay: Replay, stop: threading.Event, speed: float = 1.0) -> None:
    """Game after game, from where the last one stood (`replay` has caught up) until stopped."""
    feeder = MoveFeeder(config)
    for number, game, played in _from(replay):
        name = f"{game.id}-{number}"
        sent = 0
        for move, is_legal in written_moves(game):
            sent += is_legal
            if sent <= played:
                continue
            feeder.send(name, move)
            if stop.wait(SECONDS_PER_MOVE / speed):
                return
        if stop.wait(PAUSE_SECONDS / speed):
            return


def _from(replay: Replay) -> Iterator[tuple[int, Game, int]]:
    """Numbers, games and how many moves of them are played: the last game that was begun comes first."""
    begun = [name.rpartition("-") for name in replay.games]
    last = max((int(number) for game, _, number in begun if game in GAMES and number.isdigit()), default=0)
    games = list(GAMES.values())
    if last:
        game = games[(last - 1) % len(games)]
        history = replay.games.get(f"{game.id}-{last}")
        yield last, game, history.moves if history else 0
    for number in itertools.count(last + 1):
        yield number, games[(number - 1) % len(games)], 0
