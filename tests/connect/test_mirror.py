"""Mirrors between two clusters: records byte for byte, topics and settings, group offsets; Caudal and Apache Kafka."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from caudal import jars
from caudal.connect.connectors.mirror.checkpoint import MirrorCheckpoint
from caudal.connect.connectors.mirror.cluster import Cluster
from caudal.connect.connectors.mirror.formats import Checkpoint, Heartbeat, OffsetSync
from caudal.connect.connectors.mirror.heartbeat import MirrorHeartbeat
from caudal.connect.connectors.mirror.sink import MirrorSink
from caudal.connect.connectors.mirror.source import MirrorSource
from caudal.testing import embedded_broker
from tests.connect.small_worker import PATIENCE, SmallWorker, until

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def west() -> Iterator[str]:
    with embedded_broker(log_cleaner_backoff_ms=200) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def east() -> Iterator[str]:
    with embedded_broker() as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def apache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from caudal.bench.servers import ApacheKafkaServer

    folder: Path = tmp_path_factory.mktemp("kafka")
    server = ApacheKafkaServer(folder, jars.fetch("kafka-server"))
    server.start()
    yield server.bootstrap
    server.remove()


_number = iter(range(1000))


@pytest.fixture
def topic() -> str:
    return f"orders{next(_number)}"


def properties(source: str, target: str, topic: str, **more: Any) -> dict[str, Any]:
    return {
        "source.cluster.alias": "west",
        "target.cluster.alias": "east",
        "source.cluster.bootstrap.servers": source,
        "target.cluster.bootstrap.servers": target,
        "topics": topic,
        "consumer.poll.timeout.ms": 50,
        "refresh.topics.interval.seconds": 0.3,
        "sync.topic.configs.interval.seconds": 0.3,
        "heartbeats.replication.enabled": False,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


IDENTITY = {"replication.policy.class": "IdentityReplicationPolicy"}


def create(bootstrap: str, name: str, partitions: int = 1, **config: str) -> None:
    settings = {key.replace("_", "."): value for key, value in config.items()}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(30)


def write(bootstrap: str, topic: str, keys: range, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for key in keys:
        producer.produce(topic, b"v%d" % key, b"%d" % key, partition)
    assert producer.flush(PATIENCE) == 0


def read(
    bootstrap: str, topic: str, count: int, group: str = "readers-of-tests", commit: bool = False
) -> list[Message]:
    """`count` records, by a consumer that goes on where its group is; without the seconds of joining it."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    (place,) = consumer.committed([TopicPartition(topic, 0)], timeout=PATIENCE)
    place.offset = max(place.offset, 0)
    consumer.assign([place])
    found: list[Message] = []
    try:
        until(lambda: _more(consumer, found, count), f"{count} records of {topic}")
        if commit and found:
            ends = {message.partition(): message.offset() for message in found}
            consumer.commit(
                offsets=[TopicPartition(topic, int(at or 0), int(end or 0) + 1) for at, end in ends.items()],
                asynchronous=False,
            )
    finally:
        consumer.close()
    return found


def _more(consumer: Consumer, found: list[Message], count: int) -> bool:
    for message in consumer.consume(count - len(found), 0.2) if len(found) < count else ():
        assert message.error() is None, message.error()
        found.append(message)
    return len(found) >= count


