"""examples/chess.py: the rules (against published move counts), and the topology around them."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from caudal.testing import TopologyTestDriver
from tests.examples.example_files import load

builder = load("chess")
chess: Any = importlib.import_module("examples.chess")


def position(fen: str) -> dict[str, Any]:
    rows, turn, castling, passed, *_ = fen.split()
    board = "".join("." * int(letter) if letter.isdigit() else letter for letter in rows.replace("/", ""))
    return {
        **chess.new_game(),
        "board": board,
        "turn": "white" if turn == "w" else "black",
        "castling": castling,
        "passed": None if passed == "-" else passed,
    }


def leaves(game: dict[str, Any], depth: int) -> int:
    moves = chess.legal_moves(game)
    return len(moves) if depth == 1 else sum(leaves(chess.after(game, move), depth - 1) for move in moves)


# The numbers of games of so many moves that every chess program is tested with ("perft").
@pytest.mark.parametrize(
    ("fen", "depth", "expected"),
    [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 3, 8902),
        ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 2, 2039),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 3, 2812),
        ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 2, 264),
        ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", 2, 1486),
    ],
)
def test_the_rules_find_every_legal_move_and_no_other(fen: str, depth: int, expected: int) -> None:
    assert leaves(position(fen), depth) == expected


def test_the_board_follows_from_the_moves_and_refused_ones_leave_it() -> None:
    with TopologyTestDriver(builder) as driver:
        for move in ("f2f3", "e7e5", "e2e5", "g2g4", "d8h4", "a2a3"):
            driver.pipe_input("moves", "ana-eva", move)
        driver.pipe_input("moves", "other", "e2e4")
        refused = [(record.key, record.value) for record in driver.read_outputs("refused-moves")]
        assert refused == [("ana-eva", "e2e5: white cannot play it"), ("ana-eva", "a2a3: the game is over")]
        over = driver.read_outputs("games-over")
        assert [(record.key, record.value) for record in over] == [("ana-eva", "black wins")]
        game, _ = driver.store("boards").get("ana-eva")
        assert (game["moves"], game["board"][4 * 8 : 5 * 8]) == (4, "......Pq")
        diagrams = [record.value for record in driver.read_outputs("diagrams")]
        assert len(diagrams) == 5
        assert diagrams[-1].splitlines() == [
            "other after move 1: black to play",
            "r n b q k b n r",
            "p p p p p p p p",
            ". . . . . . . .",
            ". . . . . . . .",
            ". . . . P . . .",
            ". . . . . . . .",
            "P P P P . P P P",
            "R N B Q K B N R",
        ]


@pytest.mark.parametrize("nonsense", ["", "e9e4", "hello", "e2", "♔"])
def test_nonsense_is_refused_too(nonsense: str) -> None:
    with TopologyTestDriver(builder) as driver:
        driver.pipe_input("moves", "game", nonsense)
        assert driver.read_output("diagrams") is None
        assert len(driver.read_outputs("refused-moves")) == 1
