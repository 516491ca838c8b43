"""A cluster is killed under load and its copy becomes the primary: `kill -9`, `caudal cluster promote`, groups go on.

Everything is a process as people start it: two brokers, a worker, `caudal cluster …`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from caudal import jars
from caudal.bench.servers import ApacheKafkaServer, CaudalServer, Server
from caudal.connect.connectors.mirror.cluster import Cluster
from tests.connect.mirror_load import PATIENCE, Feeder, Member, Place, PythonMember, everything, positions
from tests.connect.process import ConnectProcess
from tests.connect.small_worker import until

pytestmark = pytest.mark.timeout(900)
QUICK = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "log.cleaner.backoff.ms": "500",
}
COMPACTED = {"cleanup.policy": "compact", "segment.ms": "300", "min.cleanable.dirty.ratio": "0.01"}
TOPICS: dict[str, tuple[int, dict[str, str]]] = {
    "orders": (3, {"retention.ms": "1234567000", "max.message.bytes": "900000"}),
    "payments": (2, {}),  # transactions, some aborted
    "table": (1, COMPACTED),
    "closed": (2, {}),  # transactions; nothing is written any more when the loss comes
    "quiet": (1, {}),  # nothing is ever written
}
AT_WORK = ("orders", "payments", "table")
MIRRORS = [f"mirror-west-east-{kind}" for kind in ("source", "checkpoint", "heartbeat")]
OLD_SECONDS = 60.0  # a commit of a group at work is seen after a second; the rest is for a machine that is busy


class Clusters:
    """West, east with its Connect, and a file of profiles that only this test knows."""

    def __init__(self, folder: Path, west: Server) -> None:
        self.folder = folder
        self.west = west
        self.east = CaudalServer(folder / "east", QUICK)
        self.east.start()
        self._log = (folder / "connect.log").open("w")
        self.connect = ConnectProcess(self.east.bootstrap, log=self._log).wait()

    def caudal(self, *arguments: str, code: int = 0) -> str:
        """What it prints; with a code that is not 0, what it complains of."""
        environment = {**os.environ, "CAUDAL_PROFILES": str(self.folder / "clusters.json")}
        for name in ("CAUDAL_BOOTSTRAP", "CAUDAL_CONNECT"):
            environment.pop(name, None)
        found = subprocess.run(
            [sys.executable, "-m", "caudal.cli.main", *arguments],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert found.returncode == code, f"{found.returncode}\n{found.stdout}\n{found.stderr}"
        return found.stderr if code else found.stdout

    def kill_west(self) -> None:
        assert self.west.process is not None
        self.west.process.kill()
        self.west.process.wait(60)

    def close(self) -> None:
        self.connect.stop()
        self._log.close()
        self.west.remove()
        self.east.remove()


@pytest.fixture
def clusters(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Clusters]:
    west: Server
    if getattr(request, "param", "caudal") == "apache":
        west = ApacheKafkaServer(tmp_path / "west", jars.fetch("kafka-server"), QUICK)
    else:
        west = CaudalServer(tmp_path / "west", QUICK)
    west.start()
    running = Clusters(tmp_path, west)
    yield running
    running.close()


class Scene:
    """Topics with settings, feeders at work, groups of all kinds; and what each finds on the copy."""

    def __init__(self, clusters: Clusters, *options: str) -> None:
        self.clusters = clusters
        self.prefix = "west." if "--prefix-names" in options else ""
        self.west, self.east = clusters.west.bootstrap, clusters.east.bootstrap
        admin = AdminClient({"bootstrap.servers": self.west, "log_level": 0})
        topics = [NewTopic(name, count, 1, config=settings) for name, (count, settings) in TOPICS.items()]
        for future in admin.create_topics(topics).values():
            future.result(PATIENCE)
        clusters.caudal("cluster", "profile", "add", "west", "--bootstrap", self.west)
        clusters.caudal(
            "cluster", "profile", "add", "east", "--bootstrap", self.east, "--connect", clusters.connect.url
        )
        clusters.caudal("cluster", "mirror", "west", "east", "--create", *options)
        self.feeders = {
            topic: Feeder(self.west, topic, TOPICS[topic][0], transactional=topic in ("payments", "closed"))
            for topic in (*AT_WORK, "closed")
        }
        at_work = [*AT_WORK]
        self.end = Member(self.west, "at-the-end", ["closed", "quiet"])
        self.settled = [Member(self.west, "in-the-middle", at_work, 400), self.end]
        self.live = [Member(self.west, "live", at_work), PythonMember(self.west, "live-python", at_work)]
        for thread in (*self.feeders.values(), *self.settled, *self.live):
            thread.start()

    def settle(self) -> None:
        """`closed` comes to its end, two groups stop, and the mirror has seen it; everything else goes on."""
        closed = self.feeders["closed"]
        until(lambda: min(closed.acknowledged) > 100, "records in closed")
        closed.stop()
        ends = {("closed", at): count for at, count in enumerate(closed.written)}
        until(lambda: self.end.next == ends, "the end of closed")
        self.end.stop()
        for member in self.settled:
            member.join(PATIENCE)
            until(lambda member=member: self._is_settled(member), f"checkpoints of {member.group}")  # type: ignore[misc]
        for member in self.live:
            until(lambda member=member: len(self.positions(member)) == 6, f"checkpoints of {member.group}")  # type: ignore[misc]

    def positions(self, member: Member) -> dict[Place, int]:
        """Where the group is on the copy, by the source's places."""
        places = [(topic, at) for topic, (count, _) in TOPICS.items() for at in range(count)]
        found = positions(self.east, member.group, [(self.prefix + topic, at) for topic, at in places])
        return {place: at for place, at in zip(places, found.values(), strict=True) if at >= 0}

    def _is_settled(self, member: Member) -> bool:
        found = self.positions(member)
        return all(place in found and self.reread(member, place, found[place]) == 0 for place in member.next)

    def reread(self, member: Member, place: Place, offset: int) -> int:
        """How many records of the copy the group reads again from `offset` on. Negative: so many it would miss."""
        copy = everything(self.east, self.prefix + place[0], place[1])
        due = member.next[place]
        again = sum(1 for at, number in copy if at >= offset and number < due)
        missed = sum(1 for at, number in copy if at < offset and number >= due)
        assert not (again and missed), "the copy is not in order"
        return again - missed

    def lose_west(self) -> float:
        """kill -9, while all are at work. Returns when."""
        before = [member.read for member in self.live]
        until(lambda: all(member.read > then + 50 for member, then in zip(self.live, before, strict=True)))
        self.clusters.kill_west()
        killed = time.monotonic()
        for feeder in self.feeders.values():
            feeder.stop(lost=True)
        for member in self.live:
            member.stop(lost=True)
        return killed