def everything(bootstrap: str, topic: str, partition: int = 0) -> list[Message]:
    """All committed records up to the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "x",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    found: list[Message] = []
    while True:
        message = consumer.poll(30)
        assert message is not None
        if message.error() is not None:
            consumer.close()
            return found
        found.append(message)


def test_records_are_copied_byte_for_byte_to_the_same_partitions(west: str, east: str, topic: str) -> None:
    create(west, topic, 3)
    producer = Producer({"bootstrap.servers": west})
    for at in range(300):
        producer.produce(
            topic,
            None if at % 10 == 0 else bytes([at % 256, 0, 255]),
            None if at % 7 == 0 else b"k%d" % at,
            at % 3,
            timestamp=1_600_000_000_000 + at,
            headers=[("a", b"\xff%d" % at), ("a", None), ("b", b"")],
        )
    producer.flush()
    with SmallWorker(MirrorSource, east, properties(west, east, topic)):
        until(lambda: f"west.{topic}" in Cluster({"target.cluster.bootstrap.servers": east}, "target").topics())
        until(lambda: sum(len(everything(east, f"west.{topic}", at)) for at in range(3)) == 300)
    for partition in range(3):
        copies = everything(east, f"west.{topic}", partition)
        originals = everything(west, topic, partition)
        for copy, original in zip(copies, originals, strict=True):
            for part in ("key", "value", "headers", "timestamp", "offset"):
                assert getattr(copy, part)() == getattr(original, part)()


def test_new_topics_and_partitions_are_found_and_settings_follow(west: str, east: str, topic: str) -> None:
    create(west, topic, 1, retention_ms="1234567", min_insync_replicas="1", message_timestamp_type="LogAppendTime")
    admin, target = (
        AdminClient({"bootstrap.servers": west}),
        Cluster({"target.cluster.bootstrap.servers": east}, "target"),
    )
    source = Cluster({"source.cluster.bootstrap.servers": west}, "source")
    with SmallWorker(MirrorSource, east, properties(west, east, f"{topic}.*", **IDENTITY)) as worker:
        assert target.settings([topic])[topic] == {"retention.ms": "1234567"}, "timestamp.type is not to be copied"
        create(west, f"{topic}-new", 2)
        until(lambda: target.topics().get(f"{topic}-new") == 2)
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
        until(lambda: target.topics()[topic] == 3)
        write(west, topic, range(5), partition=2)
        until(lambda: len(everything(east, topic, 2)) == 5)
        source.change_settings(topic, {"cleanup.policy": "compact"}, ["retention.ms"])
        until(lambda: target.settings([topic])[topic] == {"cleanup.policy": "compact"})
        assert worker.reconfigured == 2


def test_two_mirrors_in_opposite_directions_do_not_feed_each_other(west: str, east: str, topic: str) -> None:
    create(west, topic)
    create(east, topic)
    there = properties(west, east, f".*{topic}")
    back = {
        **properties(east, west, f".*{topic}"),
        "source.cluster.alias": "east",
        "target.cluster.alias": "west",
    }
    write(west, topic, range(10))
    write(east, topic, range(100, 120))
    with SmallWorker(MirrorSource, east, there), SmallWorker(MirrorSource, west, back):
        until(lambda: len(everything(east, f"west.{topic}")) == 10)
        until(lambda: len(everything(west, f"east.{topic}")) == 20)
        write(west, topic, range(10, 15))
        until(lambda: len(everything(east, f"west.{topic}")) == 15)
    names = [name for name in Cluster({"target.cluster.bootstrap.servers": east}, "target").topics() if topic in name]
    assert sorted(names) == sorted([topic, f"west.{topic}"])


def test_provenance_lets_both_write_one_topic(west: str, east: str, topic: str) -> None:
    create(west, topic)
    create(east, topic)
    more = {**IDENTITY, "provenance.header.enable": True}
    there = properties(west, east, topic, **more)
    back = {**properties(east, west, topic, **more), "source.cluster.alias": "east", "target.cluster.alias": "west"}
    write(west, topic, range(10))
    write(east, topic, range(100, 110))
    with SmallWorker(MirrorSource, east, there), SmallWorker(MirrorSource, west, back):
        for key in range(10, 20):
            write(west, topic, range(key, key + 1))
        for bootstrap in (west, east):
            until(lambda bootstrap=bootstrap: len(everything(bootstrap, topic)) >= 30)  # type: ignore[misc]
    for bootstrap in (west, east):
        keys = sorted(int(message.key() or b"") for message in everything(bootstrap, topic))
        assert keys == [*range(20), *range(100, 110)]


def test_it_goes_on_after_a_restart_and_offset_syncs_are_mirrormakers(west: str, east: str, topic: str) -> None:
    create(west, topic)
    worker = SmallWorker(MirrorSource, east, properties(west, east, topic, **{"target.cluster.alias": topic}))
    write(west, topic, range(50))
    with worker:
        until(lambda: len(everything(east, f"west.{topic}")) == 50)
    write(west, topic, range(50, 80))
    with worker:
        until(lambda: len(everything(east, f"west.{topic}")) >= 80)
    assert len(everything(east, f"west.{topic}")) == 80
    syncs = [
        OffsetSync.read(message.key() or b"", message.value() or b"")
        for message in everything(west, f"mm2-offset-syncs.{topic}.internal")
    ]
    assert syncs[0] == OffsetSync(topic, 0, 0, 0)
    assert syncs[-1] == OffsetSync(topic, 0, 79, 79)


def sink_group(config: Mapping[str, str]) -> str:
    return f"connect-{config['name']}"


def test_the_sink_copies_to_another_cluster(west: str, east: str, topic: str) -> None:
    create(west, topic, 2, retention_ms="7654321")
    write(west, topic, range(40), partition=1)
    with SmallWorker(MirrorSink, west, properties(west, east, topic)):
        until(lambda: f"west.{topic}" in Cluster({"target.cluster.bootstrap.servers": east}, "target").topics())
        until(lambda: len(everything(east, f"west.{topic}", 1)) == 40)
    copies, originals = everything(east, f"west.{topic}", 1), everything(west, topic, 1)
    assert [(one.key(), one.value(), one.timestamp()) for one in copies] == [
        (one.key(), one.value(), one.timestamp()) for one in originals
    ]
    target = Cluster({"target.cluster.bootstrap.servers": east}, "target")
    assert target.settings([f"west.{topic}"])[f"west.{topic}"] == {"retention.ms": "7654321"}


def test_the_sink_keeps_its_position_with_the_copies_where_exactly_once_is_asked(
    west: str, east: str, topic: str
) -> None:
    """The workers' own group is lost between two runs: what the target knows is enough."""
    create(west, topic)
    worker = SmallWorker(MirrorSink, west, properties(west, east, topic, **IDENTITY, exactly_once=True))
    write(west, topic, range(30))
    with worker:
        until(lambda: topic in Cluster(worker.config, "target").topics() and len(everything(east, topic)) == 30)
    admin = AdminClient({"bootstrap.servers": west})
    admin.delete_consumer_groups([sink_group(worker.config)])[sink_group(worker.config)].result(30)
    write(west, topic, range(30, 45))
    with worker:
        until(lambda: len(everything(east, topic)) >= 45)
    assert [int(message.key() or b"") for message in everything(east, topic)] == list(range(45))


