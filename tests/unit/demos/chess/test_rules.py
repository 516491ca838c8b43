"""The rules, against published move counts and the games in the package; and the table that follows from the moves."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.demos.chess import topics
from caudal.demos.chess.application import IllegalMoveError, chess, moved, opened
from caudal.demos.chess.feeding import written_moves
from caudal.demos.chess.games import GAMES
from caudal.demos.chess.replay import Replay
from caudal.demos.chess.rules import after, fen_board, from_notation, legal_moves, new_game, play
from caudal.demos.chess.running import differences
from caudal.runtime.errors import Handlers, OnError
from caudal.testing import TopologyTestDriver


def position(fen: str) -> dict[str, Any]:
    rows, turn, castling, passed, *_ = fen.split()
    board = "".join("." * int(letter) if letter.isdigit() else letter for letter in rows.replace("/", ""))
    turn = "white" if turn == "w" else "black"
    return {**new_game(), "board": board, "turn": turn, "castling": castling, "passed": passed.replace("-", "") or None}


def leaves(game: dict[str, Any], depth: int) -> int:
    moves = legal_moves(game)
    return len(moves) if depth == 1 else sum(leaves(after(game, move), depth - 1) for move in moves)


# The numbers of games of so many moves that every chess program is tested with ("perft").
@pytest.mark.parametrize(
    ("fen", "depth", "expected"),
    [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 3, 8902),
        ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 2, 2039),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 3, 2812),
        ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 2, 264),
    ],
)
def test_as_many_moves_are_legal_as_there_should_be(fen: str, depth: int, expected: int) -> None:
    assert leaves(position(fen), depth) == expected


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_the_games_of_the_package_are_legal_and_end_in_mate(game: Any) -> None:
    state = new_game()
    for written in game.moves:
        state = play(game.id, from_notation(state, written), state)
        assert "refused" not in state
    assert state["result"] == "white wins"
    assert fen_board(state["board"]) == game.last


def test_what_a_book_cannot_mean_is_refused() -> None:
    for written in ("e5", "Nd2", "O-O"):
        with pytest.raises(ValueError, match="no move"):
            from_notation(new_game(), written)


def test_an_illegal_move_says_what_is_wrong_with_it() -> None:
    with pytest.raises(IllegalMoveError, match="white cannot play it"):
        moved("a game", "e2e5", opened())


def test_the_table_has_the_board_of_every_moment_and_mistakes_are_dead_letters() -> None:
    game, replay = GAMES["opera"], Replay()
    handlers = Handlers(processing=OnError.DEAD_LETTER, dead_letter_topic=topics.REFUSED)
    with TopologyTestDriver(chess(), handlers=handlers) as driver:
        for at, (move, _) in enumerate(written_moves(game)):
            driver.pipe_input(topics.MOVES, "opera-1", move, timestamp=1000 * at)
        for offset, record in enumerate(driver.read_outputs(topics.SQUARES)):
            replay.take(topics.SQUARES, record.key, record.value, (0, offset, record.timestamp))
        letters = driver.read_outputs(topics.REFUSED)
    history = replay.games["opera-1"]
    assert differences(game, history, history.at_move(33).board) == []
    assert history.at_move(0).board == new_game()["board"]
    assert history.at_time(-1).number == 0
    assert len(letters) == 2


def test_the_verdict_finds_a_square_that_is_wrong() -> None:
    game, replay = GAMES["opera"], Replay()
    replay.take(topics.SQUARES, "opera-1/e4", {"piece": "P", "number": 1, "move": "e2e4", "result": None}, (0, 0, 0))
    assert len(differences(game, replay.games["opera-1"], new_game()["board"])) == 34