def check_copy(scene: Scene) -> None:
    """Records in order, each once; settings as at the source."""
    for topic, feeder in scene.feeders.items():
        for partition, acknowledged in enumerate(feeder.acknowledged):
            numbers = [number for _, number in everything(scene.east, scene.prefix + topic, partition)]
            if topic == "table":
                assert numbers == sorted(set(numbers))
            else:
                assert numbers == list(range(len(numbers)))
            end = numbers[-1] + 1
            print(f"{topic}-{partition}: {end} copied, {max(acknowledged - end, 0)} of {acknowledged} lost with west")
    target = Cluster({"target.cluster.bootstrap.servers": scene.east}, "target")
    for topic, (count, settings) in TOPICS.items():
        copy = scene.prefix + topic
        assert target.topics()[copy] == count
        assert target.settings([copy])[copy].items() >= settings.items()


def check_groups(scene: Scene, killed: float) -> None:
    """On the copy, groups that had stopped are at the very next record; those at work at a commit of a moment ago."""
    for member in scene.settled:
        found = scene.positions(member)
        assert {place: scene.reread(member, place, found[place]) for place in member.next} == dict.fromkeys(
            member.next, 0
        )
    for member in scene.live:
        found = scene.positions(member)
        for place, history in sorted(member.history.items()):
            again = scene.reread(member, place, found[place])
            assert again >= 0, f"{member.group} misses {-again} records of {place}"
            copied = len(everything(scene.east, scene.prefix + place[0], place[1]))
            seen = next((at for at, number in reversed(history) if number <= member.next[place] - again), None)
            age = killed - (seen if seen is not None else history[0][0])
            assert age < OLD_SECONDS, f"{member.group}: the checkpoint of {place} is {age:.0f} s old"
            print(f"{member.group} {place[0]}-{place[1]}: {again} of {copied} read again, commit of {age:.1f} s before")


