"""How checks are declared and run: in order, at the same time, and none can hold up the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from caudal.cli.doctor.check import Answer, Check, Finding, Situation, all_checks, note, ok, run_checks, trouble


def test_every_theme_is_found_in_the_order_of_the_report() -> None:
    names = [check.name for check in all_checks()]
    assert names.index("python") < names.index("java") < names.index("disk") < names.index("broker") < len(names)
    assert len(names) == len(set(names)) >= 25


def test_findings_come_in_the_order_of_the_checks(situation: Situation) -> None:
    second_asked = threading.Event()

    def first(_: Situation) -> Iterator[Answer]:
        assert second_asked.wait(10), "they run at the same time"
        yield ok("a")
        yield note("b", "do this")

    def second(_: Situation) -> Iterator[Answer]:
        second_asked.set()
        yield trouble("c", "do that")

    assert list(run_checks(situation, [Check("one", first, 20), Check("two", second, 20)])) == [
        Finding("one", "ok", "a"),
        Finding("one", "note", "b", "do this"),
        Finding("two", "trouble", "c", "do that"),
    ]


def test_a_check_that_raises_is_a_note_and_stops_no_other(situation: Situation) -> None:
    def broken(_: Situation) -> Iterator[Answer]:
        yield ok("never seen")
        raise RuntimeError("two\nlines")

    found = list(run_checks(situation, [Check("broken", broken, 5), Check("fine", lambda _: [ok("x")], 5)]))
    assert found == [
        Finding("broken", "note", "could not be checked: RuntimeError: two lines"),
        Finding("fine", "ok", "x"),
    ]


def test_a_check_that_hangs_is_given_up(situation: Situation) -> None:
    release = threading.Event()

    def hanging(_: Situation) -> Iterator[Answer]:
        release.wait(30)
        yield ok("late")

    before = time.monotonic()
    (found,) = run_checks(situation, [Check("slow", hanging, 0.1)])
    release.set()
    assert time.monotonic() - before < 10
    assert (found.status, found.text) == ("note", "no answer in 0 s; it was given up")
