"""What `caudal run` shows while an application gets going, by its states and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caudal import jars
from caudal.cli import run_progress
from caudal.cli.progress import Tracker
from caudal.cli.run_progress import _Start, fetch_jars


class Application:
    """As far as it is looked at."""

    application_id = "count"
    lane = ("task", "")
    state: str = "STARTING"
    restoring: dict[str, list[int]] = {}  # noqa: RUF012
    left = 0

    def metrics(self) -> dict[str, Any]:
        return {"restoring": self.restoring}

    def behind(self) -> int:
        return self.left


class Notes(Tracker):
    """What would be drawn."""

    def __init__(self) -> None:
        super().__init__("x")
        self.seen: list[tuple[str, float, float | None]] = []
        self.closings = 0

    def _draw(self) -> None:
        self.seen.append((self._what, self._done, self._total))

    def last(self) -> tuple[str, float, float | None]:
        return self.seen[-1]

    def close(self) -> None:
        self.closings += 1
        super().close()


def looked(application: Application, tracker: Notes) -> _Start:
    given: Any = application
    return _Start(given, tracker)


def test_spark_then_state_then_records_then_nothing() -> None:
    application, tracker = Application(), Notes()
    start = looked(application, tracker)
    start.look()
    assert tracker.last() == ("'count': starting Spark", 0, None)
    application.restoring = {"0_0 totals": [50, 200], "0_1 totals": [10, 100]}
    start.look()
    assert tracker.last() == ("'count': restoring state", 60, 300)
    application.state, application.left = "RUNNING", 50_000
    start.look()
    application.left = 20_000
    start.look()
    assert tracker.last() == ("'count': catching up", 30_000, 50_000)
    assert tracker.closings == 0
    application.left = 0
    start.look()
    assert tracker.closings == 1
    drawn = len(tracker.seen)
    application.left = 90_000
    start.look()
    assert len(tracker.seen) == drawn, "only the first time"


@pytest.mark.parametrize(("state", "left"), [("RUNNING", 100), ("STANDBY", 0), ("ERROR", 0)])
def test_nothing_to_catch_up_with_shows_nothing(state: str, left: int) -> None:
    application, tracker = Application(), Notes()
    application.state, application.left = state, left
    looked(application, tracker).look()
    assert (tracker.closings, tracker.seen) == (1, [])


def test_jars_are_shown_while_they_come(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CAUDAL_JARS", str(tmp_path))
    monkeypatch.setattr(run_progress, "JAR_SECONDS", 0.001)
    tracker = Notes()

    def arrive(name: str) -> list[Path]:
        scratch = tmp_path / ".fetching-1"
        (scratch / "cache").mkdir(parents=True)
        (scratch / "cache" / "a.jar.part").write_bytes(b"x" * 700)
        while not any(done == 700 for _, done, _ in tracker.seen):
            pass  # pytest's own time limit ends it
        return []

    monkeypatch.setattr(jars, "fetch", arrive)
    fetch_jars(tracker)
    assert tracker.seen[0][0] == f"fetching {len(jars.jars_of('spark'))} jars of Spark's Kafka connector"


def test_jars_that_are_there_are_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "find", lambda name: [])
    monkeypatch.setattr(jars, "fetch", lambda name: pytest.fail("not needed"))
    fetch_jars(Notes())
