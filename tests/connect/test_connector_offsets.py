"""Offsets over the herder, with tasks that really run: seen, changed when the connector is stopped, believed then."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from caudal.connect.runtime.connector_offsets import ConnectorOffsets
from caudal.connect.runtime.distributed import DistributedHerder
from caudal.connect.runtime.model import RestError, TargetState
from caudal.testing import EmbeddedBroker
from tests.connect.herder_harness import Cluster, read_topic, wait_for

MANAGED = "The Connect framework-managed offsets for this connector have been {0} successfully. However, if this "
MANAGED += (
    "connector manages offsets externally, they will need to be manually {0} in the system that the connector uses."
)


@pytest.fixture
def cluster(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    workers = Cluster(broker.bootstrap, monkeypatch, fake=False)
    workers.start()
    yield workers
    workers.stop_all()


def aim(cluster: Cluster, name: str, target: TargetState) -> None:
    cluster.ask(lambda herder: herder.set_target(name, target))


def patiently(call: Callable[[], str]) -> str:
    """A sink's group may have its last member for a moment yet."""

    def answer() -> str | None:
        try:
            return call()
        except RestError as error:
            if error.status != 500 or "try again" not in error.message:
                raise
            return None

    return str(wait_for(answer))


def test_a_source_goes_on_where_it_is_told(cluster: Cluster, broker: EmbeddedBroker) -> None:
    topic = f"{cluster.name}-numbers"
    cluster.create("n", 1, topic=topic, count="50", exactly_once_support="required")
    wait_for(lambda: len(cluster.ask(lambda herder: herder.offsets("n"))["offsets"]) == 1)
    expected = {"offsets": [{"partition": {"part": 0}, "offset": {"next": 50}}]}
    wait_for(lambda: cluster.ask(lambda herder: herder.offsets("n")) == expected)
    with pytest.raises(RestError) as refused:
        cluster.ask(lambda herder: herder.reset_offsets("n"))
    assert refused.value.status == 400
    assert refused.value.message.startswith(
        "Connectors must be in the STOPPED state before their offsets can be modified."
    )
    assert refused.value.message.endswith("issuing a 'PUT' request to the '/connectors/n/stop' endpoint")

    aim(cluster, "n", TargetState.STOPPED)
    body = {"offsets": [{"partition": {"part": 0}, "offset": {"next": 40}}]}
    assert cluster.ask(lambda herder: herder.alter_offsets("n", body)) == MANAGED.format("altered")
    aim(cluster, "n", TargetState.STARTED)
    wait_for(lambda: len(read_topic(broker.bootstrap, topic)) == 60, "ten of them again")

    aim(cluster, "n", TargetState.STOPPED)
    assert cluster.ask(lambda herder: herder.reset_offsets("n")) == MANAGED.format("reset")
    assert cluster.ask(lambda herder: herder.offsets("n")) == {"offsets": []}
    aim(cluster, "n", TargetState.STARTED)
    wait_for(lambda: len(read_topic(broker.bootstrap, topic)) == 110, "all of them again")
    assert cluster.ask(lambda herder: herder.topics("n")) == [topic]
    records = cluster.records(cluster.settings.config_topic)
    assert records["tasks-fencing-n"] == b'{"tasks":1}', "the leader has fenced before each generation"


