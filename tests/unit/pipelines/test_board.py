"""Reports become pipelines with states, instances and history; silence and tombstones are understood."""

from __future__ import annotations

from typing import Any

from caudal.pipelines import board as boards
from caudal.pipelines.board import GONE_MS, Board, History
from caudal.pipelines.records import Key, Part, encode


def tell(board: Board, application: str, instance: str, at: int, part: Part = Part.FIGURES, **fields: Any) -> None:
    board.take(Key(application, instance, part).encode(), encode({"time": at, **fields}), at)


def running(board: Board, application: str, instance: str, at: int, state: str = "RUNNING") -> None:
    tell(board, application, instance, at, Part.ABOUT, host=instance)
    tell(board, application, instance, at, state=state)


def test_the_instance_that_runs_speaks_for_the_application() -> None:
    board = Board()
    running(board, "b", "standby", 1000, "STANDBY")
    running(board, "b", "owner", 1000)
    running(board, "a", "one", 1000, "PAUSED")
    found = board.pipelines(2000)
    assert [one.application for one in found] == ["a", "b"]
    assert [one.id for one in found[1].instances] == ["owner", "standby"]
    assert found[0].state(2000) == "PAUSED"


def test_silence_means_gone_but_a_failure_stays_a_failure() -> None:
    board = Board()
    running(board, "killed", "i", 1000)
    running(board, "failed", "i", 1000, "ERROR")
    later = 1000 + GONE_MS + 1
    states = {one.application: one.state(later) for one in board.pipelines(later)}
    assert states == {"killed": "GONE", "failed": "ERROR"}
    standby_took_over = later
    running(board, "killed", "j", standby_took_over)
    assert board.pipelines(later)[1].state(later) == "RUNNING"


def test_a_tombstone_ends_an_instance_and_it_may_come_back() -> None:
    board = Board()
    running(board, "app", "i", 1000)
    board.take(Key("app", "i", Part.ABOUT).encode(), None, 2000)
    board.take(Key("app", "i", Part.FIGURES).encode(), None, 2000)
    assert board.pipelines(2000) == []
    running(board, "app", "i", 3000)
    assert board.pipeline("app", 3000) is not None


def test_what_cannot_be_read_changes_nothing() -> None:
    board = Board()
    running(board, "app", "i", 1000)
    board.take(b"noise", b"noise", 1100)
    board.take(Key("app", "i", Part.FIGURES).encode(), b"noise", 1100)
    board.take(Key("app", "j", Part.FIGURES).encode(), encode({"state": "RUNNING"}), 1100)  # nobody knows what it is
    found = board.pipeline("app", 1200)
    assert found is not None and [one.id for one in found.instances] == ["i"] and found.state(1200) == "RUNNING"


def test_history_has_the_figures_by_time_and_gaps_where_there_were_none() -> None:
    history = History()
    history.add({"time": 1000, "rate": {"in": 5.0, "out": 2}, "lag": 7, "batch_seconds": {"p50": 0.2}})
    history.add({"time": 3000, "rate": {"in": 6.0}, "latency_ms": {"p50": 12}})
    history.add({"time": 3000, "rate": {"in": 9.0}})  # told twice
    assert history.since(0, "in") == [(1000, 5.0), (3000, 6.0)]
    assert history.since(2000, "in") == [(3000, 6.0)]
    assert history.since(0, "latency_p50") == [(1000, None), (3000, 12.0)]
    assert history.since(0, "batch") == [(1000, 200.0), (3000, None)]
    assert history.since(4000, "in") == []


def test_history_forgets_its_older_half() -> None:
    history = History()
    for moment in range(boards.LONGEST + 2):
        history.add({"time": moment + 1, "lag": moment})
    assert len(history.times) == boards.LONGEST // 2 + 2
    assert history.since(0, "lag")[-1] == (boards.LONGEST + 2, boards.LONGEST + 1)


def test_many_points_become_few_means() -> None:
    history = History()
    for moment in range(1, 8):
        history.add({"time": moment, **({"lag": moment} if moment != 6 else {})})
    assert history.means(0, "lag", 100) == history.since(0, "lag")
    assert history.means(0, "lag", 3) == [(3, 2.0), (6, 4.5), (7, 7.0)]
    assert history.means(6, "lag", 3) == [(6, None), (7, 7.0)]
