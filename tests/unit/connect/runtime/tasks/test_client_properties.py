"""Java's names of client properties become librdkafka's."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from caudal.connect import ConfigError
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.runtime.tasks import client_properties
from caudal.connect.runtime.tasks.client_properties import make_consumer, make_producer, overrides

JAVA = "org.apache.kafka.clients.consumer."
SETTINGS = WorkerSettings(bootstrap="127.0.0.1:1", url="http://127.0.0.1:1", allowed_folders=(Path("/"),))


def test_examples() -> None:
    assert doctest.testmod(client_properties).failed == 0


def test_only_the_properties_of_the_role_are_taken() -> None:
    given = {"consumer.override.fetch.max.wait.ms": "7", "producer.override.acks": "1", "name": "x"}
    assert overrides("consumer", given) == {"fetch.wait.max.ms": "7"}
    assert overrides("producer", given) == {"acks": "1"}


def test_java_class_names_and_properties_without_meaning() -> None:
    given = {
        "consumer.override.partition.assignment.strategy": f"{JAVA}RoundRobinAssignor, range",
        "consumer.override.key.deserializer": "x",
        "consumer.override.max.poll.records": "5",
    }
    assert overrides("consumer", given) == {"partition.assignment.strategy": "roundrobin,range"}


def test_clients_can_be_made_of_them() -> None:
    make_producer(SETTINGS, {"producer.override.delivery.timeout.ms": "1000", "producer.override.acks": "1"})
    make_producer(SETTINGS, {"producer.override.max.request.size": "2000000"})
    make_consumer(SETTINGS, {"consumer.override.max.poll.records": "10"}, **{"group.id": "g"}).close()


def test_an_unknown_property_is_named() -> None:
    with pytest.raises(ConfigError, match=r"no\.such.*producer\.override"):
        make_producer(SETTINGS, {"producer.override.no.such": "1"})
