"""Mirrors in trouble: a source that is away, a topic that is deleted, a record that the target refuses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from caudal.connect.connectors.mirror.checkpoint import MirrorCheckpoint
from caudal.connect.connectors.mirror.cluster import Cluster
from caudal.connect.connectors.mirror.source import MirrorSource
from caudal.connect.records import TopicPartition
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.connect.small_worker import PATIENCE, SmallWorker, until
from tests.connect.test_mirror import IDENTITY, create, everything, properties, write

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def west() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def east() -> Iterator[str]:
    with embedded_broker() as broker:
        yield broker.bootstrap


def test_a_source_that_is_away_for_a_while_is_waited_for(west: EmbeddedBroker, east: str) -> None:
    create(west.bootstrap, "away")
    write(west.bootstrap, "away", range(10))
    config = properties(
        west.bootstrap, east, "away", **IDENTITY, groups="away-.*", refresh_groups_interval_seconds=0.5,
        emit_checkpoints_interval_seconds=0.2, sync_group_offsets_enabled=True, sync_group_offsets_interval_seconds=0.2,
        **{"offset-syncs.topic.location": "target"},
    )  # fmt: skip
    source, target = Cluster(config, "source"), Cluster(config, "target")
    place = TopicPartition("away", 0)
    source.commit("away-group", {place: (4, "of west")})
    with SmallWorker(MirrorSource, east, config), SmallWorker(MirrorCheckpoint, east, config):
        until(lambda: target.committed("away-group") == {place: (4, "of west")}, "the group's move")
        west.stop()
        west.start()
        write(west.bootstrap, "away", range(10, 20))
        Cluster(config, "source").commit("away-group", {place: (17, "")})  # the old one may wait before it tries again
        until(lambda: len(everything(east, "away")) >= 20, "the records after it")
        until(lambda: target.committed("away-group") == {place: (17, "")}, "the group's second move")
    assert [int(message.key() or b"") for message in everything(east, "away")] == list(range(20))


def test_a_group_on_an_empty_partition_misses_nothing(west: EmbeddedBroker, east: str) -> None:
    """Without an offset there it would begin at the end (auto.offset.reset=latest), whatever was written meanwhile."""
    create(west.bootstrap, "empty")
    config = properties(
        west.bootstrap, east, "empty", **IDENTITY, groups="empty-.*", emit_checkpoints_interval_seconds=0.2,
        sync_group_offsets_enabled=True, sync_group_offsets_interval_seconds=0.2,
    )  # fmt: skip
    place = TopicPartition("empty", 0)
    Cluster(config, "source").commit("empty-group", {place: (0, "")})
    with SmallWorker(MirrorSource, east, config), SmallWorker(MirrorCheckpoint, east, config):
        until(lambda: Cluster(config, "target").committed("empty-group") == {place: (0, "")})


def test_a_topic_that_is_deleted_stays_in_the_copy_and_hinders_no_other(west: EmbeddedBroker, east: str) -> None:
    for topic in ("deleted-a", "deleted-b"):
        create(west.bootstrap, topic)
        write(west.bootstrap, topic, range(10))
    admin = AdminClient({"bootstrap.servers": west.bootstrap})
    with SmallWorker(MirrorSource, east, properties(west.bootstrap, east, "deleted-.*", **IDENTITY)) as worker:
        until(lambda: {"deleted-a", "deleted-b"} <= set(Cluster(worker.config, "target").topics()))
        until(lambda: [len(everything(east, topic)) for topic in ("deleted-a", "deleted-b")] == [10, 10])
        admin.delete_topics(["deleted-a"])["deleted-a"].result(PATIENCE)
        until(lambda: worker.reconfigured == 1, "the connector's notice")
        write(west.bootstrap, "deleted-b", range(10, 15))
        until(lambda: len(everything(east, "deleted-b")) == 15)
        assert len(everything(east, "deleted-a")) == 10
        create(west.bootstrap, "deleted-a")
        write(west.bootstrap, "deleted-a", range(100, 103))
        until(lambda: len(everything(east, "deleted-a")) == 13, "the topic that was made anew")


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_a_record_that_is_too_large_for_the_target(west: EmbeddedBroker, east: str, tolerance: str) -> None:
    topic = f"large-{tolerance}"
    create(west.bootstrap, topic)
    create(east, topic, max_message_bytes="2000")
    producer = Producer({"bootstrap.servers": west.bootstrap})
    for size in (10, 5000, 20):
        producer.produce(topic, b"x" * size, b"%d" % size, 0)
        assert producer.flush(PATIENCE) == 0  # so that each is a batch of its own
    config = properties(
        west.bootstrap, east, topic, **IDENTITY, **{"sync.topic.configs.enabled": False, "errors.tolerance": tolerance}
    )
    worker = SmallWorker(MirrorSource, east, {**config, "max.poll.records": 1})
    worker.start()
    try:
        if tolerance == "all":

            def goes_on() -> bool:
                producer.produce(topic, b"y", b"30", 0)
                producer.flush(PATIENCE)
                return b"30" in [message.key() for message in everything(east, topic)]

            until(goes_on, "a record after it")
            assert b"5000" not in [message.key() for message in everything(east, topic)]
            assert not worker.heard.traces
        else:
            until(lambda: worker.heard.traces, "the task's failure")
            assert topic in worker.heard.traces[0] and "too large" in worker.heard.traces[0].lower()
    finally:
        worker.stop()