def test_a_sink_goes_on_where_it_is_told(cluster: Cluster, broker: EmbeddedBroker, tmp_path: Path) -> None:
    topic, file = f"{cluster.name}-lines", tmp_path / "ledger.db"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.create_topics([NewTopic(topic, 1)]).values():
        future.result(30)
    cluster.create("n", 1, topic=topic, count="30")
    config = {"connector.class": "Ledger", "tasks.max": "1", "topics": topic, "file": str(file)}
    cluster.ask(lambda herder: herder.create("s", config, None))
    place = {"kafka_topic": topic, "kafka_partition": 0}

    def is_at(offset: int) -> Callable[[], bool]:
        found = {"offsets": [{"partition": place, "offset": {"kafka_offset": offset}}]}
        return lambda: cluster.ask(lambda herder: herder.offsets("s")) == found

    wait_for(is_at(30))
    aim(cluster, "s", TargetState.STOPPED)

    def ask(call: Callable[[DistributedHerder], str]) -> str:
        return patiently(lambda: cluster.ask(call))

    body = {"offsets": [{"partition": place, "offset": {"kafka_offset": 20}}]}
    assert ask(lambda herder: herder.alter_offsets("s", body)) == MANAGED.format("altered")
    assert is_at(20)()
    with sqlite3.connect(file) as database:
        database.execute("DELETE FROM ledger")
    aim(cluster, "s", TargetState.STARTED)
    wait_for(lambda: rows(file) == 10)
    wait_for(is_at(30))
    aim(cluster, "s", TargetState.STOPPED)
    forget = {"offsets": [{"partition": {**place, "kafka_partition": "0"}, "offset": None}]}
    assert ask(lambda herder: herder.alter_offsets("s", forget)) == MANAGED.format("altered")
    assert cluster.ask(lambda herder: herder.offsets("s")) == {"offsets": []}
    assert ask(lambda herder: herder.alter_offsets("s", body)) == MANAGED.format("altered")
    assert ask(lambda herder: herder.reset_offsets("s")) == MANAGED.format("reset")
    assert ask(lambda herder: herder.reset_offsets("s")) == MANAGED.format("reset"), "there is no group any more"
    aim(cluster, "s", TargetState.STARTED)
    wait_for(lambda: rows(file) == 30)


def rows(file: Path) -> int:
    with sqlite3.connect(file, timeout=60) as database:
        return int(database.execute("SELECT COUNT(*) FROM ledger").fetchone()[0])


def test_wrong_offsets_are_refused(cluster: Cluster, tmp_path: Path) -> None:
    config = {"connector.class": "Ledger", "topics": "t", "file": str(tmp_path / "l.db")}
    cluster.ask(lambda herder: herder.create("s", config, TargetState.STOPPED))
    place: dict[str, Any] = {"kafka_topic": "t", "kafka_partition": 0}
    for body, words in (
        ({}, "Partitions / offsets need to be provided for an alter offsets request"),
        ({"offsets": []}, "Partitions / offsets need to be provided for an alter offsets request"),
        (
            {"offsets": [{"offset": None}]},
            "Each entry needs a 'partition', an object, and an 'offset', an object or null.",
        ),
        (
            {"offsets": [{"partition": {"kafka_topic": "t"}}]},
            "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'",
        ),
        (
            {"offsets": [{"partition": place, "offset": {"offset": 3}}]},
            "The offset for a sink connector should either be null or contain the key 'kafka_offset'",
        ),
        (
            {"offsets": [{"partition": place, "offset": {"kafka_offset": -3}}]},
            "'kafka_offset' must be a whole number that is not negative, not -3.",
        ),
    ):
        with pytest.raises(RestError) as refused:
            cluster.ask(lambda herder, body=body: herder.alter_offsets("s", body))  # type: ignore[misc]
        assert (refused.value.status, refused.value.message) == (400, words)


def test_a_connector_does_not_begin_while_its_offsets_are_changed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.create("n", 1, topic=f"{cluster.name}-numbers", count="50")
    wait_for(lambda: len(cluster.ask(lambda herder: herder.offsets("n"))["offsets"]) == 1)
    aim(cluster, "n", TargetState.STOPPED)
    begun, go_on = threading.Event(), threading.Event()
    reset = ConnectorOffsets.reset

    def slowly(offsets: ConnectorOffsets) -> str:
        begun.set()
        assert go_on.wait(60)
        return reset(offsets)

    monkeypatch.setattr(ConnectorOffsets, "reset", slowly)
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(cluster.ask(lambda herder: herder.reset_offsets("n"))))
    thread.start()
    assert begun.wait(60)
    changes: list[Callable[[DistributedHerder], Any]] = [
        lambda herder: herder.set_target("n", TargetState.STARTED),
        lambda herder: herder.delete("n"),
        lambda herder: herder.reset_offsets("n"),
    ]
    for change in changes:
        with pytest.raises(RestError, match="offsets of connector n are being changed") as refused:
            cluster.ask(change)
        assert refused.value.status == 409
    go_on.set()
    thread.join(60)
    assert answers == [MANAGED.format("reset")]
    aim(cluster, "n", TargetState.STARTED)