def test_heartbeats(west: str, east: str) -> None:
    config = {**properties(west, east, "x"), "emit.heartbeats.interval.seconds": 0.1}
    del config["topics"]
    with SmallWorker(MirrorHeartbeat, east, config):
        beats = [Heartbeat.read(one.key() or b"", one.value() or b"") for one in read(east, "heartbeats", 3)]
    assert {(beat.source, beat.target) for beat in beats} == {("west", "east")}


def transactions_and_gaps(bootstrap: str, topic: str, compact: Callable[[], None]) -> None:
    """Committed and aborted transactions of several sizes, and keys that compaction will remove."""
    random.seed(8)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(PATIENCE)
    key = 0
    for _ in range(40):
        producer.begin_transaction()
        for _ in range(random.randint(1, 12)):
            producer.produce(topic, b"x" * 50, b"%d" % (key if random.random() < 0.7 else random.randint(0, 20)))
            key += 1
        producer.flush()
        producer.abort_transaction(PATIENCE) if random.random() < 0.3 else producer.commit_transaction(PATIENCE)
    compact()


@pytest.mark.parametrize(
    "exactly_once",
    [pytest.param(False, marks=pytest.mark.slow, id="at-least-once"), pytest.param(True, id="exactly-once")],
)
@pytest.mark.parametrize("source", ["west", pytest.param("apache", marks=pytest.mark.slow)])
def test_a_consumer_that_moves_goes_on_within_one_record(
    source: str, east: str, topic: str, exactly_once: bool, request: pytest.FixtureRequest
) -> None:
    """Groups stop at every place of a log with markers, aborted records and compacted ones. Each moves to the copy."""
    bootstrap: str = request.getfixturevalue(source)
    topic = f"{topic}-{source}-{exactly_once}"
    create(
        bootstrap, topic, cleanup_policy="compact", segment_ms="200",
        min_cleanable_dirty_ratio="0.01", max_compaction_lag_ms="1",
    )  # fmt: skip

    def compacted() -> None:
        """Something has been removed: offsets have holes that are no markers."""
        keys = [message.key() for message in everything(bootstrap, topic)]

        def is_done() -> bool:
            write(bootstrap, topic, range(10_000, 10_001))  # so that segments roll
            return len([m for m in everything(bootstrap, topic) if m.key() != b"10000"]) < len(keys)

        until(is_done, "compaction")
        # The rest of the test compares with this log: it must not go on changing.
        Cluster({"source.cluster.bootstrap.servers": bootstrap}, "source").change_settings(
            topic, {"cleanup.policy": "delete", "retention.ms": "-1"}, []
        )
        until(lambda: len({len(everything(bootstrap, topic)) for _ in range(20)}) == 1)

    transactions_and_gaps(bootstrap, topic, compacted)
    places = [message.offset() for message in everything(bootstrap, topic)]
    assert any(after - before > 2 for before, after in itertools.pairwise(places))
    total = len(places)
    stops = sorted({0, 1, total, *range(0, total, 9)})
    groups = {f"{topic}-{stop}": stop for stop in stops}
    for group, stop in groups.items():
        read(bootstrap, topic, stop, group, commit=True)
    config = properties(
        bootstrap, east, topic, **IDENTITY, groups=f"{topic}-.*", refresh_groups_interval_seconds=1,
        emit_checkpoints_interval_seconds=0.5, sync_group_offsets_enabled=True, sync_group_offsets_interval_seconds=0.5,
    )  # fmt: skip
    copy_policy = {**config, "sync.topic.configs.enabled": False}  # so that the copy keeps its offsets while we compare
    original = [(message.key(), message.value()) for message in everything(bootstrap, topic)]
    with SmallWorker(MirrorSource, east, copy_policy, exactly_once):
        until(lambda: topic in Cluster(config, "target").topics() and len(everything(east, topic)) >= total)
        with SmallWorker(MirrorCheckpoint, east, config):
            moved = {group: stop for group, stop in groups.items() if stop}
            until(lambda: _all_moved(config, topic, total, moved), "the groups' move")
    copied = [(message.key(), message.value()) for message in everything(east, topic)]
    assert copied[:total] == original[:total]
    for group, stop in moved.items():
        if stop < total:
            first = read(east, topic, 1, group)[0]
            assert (first.key(), first.value()) == original[stop], f"{group} is off"
    checkpoints = [
        Checkpoint.read(m.key() or b"", m.value() or b"") for m in everything(east, "west.checkpoints.internal")
    ]
    assert {one.group for one in checkpoints} >= set(moved)


