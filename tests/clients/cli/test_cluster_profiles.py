"""`caudal cluster profile`, `--cluster` on other commands, `mirror` and `promote`."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from caudal.connect.connectors.mirror.cluster import Cluster
from caudal.connect.connectors.mirror.formats import Checkpoint, OffsetSync
from caudal.connect.records import TopicPartition
from caudal.testing import EmbeddedBroker, embedded_broker

from .conftest import Caudal

NOWHERE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def east() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as running:
        yield running


def test_profiles_are_added_listed_shown_and_removed(caudal: Caudal) -> None:
    assert "no clusters; `caudal cluster profile add" in caudal("cluster", "profile", "list").err
    assert caudal("cluster", "profile", "add", "west", "--bootstrap", "a:9092,b:9092").out == "west is the primary\n"
    added = caudal(
        "cluster", "profile", "add", "east", "-b", "c:9092", "--connect", "http://c:8083", "--registry", "http://c:8081",
        "-c", "sasl.username=me", "-c", "sasl.password=secret1",
    )  # fmt: skip
    assert added.out == "east is added\n"
    listed = caudal("cluster", "profile", "list", "--json").json
    assert [(one["name"], one["primary"]) for one in listed] == [("east", False), ("west", True)]
    assert listed[0]["properties"] == {"sasl.username": "me", "sasl.password": "[hidden]"}
    shown = caudal("cluster", "profile", "show", "east")
    assert "sasl.username=me" in shown.out and "secret1" not in shown.out
    assert caudal("cluster", "profile", "use", "east").out == "east is the primary\n"
    assert [line[:6] for line in caudal("cluster", "profile", "list").lines[1:]] == ["*  eas", "   wes"]
    refused = caudal("cluster", "profile", "remove", "east")
    assert refused.code == 1 and "is the primary; make another one" in refused.err
    assert caudal("cluster", "profile", "remove", "west").code == 0
    assert caudal("cluster", "profile", "remove", "east").code == 0
    assert caudal("cluster", "profile", "list", "--json").json == []


def test_the_file_is_for_its_owner_only(caudal: Caudal) -> None:
    caudal("cluster", "profile", "add", "west", "-b", "a:9092", "-c", "sasl.password=x")
    assert stat.S_IMODE(os.stat(os.environ["CAUDAL_PROFILES"]).st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["show", "nosuch"], 4, "there is no cluster 'nosuch'; there are west"),
        (["add", "west", "-b", "a:1"], 1, "--replace"),
        (["add", "a b", "-b", "a:1"], 2, "no name for a cluster"),
        (["add", "x", "-b", "a:port"], 2, "not HOST:PORT"),
        (["add", "x", "-b", "a:1", "--connect", "a:8083"], 2, "--connect takes a URL"),
        (["add", "x", "-b", "a:1", "-c", "nothing"], 2, "NAME=VALUE"),
        (["use", "nosuch"], 4, "there is no cluster"),
    ],
)
def test_mistakes(caudal: Caudal, arguments: list[str], code: int, words: str) -> None:
    caudal("cluster", "profile", "add", "west", "-b", "a:9092")
    outcome = caudal("cluster", "profile", *arguments)
    assert (outcome.code, words in outcome.err) == (code, True), outcome.err


def test_a_damaged_file_is_named(caudal: Caudal) -> None:
    Path(os.environ["CAUDAL_PROFILES"]).write_text("[]")
    outcome = caudal("cluster", "profile", "list")
    assert outcome.code == 1 and "is not a file of cluster profiles" in outcome.err


def test_commands_take_a_cluster_by_name_or_the_primary(
    caudal: Caudal, broker: EmbeddedBroker, east: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("of-west")
    east.create_topic("of-east")
    caudal("cluster", "profile", "add", "west", "-b", broker.bootstrap)
    caudal("cluster", "profile", "add", "east", "-b", east.bootstrap)
    assert caudal("topic", "list").out.startswith("TOPIC") and "of-west" in caudal("topic", "list").out
    assert "of-east" in caudal("topic", "list", "--cluster", "east").out
    assert "of-east" in caudal("--cluster=east", "topic", "list").out
    assert "of-east" in caudal("topic", "list", "-b", east.bootstrap).out
    monkeypatch.setenv("CAUDAL_BOOTSTRAP", east.bootstrap)
    assert "of-east" in caudal("topic", "list").out, "the environment is nearer than the primary"
    assert "of-west" in caudal("topic", "list", "--cluster", "west").out, "the command line is nearer still"
    assert os.environ["CAUDAL_BOOTSTRAP"] == east.bootstrap
    outcome = caudal("topic", "list", "--cluster", "north")
    assert outcome.code == 4 and "there are east, west" in outcome.err
    assert caudal("topic", "list", "--cluster").code == 2


def test_client_properties_of_a_profile_are_used(caudal: Caudal, broker: EmbeddedBroker) -> None:
    caudal("cluster", "profile", "add", "west", "-b", broker.bootstrap, "-c", "no.such.property=1")
    assert "no.such.property" in caudal("topic", "list").err
    assert caudal("topic", "list", "-b", broker.bootstrap).code == 0


def test_mirror_prints_three_connectors(caudal: Caudal, tmp_path: Path) -> None:
    caudal("cluster", "profile", "add", "west", "-b", "a:9092", "-c", "security.protocol=ssl")
    caudal("cluster", "profile", "add", "east", "-b", "c:9092", "-c", "sasl.password=secret1")
    printed = caudal("cluster", "mirror", "west", "east")
    assert "secret1" not in printed.out and "secrets are hidden here" in printed.err
    configs = caudal("cluster", "mirror", "west", "east", "--topics", "orders.*", "--offset-lag-max", "1").json
    assert [one["connector.class"] for one in configs] == ["MirrorSource", "MirrorCheckpoint", "MirrorHeartbeat"]
    assert configs[0]["source.cluster.security.protocol"] == "ssl"
    assert configs[0]["replication.policy.class"] == "IdentityReplicationPolicy"
    assert (configs[0]["topics"], configs[0]["offset.lag.max"]) == ("orders.*", "1")
    assert caudal("cluster", "mirror", "west", "east", "-o", str(tmp_path / "out")).code == 0
    written = json.loads((tmp_path / "out" / "mirror-west-east-source.json").read_text())
    assert (written["name"], written["target.cluster.sasl.password"]) == ("mirror-west-east-source", "secret1")
    assert stat.S_IMODE((tmp_path / "out" / "mirror-west-east-source.json").stat().st_mode) == 0o600
    assert caudal("cluster", "mirror", "west", "west").code == 2
    outcome = caudal("cluster", "mirror", "west", "east", "--create")
    assert outcome.code == 1 and "has no Connect" in outcome.err


class FakeConnect(ThreadingHTTPServer):
    """The four endpoints that a promotion needs, and what was asked of them."""

    def __init__(self, connectors: dict[str, dict[str, Any]]) -> None:
        self.connectors = connectors
        self.stopped: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeConnect

    def do_GET(self) -> None:
        if self.path.startswith("/connectors?"):
            connectors = self.server.connectors
            self._answer(
                {name: {"info": {"config": one}, "status": self._status(name)} for name, one in connectors.items()}
            )
        else:
            self._answer(self._status(self.path.split("/")[2]))

    def _status(self, name: str) -> dict[str, Any]:
        return {"connector": {"state": "STOPPED" if name in self.server.stopped else "RUNNING"}, "tasks": []}

    def do_PUT(self) -> None:
        self.server.stopped.append(self.path.split("/")[2])
        self._answer(None)

    def _answer(self, body: Any) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(204 if body is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def test_promote_when_the_primary_is_lost(caudal: Caudal, east: EmbeddedBroker) -> None:
    east.create_topic("lost-orders")
    east.create_topic("lost.checkpoints.internal")
    target = Cluster({"target.cluster.bootstrap.servers": east.bootstrap}, "target")
    producer = target.producer()
    for group, downstream in (("readers", 3), ("readers", 7), ("others", 2)):
        checkpoint = Checkpoint(group, "lost-orders", 0, downstream, downstream)
        producer.produce("lost.checkpoints.internal", checkpoint.value(), checkpoint.key(), 0)
    producer.flush()
    target.commit("others", {TopicPartition("lost-orders", 0): (5, "")})  # has read on in the copy
    caudal("cluster", "profile", "add", "lost", "-b", NOWHERE)
    connect = FakeConnect(
        {
            "m-source": {"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector"},
            "m-checkpoint": {
                "connector.class": "MirrorCheckpoint", "source.cluster.alias": "lost", "target.cluster.alias": "copy",
                "source.cluster.bootstrap.servers": NOWHERE, "target.cluster.bootstrap.servers": east.bootstrap,
            },
            "another": {"connector.class": "FileStreamSink"},
        }
    )  # fmt: skip
    caudal("cluster", "profile", "add", "copy", "-b", east.bootstrap, "--connect", connect.url)
    outcome = caudal("cluster", "promote", "copy", "--json")
    connect.shutdown()
    assert outcome.code == 0, outcome.err
    assert connect.stopped == ["m-source", "m-checkpoint"]
    assert outcome.json["groups"] == {"others": 0, "readers": 1}
    assert any("does not answer" in note for note in outcome.json["notes"])
    assert target.committed("readers")[TopicPartition("lost-orders", 0)][0] == 7
    assert target.committed("others")[TopicPartition("lost-orders", 0)][0] == 5
    assert caudal("cluster", "profile", "list", "--json").json[0] == {
        **caudal("cluster", "profile", "show", "copy", "--json").json,
        "primary": True,
    }


def test_promote_asks_the_old_primary_while_it_answers(
    caudal: Caudal, broker: EmbeddedBroker, east: EmbeddedBroker
) -> None:
    source = Cluster({"source.cluster.bootstrap.servers": broker.bootstrap}, "source")
    target = Cluster({"target.cluster.bootstrap.servers": east.bootstrap}, "target")
    for side in (broker, east):
        side.create_topic("live-orders")
    broker.create_topic("mm2-offset-syncs.copy2.internal")
    sync = OffsetSync("live-orders", 0, 0, 0)
    producer = source.producer()
    producer.produce("mm2-offset-syncs.copy2.internal", sync.value(), sync.key(), 0)
    producer.flush()
    producer.produce("live-orders", b"0", b"k", 0)
    producer.flush()
    source.commit("live-readers", {TopicPartition("live-orders", 0): (1, "")})
    config = {
        "connector.class": "MirrorCheckpoint", "source.cluster.alias": "west2", "target.cluster.alias": "copy2",
        "source.cluster.bootstrap.servers": broker.bootstrap, "groups": "live-.*",
        "target.cluster.bootstrap.servers": "elsewhere:1", "replication.policy.class": "IdentityReplicationPolicy",
        "sasl.password": "${file:/x:y}",
    }  # fmt: skip
    connect = FakeConnect({"c": config})
    caudal("cluster", "profile", "add", "west2", "-b", broker.bootstrap)
    caudal("cluster", "profile", "add", "copy2", "-b", east.bootstrap, "--connect", connect.url)
    producer = source.producer()
    producer.produce("live-orders", b"0", b"k", 0)
    assert producer.flush() == 0
    refused = caudal("cluster", "promote", "copy2")
    assert refused.code == 1 and connect.stopped == []
    assert "'west2' still answers, and 1 record is (live-orders-0: 1) not in the copy yet" in refused.err
    assert not caudal("cluster", "profile", "show", "copy2", "--json").json["primary"]
    outcome = caudal("cluster", "promote", "copy2", "--force")
    again = caudal("cluster", "promote", "copy2", "--json")
    connect.shutdown()
    assert outcome.code == 0, outcome.err
    assert "translated as of now" in outcome.out and "'copy2' is the primary now (it was 'west2')" in outcome.out
    assert "note: of 'west2' 1 record is (live-orders-0: 1) not in the copy" in outcome.out
    assert again.code == 0 and "is the primary already" in again.json["notes"][0]
    assert target.committed("live-readers")[TopicPartition("live-orders", 0)][0] == 1


def test_promote_says_what_is_left_to_do(caudal: Caudal, east: EmbeddedBroker) -> None:
    caudal("cluster", "profile", "add", "west", "-b", NOWHERE)
    caudal("cluster", "profile", "add", "copy", "-b", east.bootstrap, "--connect", "http://127.0.0.1:1")
    outcome = caudal("cluster", "promote", "copy")
    assert outcome.code == 3
    assert "left to do: the mirrors could not be stopped: no worker of Connect" in outcome.err
    assert caudal("cluster", "profile", "show", "copy", "--json").json["primary"]


def test_what_is_no_copy_is_not_promoted(caudal: Caudal) -> None:
    with embedded_broker() as other:
        caudal("cluster", "profile", "add", "west", "-b", NOWHERE)
        caudal("cluster", "profile", "add", "other", "-b", other.bootstrap)
        outcome = caudal("cluster", "promote", "other")
        assert outcome.code == 1 and "'other' is no copy" in outcome.err
        assert "caudal cluster profile use other" in outcome.err
        assert "there is no cluster 'nosuch'" in caudal("cluster", "promote", "nosuch").err
        assert caudal("cluster", "promote", "other", "--force").code == 3, "it has no --connect: mirrors may run"
        assert caudal("cluster", "profile", "show", "other", "--json").json["primary"]


def test_a_copy_that_does_not_answer_is_not_promoted(caudal: Caudal) -> None:
    caudal("cluster", "profile", "add", "west", "-b", "127.0.0.1:2")
    caudal("cluster", "profile", "add", "copy", "-b", NOWHERE)
    outcome = caudal("cluster", "promote", "copy")
    assert outcome.code == 1 and "no broker" in outcome.err
    assert not caudal("cluster", "profile", "show", "copy", "--json").json["primary"]
