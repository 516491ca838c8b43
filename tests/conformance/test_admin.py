"""Administration: topics, partitions and configs made, changed, refused and removed, as each client's admin sees it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .clients import Client, Outgoing, Refused, eventually

UNKNOWN_TOPIC, INVALID_TOPIC, TOPIC_EXISTS, INVALID_PARTITIONS, INVALID_CONFIG = 3, 17, 36, 37, 40


def test_a_topic_lives_from_create_to_delete(client: Client, unique: Callable[[str], str]) -> None:
    name = unique("life")
    with client.admin() as admin:
        admin.create_topic(name, partitions=3, configs={"retention.ms": "3600000"})
        assert eventually(lambda: admin.topics().get(name) == 3)
        assert admin.topic_configs(name)["retention.ms"] == "3600000"
        admin.delete_topic(name)
        assert eventually(lambda: name not in admin.topics())


def test_a_deleted_topic_can_be_made_again_and_is_empty(client: Client, unique: Callable[[str], str]) -> None:
    name = unique("again")
    with client.admin() as admin:
        admin.create_topic(name)
        with client.producer() as producer:
            producer.send([Outgoing(name, b"old")])
        admin.delete_topic(name)
        assert eventually(lambda: name not in admin.topics())
        admin.create_topic(name)
    with client.producer() as producer, client.consumer() as consumer:
        assert producer.send([Outgoing(name, b"new")]) == [(0, 0)]
        consumer.assign([(name, 0)])
        assert [message.value for message in consumer.take(1)] == [b"new"]


def test_a_second_topic_of_the_same_name_is_refused(client: Client, topic: str) -> None:
    with client.admin() as admin, pytest.raises(Refused) as refusal:
        admin.create_topic(topic)
    assert refusal.value.code == TOPIC_EXISTS


@pytest.mark.parametrize("name", ["bad name", "..", "x" * 250, "no/slash"])
def test_an_invalid_name_is_refused(client: Client, name: str) -> None:
    with client.admin() as admin, pytest.raises(Refused) as refusal:
        admin.create_topic(name)
    assert refusal.value.code == INVALID_TOPIC


def test_a_topic_with_an_invalid_config_is_refused(client: Client, unique: Callable[[str], str]) -> None:
    with client.admin() as admin:
        for config in ({"retention.ms": "soon"}, {"cleanup.policy": "shred"}, {"no.such.config": "1"}):
            with pytest.raises(Refused) as refusal:
                admin.create_topic(unique("refused"), configs=config)
            assert refusal.value.code == INVALID_CONFIG


def test_partitions_grow_and_never_shrink(client: Client, topic: str) -> None:
    with client.admin() as admin:
        admin.add_partitions(topic, 4)
        assert eventually(lambda: admin.topics()[topic] == 4)
        for total in (4, 2):
            with pytest.raises(Refused) as refusal:
                admin.add_partitions(topic, total)
            assert refusal.value.code == INVALID_PARTITIONS
    with client.producer() as producer:
        assert producer.send([Outgoing(topic, b"x", partition=3)]) == [(3, 0)]


def test_configs_have_kafkas_defaults_and_can_be_changed(client: Client, topic: str) -> None:
    with client.admin() as admin:
        configs = admin.topic_configs(topic)
        assert configs["cleanup.policy"] == "delete"
        assert configs["retention.ms"] == "604800000"
        assert configs["segment.bytes"] == "1073741824"
        assert configs["max.message.bytes"] == "1048588"
        assert configs["compression.type"] == "producer"
        admin.set_topic_config(topic, "retention.ms", "1000000")
        assert eventually(lambda: admin.topic_configs(topic)["retention.ms"] == "1000000")
        with pytest.raises(Refused) as refusal:
            admin.set_topic_config(topic, "retention.ms", "soon")
        assert refusal.value.code == INVALID_CONFIG
        assert admin.topic_configs(topic)["retention.ms"] == "1000000"


def test_what_does_not_exist_cannot_be_deleted_or_grown(client: Client, unique: Callable[[str], str]) -> None:
    with client.admin() as admin:
        attempts: list[Callable[[], None]] = [
            lambda: admin.delete_topic(unique("none")),
            lambda: admin.add_partitions(unique("none"), 2),
        ]
        for attempt in attempts:
            with pytest.raises(Refused) as refusal:
                attempt()
            assert refusal.value.code == UNKNOWN_TOPIC
