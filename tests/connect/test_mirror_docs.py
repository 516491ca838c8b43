"""The steps of docs/mirroring.md for the loss of a cluster, word for word, with real workers and a killed broker."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from caudal.connect.connectors.mirror.cluster import Cluster
from caudal.connect.records import TopicPartition as Place
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.connect.process import ConnectProcess
from tests.connect.small_worker import PATIENCE, until

pytestmark = pytest.mark.timeout(400)
DOCS = Path(__file__).parents[2] / "docs" / "mirroring.md"
SECTION = "## The loss of a cluster, step by step"


def steps() -> list[list[list[str]]]:
    """The commands of each block of the section."""
    section = DOCS.read_text().partition(SECTION)[2].partition("\n## ")[0]
    blocks: list[list[list[str]]] = [[]]
    for line in section.splitlines():
        if line.startswith("    caudal "):
            blocks[-1].append(shlex.split(line)[1:])
        elif line and not line.startswith(" ") and blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


@pytest.fixture
def west() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as broker:
        yield broker


@pytest.fixture
def east() -> Iterator[EmbeddedBroker]:
    with embedded_broker({"group.min.session.timeout.ms": "500"}) as broker:
        yield broker


def test_the_steps_of_the_docs(west: EmbeddedBroker, east: EmbeddedBroker, tmp_path: Path) -> None:
    before, after = steps()
    connect = ConnectProcess(east.bootstrap).wait()
    real = {"west:9092": west.bootstrap, "east:9092": east.bootstrap, "http://east:8083": connect.url}
    environment = {**os.environ, "CAUDAL_PROFILES": str(tmp_path / "clusters.json")}
    environment.pop("CAUDAL_BOOTSTRAP", None)

    def run(arguments: list[str]) -> str:
        command = [sys.executable, "-m", "caudal.cli.main", *(real.get(one, one) for one in arguments)]
        found = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert found.returncode == 0, f"{arguments}: {found.stderr}"
        return found.stdout

    try:
        west.create_topic("orders", 1, {"retention.ms": "7654321"})
        producer = Producer({"bootstrap.servers": west.bootstrap})
        for number in range(50):
            producer.produce("orders", b"%d" % number, b"k", 0)
        assert producer.flush(PATIENCE) == 0
        reader = Consumer({"bootstrap.servers": west.bootstrap, "group.id": "readers"})
        reader.commit(offsets=[TopicPartition("orders", 0, 37)], asynchronous=False)
        reader.close()
        for step in before:
            run(step)
        target = Cluster({"target.cluster.bootstrap.servers": east.bootstrap}, "target")
        until(lambda: target.committed("readers") == {Place("orders", 0): (37, "")}, "the group's move")
        until(lambda: target.ends([Place("orders", 0)]) == {Place("orders", 0): 50}, "the copy")
        west.kill()
        promoted, profiles, topics, group = (run(step) for step in after)
    finally:
        connect.stop()
    assert "'east' is the primary now (it was 'west')" in promoted
    assert "note: the last record of 'west' was copied at " in promoted
    assert [line.split()[:2] for line in profiles.splitlines()[1:]] == [["*", "east"], ["west", west.bootstrap]]
    assert "orders" in topics and target.settings(["orders"])["orders"] == {"retention.ms": "7654321"}
    assert "37" in group and "13" in group, "committed, and behind"
    assert "nothing was done" not in promoted