def check_consumers(scene: Scene) -> None:
    """Real members with the groups' names go on: the copy's records behind their positions, then new ones."""
    producer = Producer({"bootstrap.servers": scene.east})
    for topic in ("closed", "orders", "quiet"):
        for partition in range(TOPICS[topic][0]):
            producer.produce(scene.prefix + topic, b"1000000", b"new", partition)
    assert producer.flush(PATIENCE) == 0
    for member in (*scene.settled, *scene.live):
        topics = ["closed", "quiet"] if member is scene.end else [*AT_WORK]
        kind = type(member)
        moved = Member(scene.east, member.group, [scene.prefix + topic for topic in topics])
        expected = {}
        found = scene.positions(member)
        for topic in topics:
            for partition in range(TOPICS[topic][0]):
                copy = everything(scene.east, scene.prefix + topic, partition)
                at = found.get((topic, partition), 0)
                first = next((number for offset, number in copy if offset >= at), None)
                if first is not None:
                    expected[scene.prefix + topic, partition] = first
        moved.start()
        until(lambda moved=moved, expected=expected: len(moved.first) == len(expected), f"records for {member.group}")  # type: ignore[misc]
        moved.stop()
        assert moved.first == expected, kind
        if member is scene.end:
            assert set(moved.first.values()) == {1000000}


def check_promotion(scene: Scene, said: dict[str, Any]) -> None:
    clusters = scene.clusters
    assert said["primary"] and said["left"] == []
    assert set(said["groups"]) >= {member.group for member in (*scene.settled, *scene.live)}
    for name in MIRRORS:
        assert clusters.connect.states(name) == ["STOPPED"]
    listed = json.loads(clusters.caudal("cluster", "profile", "list", "--json"))
    assert {one["name"]: one["primary"] for one in listed} == {"west": False, "east": True}
    assert f"{scene.prefix}orders" in clusters.caudal("topic", "list"), "commands without an address mean east now"


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("clusters", "options"),
    [
        pytest.param("caudal", ("--keep-names",), id="caudal-same-names", marks=SLOW),
        pytest.param("caudal", ("--prefix-names",), id="caudal-prefixed", marks=SLOW),
        pytest.param("caudal", ("-c", "exactly.once.support=required"), id="caudal-exactly-once", marks=SLOW),
        pytest.param("apache", ("--keep-names",), id="apache-same-names", marks=SLOW),
        pytest.param("apache", ("--prefix-names",), id="apache-prefixed", marks=SLOW),
    ],
    indirect=["clusters"],
)
def test_the_copy_takes_over(clusters: Clusters, options: tuple[str, ...]) -> None:
    scene = Scene(clusters, *options)
    scene.settle()
    refusal = clusters.caudal("cluster", "promote", "east", code=1)
    assert "'west' still answers" in refusal and "--force" in refusal
    print(refusal)
    killed = scene.lose_west()
    said = json.loads(clusters.caudal("cluster", "promote", "east", "--json"))
    print(f"promoted in {time.monotonic() - killed:.1f} s: {said}")
    check_promotion(scene, said)
    check_copy(scene)
    check_groups(scene, killed)
    check_consumers(scene)
    if isinstance(clusters.west, CaudalServer):
        clusters.west.start()  # it is back: nothing comes from it any more, and promoting again changes nothing
    assert "nothing was done" in clusters.caudal("cluster", "promote", "east")