def _all_moved(config: dict[str, Any], topic: str, total: int, groups: dict[str, int]) -> bool:
    """Whether each group has the offset of its record: exact as soon as the newest record has a sync."""
    target = Cluster(config, "target")
    offsets = [message.offset() for message in everything(config["target.cluster.bootstrap.servers"], topic)]
    for group, stop in groups.items():
        found = [offset for offset, _ in target.committed(group).values()]
        if not found or sum(1 for offset in offsets if offset is not None and offset < found[0]) != stop:
            return False
    return True


def test_a_group_with_members_on_the_copy_is_left_alone(west: str, east: str, topic: str) -> None:
    create(west, topic)
    write(west, topic, range(20))
    read(west, topic, 12, f"{topic}-g", commit=True)
    config = properties(
        west, east, topic, **IDENTITY, groups=f"{topic}-g", emit_checkpoints_interval_seconds=0.2,
        sync_group_offsets_enabled=True, sync_group_offsets_interval_seconds=0.2,
    )  # fmt: skip
    target = Cluster(config, "target")
    with SmallWorker(MirrorSource, east, config):
        until(lambda: len(everything(east, topic)) == 20)
        member = Consumer({"bootstrap.servers": east, "group.id": f"{topic}-g", "enable.auto.commit": False})
        member.subscribe([topic])
        until(lambda: member.poll(0.1) is None and member.assignment())
        with SmallWorker(MirrorCheckpoint, east, config):
            until(lambda: _checkpointed(east, f"{topic}-g") == 12)
            assert target.committed(f"{topic}-g") == {}
            member.close()
            until(lambda: [offset for offset, _ in target.committed(f"{topic}-g").values()] == [12])
            # A consumer that has read on there is not set back.
            read(east, topic, 5, f"{topic}-g", commit=True)
            read(west, topic, 1, f"{topic}-g", commit=True)
            until(lambda: _checkpointed(east, f"{topic}-g") == 13)
        assert [offset for offset, _ in target.committed(f"{topic}-g").values()] == [17]


def _checkpointed(bootstrap: str, group: str) -> int | None:
    found = None
    for message in everything(bootstrap, "west.checkpoints.internal"):
        checkpoint = Checkpoint.read(message.key() or b"", message.value() or b"")
        if checkpoint.group == group:
            found = checkpoint.downstream
    return found
