"""`caudal demo elections` on real Spark: a night that is killed in the middle and taken up again ends with every figure
right; and `caudal demo elections` by itself, as a person types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from caudal.demos.elections.simulation import Country, Election, by_party
from caudal.demos.elections.standings import FOLLOWED, Standings
from caudal.demos.following import Follower
from caudal.testing import embedded_broker

pytest.importorskip("pyspark")
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(400)]

VOTES, SEED = 40_000, 11
PATIENCE_SECONDS = 150


def command(*arguments: str) -> list[str]:
    given = ["--votes", str(VOTES), "--seed", str(SEED), *arguments]
    return [sys.executable, "-m", "caudal.cli.main", "demo", "elections", "--json", *given]


def test_a_night_that_was_killed_goes_on_and_loses_and_doubles_nothing(tmp_path: Path) -> None:
    with embedded_broker() as broker:
        arguments = ["--bootstrap", broker.bootstrap, "--state-dir", str(tmp_path)]
        standings = Standings()
        follower = Follower({"bootstrap.servers": broker.bootstrap}, FOLLOWED, standings.take)
        first = subprocess.Popen(command(*arguments, "--speed", "6"), start_new_session=True, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while standings.counted < 0.3:
            assert first.poll() is None, "the demonstration ended before it was killed"
            assert time.monotonic() < deadline, f"nothing is counted: {standings.status}"
            time.sleep(0.05)
        os.killpg(first.pid, signal.SIGKILL)  # the driver, Spark's JVM and its workers, all at once
        first.wait()
        assert standings.counted < 1
        second = subprocess.run(
            command(*arguments, "--speed", "0"), capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        follower.close()
    assert second.returncode == 0, second.stdout[-2000:] + second.stderr
    told: dict[str, Any] = json.loads(second.stdout)
    assert told["right"]
    assert told["resumed"]
    assert told["night"] == 1
    truth = Election.of(Country.of(SEED, VOTES), 1)
    assert {code: row["votes"] for code, row in told["communities"].items()} == {
        code: by_party(votes) for code, votes in truth.totals().items()
    }
    assert sum(told["seats"].values()) == 350
    # Turnout is a plain sum: a report that came twice would show.
    came = sum(row for row in standings.hours.values())
    assert came == sum(map(sum, truth.results.values()))


def test_the_command_brings_its_own_broker_and_prints_tables_and_a_verdict() -> None:
    words = [sys.executable, "-m", "caudal.cli.main", "demo", "elections", "--votes", "20000", "--speed", "0"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Comunidad de Madrid" in done.stdout
    assert "✓ every figure" in done.stdout
    assert "netlib" not in done.stderr
