"""Two workers, three connectors with six tasks, and `kill -9`.

Tasks move in time, and in the end nothing is missing and nothing is there twice.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from caudal.connect.runtime.group_protocol import decode_assignment
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.connect.herder_harness import PLUGINS, read_topic, wait_for
from tests.connect.process import ConnectProcess

SESSION_SECONDS = 3.0
MOVE_SECONDS = 60.0  # a task has to be elsewhere by then, on a machine that others use, too
JOINING_SECONDS = 3.0  # on top of the session, on a machine of our own: the others join, tasks start
SOURCES = ("odd", "even")
NAMES = (*SOURCES, "ledger")


class Workers:
    """Two at a time; whoever is killed is replaced by another."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._log = (folder / "workers.log").open("w")
        self.running: list[ConnectProcess] = []

    def begin(self) -> ConnectProcess:
        properties = {
            "session.timeout.ms": int(SESSION_SECONDS * 1000),
            "heartbeat.interval.ms": 300,
            "scheduled.rebalance.max.delay.ms": 0,
            "offset.flush.interval.ms": 300,
            "offset.storage.partitions": 2,
            "status.storage.partitions": 2,
            "value.converter": "Json",
            "value.converter.schemas.enable": "false",
        }
        given = tuple(f"{name}={value}" for name, value in properties.items())
        worker = ConnectProcess(self._bootstrap, "--plugins", str(PLUGINS), properties=given, log=self._log)
        self.running.append(worker)
        return worker

    def kill(self, worker: ConnectProcess) -> None:
        self.running.remove(worker)
        worker.kill()

    def close(self) -> None:
        for worker in self.running:
            worker.process.kill()
            worker.process.wait(60)
        self._log.close()


@pytest.fixture
def workers(broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Workers]:
    running = Workers(broker.bootstrap, tmp_path)
    yield running
    running.close()


def owners(worker: ConnectProcess) -> dict[str, str]:
    """Of the tasks that run: where."""
    found: dict[str, str] = {}
    for name in NAMES:
        for task in worker.insist("GET", f"/connectors/{name}/status")["tasks"]:
            if task["state"] == "RUNNING":
                found[f"{name}-{task['id']}"] = task["worker_id"]
            assert task["state"] != "FAILED", task
    return found


def survive(broker: EmbeddedBroker, workers: Workers, folder: Path, kills: int) -> list[float]:
    """For each kill, the seconds until all tasks ran on the other worker."""
    moved: list[float] = []
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.create_topics([NewTopic("numbers", 4)]).values():
        future.result(30)
    first, second = workers.begin(), workers.begin()
    first.wait()
    second.wait()
    source = {"connector.class": "Numbers", "tasks.max": "2", "parts": "2", "topic": "numbers"}
    source |= {"count": "1000000000", "batch": "20", "pause.ms": "20", "exactly.once.support": "required"}
    for name in SOURCES:
        first.insist("POST", "/connectors", {"name": name, "config": source})
    sink = {"connector.class": "Ledger", "tasks.max": "2", "topics": "numbers", "file": str(folder / "ledger.db")}
    first.insist("POST", "/connectors", {"name": "ledger", "config": sink})

    for number in range(kills):
        wait_for(lambda first=first: _counts(owners(first)) == [3, 3], "three tasks on each", MOVE_SECONDS)  # type: ignore[misc]
        victim, other = (first, second) if number % 2 else (second, first)
        workers.kill(victim)
        began = time.monotonic()
        wait_for(lambda other=other: _counts(owners(other)) == [6], "all six on the other", MOVE_SECONDS)  # type: ignore[misc]
        assert set(owners(other).values()) == {other.id}
        moved.append(time.monotonic() - began)
        first, second = other, workers.begin().wait()

    # Every source writes a little more than it has, and then it is counted.
    until: dict[str, int] = {}
    for name in SOURCES:
        offsets = first.insist("GET", f"/connectors/{name}/offsets")["offsets"]
        assert len(offsets) == 2, offsets
        until[name] = max(one["offset"]["next"] for one in offsets) + 500
        first.insist("PATCH", f"/connectors/{name}/config", {"count": str(until[name])})
    total = 2 * sum(until.values())
    rows = folder / "ledger.db"
    wait_for(lambda: _count(rows) >= total, f"{total} rows", 180)
    values = [value for _, value in read_topic(broker.bootstrap, "numbers")]
    assert len(values) == total, "in the topic each number is as often as there are sources"
    with sqlite3.connect(rows) as database:
        stored = database.execute("SELECT value, COUNT(*) FROM ledger GROUP BY value").fetchall()
    least, most = sorted(until.values())
    expected = {f"{part}:{n}": 2 if n < least else 1 for part in (0, 1) for n in range(most)}
    assert dict(stored) == expected
    return moved


