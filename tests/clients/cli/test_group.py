"""`caudal group`: list, describe, reset with preview, delete."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from caudal.testing import EmbeddedBroker

from .conftest import Caudal


@pytest.fixture
def topic(on_broker: Caudal, broker: EmbeddedBroker) -> str:
    name = f"t-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name)
    assert on_broker("produce", name, input=b"0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n").code == 0
    return name


@pytest.fixture
def group(on_broker: Caudal, topic: str) -> str:
    """A group that has read six of ten records."""
    name = f"g-{topic}"
    assert on_broker("consume", topic, "-G", name, "-c", "6").code == 0
    return name


@pytest.fixture
def active(broker: EmbeddedBroker, topic: str, group: str) -> Iterator[str]:
    """The same group with a member."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": group, "client.id": "worker", "log_level": 0}
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + 20
    while not consumer.assignment() and time.monotonic() < deadline:
        consumer.poll(0.1)
    assert consumer.assignment()
    yield group
    consumer.close()


def committed(caudal: Caudal, group: str) -> int:
    return int(caudal("group", "describe", group, "--json").json["offsets"][0]["committed"])


def test_a_group_is_listed_and_described_with_its_lag(on_broker: Caudal, topic: str, group: str) -> None:
    assert {"group": group, "state": "empty", "type": "classic"} in on_broker("group", "list", "--json").json
    document = on_broker("group", "describe", group, "--json").json
    assert (document["state"], document["lag"], document["members"]) == ("empty", 4, [])
    row = document["offsets"][0]
    assert (row["topic"], row["partition"], row["committed"], row["end"], row["lag"]) == (topic, 0, 6, 10, 4)
    assert any(line.split()[0] == group for line in on_broker("group", "list").lines)


def test_members_are_shown_with_their_partitions(on_broker: Caudal, topic: str, active: str) -> None:
    document = on_broker("group", "describe", active, "--json").json
    assert document["state"] == "stable"
    assert document["members"][0]["client_id"] == "worker"
    assert document["members"][0]["partitions"] == [f"{topic}-0"]
    assert document["offsets"][0]["client_id"] == "worker"
    assert "worker" in on_broker("group", "describe", active).out


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        (["--to-earliest"], 0),
        (["--to-latest"], 10),
        (["--to-offset", "3"], 3),
        (["--to-offset", "99"], 10),
        (["--shift-by", "-2"], 4),
        (["--shift-by", "3"], 9),
        (["--shift-by", "-99"], 0),
        (["--to-time", "0"], 0),
        (["--to-time", "now"], 10),
    ],
)
def test_a_reset_is_shown_first_and_done_on_request(
    on_broker: Caudal, group: str, to: list[str], expected: int
) -> None:
    preview = on_broker("group", "reset", group, *to, "--json").json
    assert preview["executed"] is False
    assert (preview["offsets"][0]["committed"], preview["offsets"][0]["new"]) == (6, expected)
    assert committed(on_broker, group) == 6
    assert on_broker("group", "reset", group, *to, "--execute").code == 0
    assert committed(on_broker, group) == expected


def test_a_new_group_can_be_placed_on_a_topic(on_broker: Caudal, topic: str) -> None:
    group = f"new-{topic}"
    assert "--topic" in on_broker("group", "reset", group, "--to-latest").err
    done = on_broker("group", "reset", group, "--topic", f"{topic}:0", "--to-offset", "8", "--execute")
    assert done.code == 0, done.err
    assert on_broker("consume", topic, "-G", group, "-e").lines == ["8", "9"]


def test_the_preview_says_that_nothing_was_changed(on_broker: Caudal, group: str) -> None:
    assert "--execute" in on_broker("group", "reset", group, "--to-earliest").err


def test_an_active_group_is_not_touched(on_broker: Caudal, active: str) -> None:
    refused = on_broker("group", "reset", active, "--to-earliest", "--execute")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "active members" in refused.err
    refused = on_broker("group", "delete", active)
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "active members" in refused.err


def test_a_deleted_group_is_gone(on_broker: Caudal, group: str) -> None:
    assert on_broker("group", "delete", group).out == f"deleted group {group}\n"
    assert on_broker("group", "describe", group).code == 4
    assert on_broker("group", "delete", group).code == 4


def test_unknown_places_are_refused(on_broker: Caudal, group: str, topic: str) -> None:
    assert "no topic 'nope'" in on_broker("group", "reset", group, "-t", "nope", "--to-earliest").err
    assert f"; did you mean {group}" in on_broker("group", "describe", group.upper()).err
    assert "no partition 5" in on_broker("group", "reset", group, "-t", f"{topic}:5", "--to-earliest").err
