"""`caudal demo chess` on real Spark: the game ends by itself, with the right board and its dead letters."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from caudal.demos.chess.games import GAMES

pytest.importorskip("pyspark")
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_opera_game_ends_in_mate_with_every_square_right() -> None:
    words = [sys.executable, "-m", "caudal.cli.main", "demo", "chess", "--game", "opera", "--speed", "0", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["right"]
    assert told["board"] == GAMES["opera"].last
    assert (told["moves"], told["result"]) == (33, "white wins")
    assert len(told["refused"]) == 2