def _counts(found: dict[str, str]) -> list[int]:
    where = list(found.values())
    return [where.count(one) for one in sorted(set(where))]


def _count(path: Path) -> int:
    with sqlite3.connect(path, timeout=60) as database:
        return int(database.execute("SELECT COUNT(*) FROM ledger").fetchone()[0])


def test_kills(broker: EmbeddedBroker, workers: Workers, tmp_path: Path) -> None:
    survive(broker, workers, tmp_path, kills=3)


def leader_of(broker: EmbeddedBroker) -> str | None:
    """Its address, as the group's assignment says."""
    found = AdminClient({"bootstrap.servers": broker.bootstrap}).list_groups("connect-cluster", timeout=30)
    members = found[0].members if found and found[0].state == "Stable" else []
    return decode_assignment(members[0].assignment).leader_url if members else None


def test_a_leader_is_killed_while_it_writes(tmp_path: Path) -> None:
    with embedded_broker({"group.min.session.timeout.ms": "500"}) as broker:
        workers = Workers(broker.bootstrap, tmp_path)
        try:
            both = [workers.begin(), workers.begin()]
            for worker in both:
                worker.wait()
            url = wait_for(lambda: leader_of(broker), "a leader")
            leader, other = sorted(both, key=lambda worker: worker.url != url)
            acknowledged: list[str] = []

            def create() -> None:
                for number in range(60):
                    config = {"connector.class": "Numbers", "tasks.max": "1", "parts": "1", "count": "0"}
                    body = {"name": f"c{number}", "config": config}
                    try:
                        answer = httpx.post(f"{other.url}/connectors", json=body, timeout=60)
                    except httpx.HTTPError:
                        continue
                    if answer.status_code == 201:
                        acknowledged.append(f"c{number}")

            creating = threading.Thread(target=create)
            creating.start()
            wait_for(lambda: len(acknowledged) >= 5, "some connectors")
            workers.kill(leader)
            creating.join()
            wait_for(lambda: leader_of(broker) == other.url, "the other leads")
            assert set(acknowledged) <= set(other.insist("GET", "/connectors"))
            other.insist(
                "POST", "/connectors", {"name": "last", "config": {"connector.class": "Numbers", "count": "0"}}
            )
            for name in (*acknowledged, "last"):
                wait_for(lambda name=name: runs(other, name), f"{name} runs", MOVE_SECONDS)  # type: ignore[misc]
        finally:
            workers.close()


def runs(worker: ConnectProcess, name: str) -> bool:
    status = worker.insist("GET", f"/connectors/{name}/status")
    return len(status["tasks"]) > 0 and all(task["state"] == "RUNNING" for task in status["tasks"])


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_twenty_kills(tmp_path: Path) -> None:
    with embedded_broker({"group.min.session.timeout.ms": "500"}) as broker:
        running = Workers(broker.bootstrap, tmp_path)
        try:
            moved = survive(broker, running, tmp_path, kills=20)
        finally:
            running.close()
    print("seconds from kill to all tasks running elsewhere:", " ".join(f"{each:.1f}" for each in sorted(moved)))
    assert max(moved) < SESSION_SECONDS + JOINING_SECONDS
