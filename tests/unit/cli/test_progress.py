"""Bars and lines: nothing for what is quick, a line now and then in a file, a bar on a terminal."""

from __future__ import annotations

import logging

import pytest

from caudal.cli.progress import Tracker, TrackerHandler


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which the test sets."""
    now = [100.0]
    monkeypatch.setattr("caudal.cli.progress.time.monotonic", lambda: now[0])
    return now


def test_what_is_quick_shows_nothing(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    with Tracker("orders", 100) as tracker:
        for done in range(100):
            tracker.update(done)
    assert capsys.readouterr() == ("", "")


def test_a_line_now_and_then_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    with Tracker("orders", 5000) as tracker:
        for second in range(25):
            clock[0] = 100.0 + second
            tracker.update(second * 100)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "orders: 1,000 of 5,000 records (20 %), 100/s",
        "orders: 2,000 of 5,000 records (40 %), 100/s",
    ]


def test_bytes_and_an_end_that_nobody_knows(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    tracker = Tracker("download", unit="bytes")
    clock[0] += 10
    tracker.update(15 * 1024 * 1024)
    assert capsys.readouterr().err == "download: 15.0 MiB, 1.5 MiB/s\n"


def test_the_next_step_counts_from_nothing(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    tracker = Tracker("one", 10)
    tracker.update(10)
    clock[0] += 10
    tracker.step("two", 200)
    clock[0] += 10
    tracker.update(50)
    assert capsys.readouterr().err.splitlines()[-1] == "two: 50 of 200 records (25 %), 5/s"


def test_quiet_is_quiet_and_a_closed_one_too(capsys: pytest.CaptureFixture[str], clock: list[float]) -> None:
    tracker = Tracker("orders", 10, quiet=True)
    clock[0] += 60
    tracker.update(5)
    closed = Tracker("orders", 10)
    closed.close()
    closed.close()
    clock[0] += 60
    closed.update(5)
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")
    tracker = Tracker("orders", 100)
    tracker._on_terminal = True
    tracker.update(1)
    assert capsys.readouterr().err == "", "half a second is waited for"
    clock[0] += 1
    with tracker:
        tracker.update(40)
        tracker.say("a line above")
        tracker.update(80)
    shown = capsys.readouterr().err
    assert "40 of 100 records (40 %)" in shown and "━" in shown
    assert "a line above\n" in shown


def test_log_lines_go_above_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    handler = TrackerHandler(Tracker("x"))
    handler.emit(logging.LogRecord("x", logging.INFO, "", 0, "hello %s", ("you",), None))
    assert capsys.readouterr().err == "hello you\n"
