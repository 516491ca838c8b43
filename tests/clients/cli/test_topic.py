"""`caudal topic`: create, list, describe, alter, delete on a running broker."""

from __future__ import annotations

import uuid

import pytest

from .conftest import Caudal


@pytest.fixture
def name() -> str:
    return f"t-{uuid.uuid4().hex[:8]}"


def test_a_topic_from_its_creation_to_its_end(on_broker: Caudal, name: str) -> None:
    assert on_broker("topic", "create", name, "-p", "3", "-c", "retention.ms=60000").out == f"created topic {name}\n"
    row = next(row for row in on_broker("topic", "list", "--json").json if row["topic"] == name)
    assert row == {"topic": name, "partitions": 3, "replication_factor": 1}
    document = on_broker("topic", "describe", name, "--json").json
    assert document["configs"] == {"retention.ms": "60000"}
    assert [partition["partition"] for partition in document["partitions"]] == [0, 1, 2]
    assert (document["partitions"][0]["earliest"], document["partitions"][0]["latest"]) == (0, 0)
    changed = on_broker("topic", "alter", name, "-p", "5", "--unset", "retention.ms", "-c", "cleanup.policy=compact")
    assert changed.code == 0, changed.err
    document = on_broker("topic", "describe", name, "--json").json
    assert document["configs"] == {"cleanup.policy": "compact"}
    assert len(document["partitions"]) == 5
    assert on_broker("topic", "delete", name).out == f"deleted topic {name}\n"
    assert all(row["topic"] != name for row in on_broker("topic", "list", "--json").json)


def test_people_get_tables(on_broker: Caudal, name: str) -> None:
    on_broker("topic", "create", name)
    lines = on_broker("topic", "list").lines
    assert lines[0].split() == ["TOPIC", "PARTITIONS", "REPLICAS"]
    assert any(line.split() == [name, "1", "1"] for line in lines)
    described = on_broker("topic", "describe", name).lines
    assert described[0].startswith(f"{name}  id ")
    assert described[1].split() == ["PARTITION", "LEADER", "REPLICAS", "ISR", "EARLIEST", "LATEST"]


def test_all_properties_are_shown_on_request(on_broker: Caudal, name: str) -> None:
    on_broker("topic", "create", name)
    configs = on_broker("topic", "describe", name, "--json", "--all-configs").json["configs"]
    assert configs["max.message.bytes"] == "1048588"


def test_existing_and_missing_topics(on_broker: Caudal, name: str) -> None:
    on_broker("topic", "create", name)
    again = on_broker("topic", "create", name)
    assert (again.code, again.err) == (1, f"caudal: topic '{name}' was not created: the topic exists already\n")
    assert on_broker("topic", "create", name, "--if-not-exists").code == 0
    missing = on_broker("topic", "describe", "no-such-topic")
    assert missing.code == 4
    assert "no-such-topic" in missing.err
    assert on_broker("topic", "delete", "no-such-topic").code == 4
    assert on_broker("topic", "alter", "no-such-topic", "-p", "3").code == 4
    assert on_broker("topic", "delete", "no-such-topic", "--if-exists").code == 0


@pytest.mark.parametrize(
    "arguments",
    [["bad name!"], ["ok", "-c", "no.such.property=1"], ["ok", "-c", "retention.ms=soon"], ["ok", "-r", "3"]],
)
def test_what_the_broker_refuses_is_one_line(on_broker: Caudal, arguments: list[str]) -> None:
    outcome = on_broker("topic", "create", *arguments)
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "was not created" in outcome.err


def test_one_failure_of_several_does_not_hide_the_success(on_broker: Caudal, name: str) -> None:
    outcome = on_broker("topic", "create", name, "bad name!")
    assert outcome.code == 1
    assert f"created topic {name}" in outcome.out
    assert "bad name!" in outcome.err


@pytest.mark.parametrize("command", [["describe"], ["delete"], ["alter", "-p", "2"]])
def test_a_mistyped_name_is_told_what_was_meant(on_broker: Caudal, name: str, command: list[str]) -> None:
    on_broker("topic", "create", name)
    outcome = on_broker("topic", *command, f"{name}x")
    assert outcome.code == 4
    # The nearest comes first; a topic of another test may resemble it too.
    assert outcome.err.startswith(f"caudal: there is no topic '{name}x'; did you mean {name}")


def test_fewer_partitions_are_refused(on_broker: Caudal, name: str) -> None:
    on_broker("topic", "create", name, "-p", "3")
    assert on_broker("topic", "alter", name, "-p", "2").code == 1
