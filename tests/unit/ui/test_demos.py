"""What the pages of the demonstrations say and show, without a browser."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("nicegui")

from caudal.demos.chess.replay import Moment
from caudal.demos.chess.rules import START
from caudal.demos.elections.standings import Standings
from caudal.ui.pages.demos import chess_html, election_html
from caudal.ui.services.elections import state_of


def row(**changed: Any) -> dict[str, Any]:
    votes = dict.fromkeys(election_html.NAMES, 10)
    return {
        "night": 1,
        "winner": "encina",
        "lead": 0.25,
        "counted": 0.5,
        "stations": 1,
        "electors_counted": 100,
        "votes": votes,
        "before": votes,
        "change": dict.fromkeys(votes, -0.01),
        "seats": dict.fromkeys(votes, 1),
        "projection": None,
        **changed,
    }


def test_a_community_has_its_winners_colour_and_a_close_race_is_paler() -> None:
    assert election_html.fill(None) == ""
    assert "--party-encina) 100%" in election_html.fill(row())
    assert "--party-encina) 45%" in election_html.fill(row(lead=0.0))


def test_a_region_says_in_words_what_its_colour_shows() -> None:
    assert election_html.label("Aragón", row()) == "Aragón: Encina leads by 25.0 %, 50.0 % counted"
    assert election_html.label("Aragón", None) == "Aragón: nothing counted yet"


def test_the_table_has_all_nineteen_also_before_the_count() -> None:
    text = election_html.communities_table(Standings(), "13")
    assert text.count("data-community=") == 19
    assert text.count('aria-selected="true"') == 1


def test_no_change_has_no_sign() -> None:
    assert "−0.0" not in election_html.community_table(row())


@pytest.mark.parametrize(
    ("application", "phase", "said"),
    [
        ("STARTING", "voting", "Spark is starting"),
        ("STARTING", "counting", "Spark is starting"),
        ("RUNNING", "voting", "polls are open"),
        ("RUNNING", "counting", "being counted"),
        ("ERROR", "counting", "not running"),
    ],
)
def test_the_state_of_the_night_is_said_in_a_sentence(application: str, phase: str, said: str) -> None:
    standings = Standings()
    standings.take("elections.status", "application", {"state": application})
    standings.take("elections.status", "night", {"phase": phase, "clock": "20:10"})
    assert said in state_of(standings)[0]


def test_the_board_is_a_table_that_names_every_piece() -> None:
    text = chess_html.board_html(Moment(START, 1, "e2e4", None, 0, 0), "a game")
    assert text.count("data-square=") == 64
    assert text.count("black pawn") == 8
    assert text.count(" moved") == 2


def test_a_game_is_named_by_its_players() -> None:
    assert chess_html.title_of("immortal-2") == "Anderssen – Kieseritzky, London 1851 (2)"
    assert chess_html.title_of("something") == "something"
