"""examples/chess.py: the topology around the rules (whose own tests are in tests/unit/demos/chess)."""

from __future__ import annotations

import pytest

from caudal.testing import TopologyTestDriver
from tests.examples.example_files import load

builder = load("chess")


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
