"""The timeline of several producers and late consumers, typed as a person types it: every actor is a `caudal` process.

Two producers write to two topics while a live consumer reads along; a third producer joins; later one consumer reads
both topics between two points in time, and another reads one topic from the beginning. Those already
there notice nothing.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from .cluster import Cluster

PATIENCE = 30.0


def command(cluster: Cluster, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "caudal.cli.main", *arguments, "--bootstrap", cluster.bootstrap]


def caudal(cluster: Cluster, *arguments: str) -> list[str]:
    """Runs a command to its end; the lines it printed."""
    done = subprocess.run(
        command(cluster, *arguments),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class Typist:
    """Somebody at `caudal produce`: types lines when told to, and stays."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def types(self, *lines: str) -> None:
        assert self.process.stdin is not None
        for line in lines:
            self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


class Watcher:
    """Somebody at `caudal consume` without an end: sees lines as they come."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def sees(self, count: int) -> list[str]:
        return [self._lines.get(timeout=PATIENCE) for _ in range(count)]

    def sees_nothing_more(self) -> bool:
        return self._lines.empty()


@contextmanager
def running(cluster: Cluster, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command(cluster, *arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
        assert process.poll() is None, f"{arguments} ended by itself: {process.communicate()}"
    finally:
        process.terminate()
        process.wait(PATIENCE)
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def moment() -> int:
    """A point in time that no record has: nothing is written in the 20 ms around it."""
    time.sleep(0.02)
    now = int(time.time() * 1000)
    time.sleep(0.02)
    return now


def test_producers_and_consumers_join_a_timeline_at_different_times(
    cluster: Cluster, unique: Callable[[str], str]
) -> None:
    orders, payments = unique("orders"), unique("payments")
    caudal(cluster, "topic", "create", orders, payments, "-p", "1")
    with (
        running(cluster, "produce", orders) as first,
        running(cluster, "produce", payments) as second,
        running(cluster, "consume", orders, payments, "-G", unique("live"), "-q") as third,
    ):
        shop, bank, live = Typist(first), Typist(second), Watcher(third)
        shop.types("order 1")
        bank.types("payment 1")
        assert sorted(live.sees(2)) == ["order 1", "payment 1"]
        start = moment()
        shop.types("order 2")
        assert live.sees(1) == ["order 2"]
        with running(cluster, "produce", orders) as fourth:  # a third producer joins
            app = Typist(fourth)
            app.types("order 3 from the app")
            bank.types("payment 2")
            assert sorted(live.sees(2)) == ["order 3 from the app", "payment 2"]
            end = moment()
            app.types("order 4 from the app")
            bank.types("payment 3")
            assert sorted(live.sees(2)) == ["order 4 from the app", "payment 3"]

            # A consumer that joins later reads both topics between the two points in time, and ends by itself.
            rows = [
                json.loads(line)
                for line in caudal(cluster, "consume", orders, payments, "-o", f"s@{start}", "-o", f"e@{end}", "-J")
            ]
            assert sorted(row["payload"] for row in rows) == ["order 2", "order 3 from the app", "payment 2"]
            assert all(start <= row["ts"] < end for row in rows)
            # The same moments as a person writes them.
            since, until = (datetime.fromtimestamp(stamp / 1000, UTC).isoformat() for stamp in (start, end))
            again = caudal(cluster, "consume", orders, payments, "-o", f"s@{since}", "-o", f"e@{until}")
            assert sorted(again) == ["order 2", "order 3 from the app", "payment 2"]

            # Another reads one topic from the beginning.
            history = caudal(cluster, "consume", orders, "-o", "beginning", "-e")
            assert history == ["order 1", "order 2", "order 3 from the app", "order 4 from the app"]

            # Those already there were not disturbed: they go on, and saw everything exactly once.
            assert live.sees_nothing_more()
            shop.types("order 5")
            app.types("order 6 from the app")
            assert sorted(live.sees(2)) == ["order 5", "order 6 from the app"]
        bank.types("payment 4")
        assert live.sees(1) == ["payment 4"]
        assert live.sees_nothing_more()
