"""Whole runs, tiny: with Caudal alone in every suite, beside Apache Kafka where Java and its jars are."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import psutil
import pytest
from rich.progress import Progress

from caudal.bench import broker, servers
from caudal.bench.case import Case, Figure, Session, Values
from caudal.bench.results import CAUDAL


def processes_on(folder: Path) -> list[psutil.Process]:
    """What still runs of this test's servers; other tests of the session may have theirs."""
    left = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # gone, or dead and not yet collected
            if any(str(folder) in word for word in child.cmdline()):
                left.append(child)
    return left


def test_a_quick_run_of_caudal_alone_measures_and_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = ["latency", "footprint", "compaction", "throughput-100b-4p-acks-all"]
    chosen = [word for case in cases for word in ("--only", case)]
    status = broker.main(["--quick", "--alone", "--json", "--data", str(tmp_path), *chosen])
    document = json.loads(capsys.readouterr().out)
    assert (status, document["failures"]) == (0, [])
    assert all(row["caudal"] is not None and row["ratio"] is None for row in document["rows"])
    assert {row["case"] for row in document["rows"]} == set(cases)
    assert list(tmp_path.iterdir()) == []
    assert processes_on(tmp_path) == []


def test_even_a_run_of_long_cases_alone_is_warmed_up(tmp_path: Path) -> None:
    def warm_up(only: str) -> list[str]:
        run = broker.Run(broker.Options(alone=True), broker.chosen_cases([only]), tmp_path, Progress())
        return [case.name for case in run.warm_up_cases()]

    assert sorted(warm_up("cold-read")) == sorted(broker.WARM_UP_CASES)
    assert warm_up("latency") == ["latency"]
    assert warm_up("footprint") == []


@pytest.mark.java
@pytest.mark.slow
def test_a_quick_run_beside_apache_kafka_gives_ratios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "BENCHMARKS.md"
    assert broker.main(["--quick", "--only", "transactions", "--only", "latency", "--markdown", str(page)]) == 0
    assert "transactions of 10 messages" in capsys.readouterr().out
    assert "×" in page.read_text()


def test_a_failing_case_is_reported_and_the_next_one_still_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_session: Session) -> Values:
        raise RuntimeError("no luck")

    def kill_the_server(session: Session) -> Values:
        assert session.server.process is not None
        session.server.process.kill()
        session.server.process.wait()
        return {"value": 1.0 / 0.0}

    def work(session: Session) -> Values:
        session.run("produce", topics=[session.topic()], count=10, size=10)
        return {"value": 1.0}

    figures = {"value": Figure("value", "", True)}
    cases = [Case(function.__name__, function, figures, False, None) for function in (fail, kill_the_server, work)]
    monkeypatch.setattr(broker, "chosen_cases", lambda _only: cases)
    monkeypatch.setattr(broker.Run, "shuffled", lambda _self, items: list(items))
    results = broker.run(broker.Options(quick=True, alone=True, json=True, data=tmp_path))
    assert {name: reason for (name, _server), reason in results.failures.items()} == {
        "fail": "no luck",
        "kill_the_server": "float division by zero",
    }
    assert results.values["work", 0, CAUDAL] == {"value": 1.0}


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    class Broken(servers.Server):
        key, title = "broken", "Broken"

        def command(self) -> list[str]:
            return ["sh", "-c", "echo the disk is on fire; exit 3"]

    with pytest.raises(servers.ServerError, match="the disk is on fire"):
        Broken(tmp_path).start()


def test_a_paused_server_takes_no_cpu_and_goes_on_after(tmp_path: Path) -> None:
    class Busy(servers.Server):
        key, title = "busy", "Busy"

        def command(self) -> list[str]:
            return ["sh", "-c", "while :; do :; done"]

    server = Busy(tmp_path)
    server.process = psutil.Popen(server.command())
    try:
        server.pause()
        before = server.cpu_seconds()
        psutil.cpu_percent(interval=0.3)
        assert server.cpu_seconds() == before
        server.resume()
        psutil.cpu_percent(interval=0.5)
        assert server.cpu_seconds() > before
        assert server.memory_mb() > 0
    finally:
        server.remove()
    assert server.tree() == []
