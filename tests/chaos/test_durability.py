"""Proves docs/durability.md: what survives a process kill and a power loss, for each acks and each flush setting.

A power loss is played by power.py: the broker runs in this process, its syncs are recorded, and a second broker starts
on what they had made durable. A crash of the operating system is the same to us: the memory is gone, the disk stays.
Cells that promise nothing are tested too: the loss is a cut at the end, never a hole or a broker that does not start.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.robustness.raw import Raw, batch_of
from tests.robustness.test_disk import commit_offset, values_in
from tests.robustness.transactions import RawTransactions

from .power import Image, PowerMeter, power_meter

RECORDS = 25
FLUSH_MS = 300
PATIENCE_SECONDS = 60.0  # longer is a hang, on the slowest disk
FLUSH: dict[str, dict[str, str]] = {
    "default": {},
    "flush.messages=1": {"flush.messages": "1"},
    f"flush.ms={FLUSH_MS}": {"flush.ms": str(FLUSH_MS)},
}
EVERY_MESSAGE = {"log.flush.interval.messages": "1"}  # of the broker: internal topics too


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def meter(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PowerMeter]:
    with power_meter(data, monkeypatch) as recorder:
        yield recorder


def write(client: Raw, topic: str, acks: int, count: int = RECORDS) -> list[bytes]:
    """Records one after the other; those that were acknowledged (with acks=0: taken in by the broker)."""
    values = [b"%d" % number for number in range(count)]
    for value in values:
        if acks == 0:
            client.send_produce(topic, batch_of(value), acks=0)
        else:
            assert client.produce(topic, batch_of(value), acks=acks).error_code == ErrorCode.none
    if acks == 0:  # requests of a connection are handled in order: when this is answered, those are written
        client.request(ApiKey.API_VERSIONS, 0, {})
    return values


def found_in(folder: Path, topic: str) -> list[bytes] | None:
    """What a broker that starts on the folder serves; None: it has no such topic. It must also take new records."""
    with embedded_broker(data=folder) as broker, Raw(broker.port) as client:
        if topic not in broker.broker.metadata.topics:
            return None
        found = values_in(client, topic)
        answer = client.produce(topic, batch_of(b"next"))
        assert (answer.error_code, answer.base_offset) == (ErrorCode.none, len(found))
        return found


@pytest.mark.parametrize("flush", FLUSH)
@pytest.mark.parametrize("acks", [0, 1, -1])
def test_process_kill(data: Path, acks: int, flush: str) -> None:
    """Everything the broker has taken in: it is with the operating system before the answer goes out."""
    with embedded_broker(data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t", FLUSH[flush]) == ErrorCode.none
        acknowledged = write(client, "t", acks)
        broker.kill()
    assert found_in(data, "t") == acknowledged


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_power_loss_by_default(data: Path, meter: PowerMeter, tmp_path: Path, acks: int) -> None:
    """The topic survives; of its records nothing is promised, and what is left is the beginning."""
    with embedded_broker(data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t") == ErrorCode.none
        acknowledged = write(client, "t", acks)
        image = meter.image()
        broker.kill()
    assert found_in(image.restore(tmp_path / "strict"), "t") == []
    for seed in range(5):
        found = found_in(image.restore(tmp_path / f"torn-{seed}", torn=random.Random(seed)), "t")
        assert found is not None and found == acknowledged[: len(found)]


@pytest.mark.parametrize("acks", [1, -1])
def test_power_loss_with_flush_messages_1(data: Path, meter: PowerMeter, tmp_path: Path, acks: int) -> None:
    """Every acknowledged record, at whatever moment the power goes, also across segments."""
    moments: list[tuple[list[bytes], Image]] = []
    with embedded_broker({"log.segment.bytes": str(1 << 20)}, data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t", {"flush.messages": "1"}) == ErrorCode.none
        acknowledged: list[bytes] = []
        for number in range(RECORDS):
            value = b"%d" % number
            answer = client.produce("t", batch_of(value + b"." * 100_000), acks=acks)
            assert answer.error_code == ErrorCode.none
            acknowledged.append(value)
            if number % 4 == 0 or number == RECORDS - 1:
                moments.append((list(acknowledged), meter.image()))
        assert len(broker.broker.logs.logs["t", 0].segments) > 2
        broker.kill()
    for number, (promised, image) in enumerate(moments):
        found = found_in(image.restore(tmp_path / f"image-{number}"), "t")
        assert found is not None and found[: len(promised)] == promised, f"acknowledged records lost at moment {number}"


def test_power_loss_with_flush_messages_1_and_acks_0(data: Path, meter: PowerMeter, tmp_path: Path) -> None:
    """Synced too, but no client waits for it: what the disk has not taken yet is lost."""
    with embedded_broker(data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t", {"flush.messages": "1"}) == ErrorCode.none
        taken = write(client, "t", 0)
        at_once = meter.image()
        wait_until_synced(broker, "t", len(taken))
        later = meter.image()
        broker.kill()
    found = found_in(at_once.restore(tmp_path / "at-once"), "t")
    assert found is not None and found == taken[: len(found)]
    assert found_in(later.restore(tmp_path / "later"), "t") == taken


def test_power_loss_with_flush_messages_10(data: Path, meter: PowerMeter, tmp_path: Path) -> None:
    """At most the last nine."""
    with embedded_broker(data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t", {"flush.messages": "10"}) == ErrorCode.none
        acknowledged = write(client, "t", -1)
        image = meter.image()
        broker.kill()
    found = found_in(image.restore(tmp_path / "image"), "t")
    assert found is not None and found == acknowledged[: len(found)]
    assert len(acknowledged) - 9 <= len(found) < len(acknowledged)


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_power_loss_with_flush_ms(data: Path, meter: PowerMeter, tmp_path: Path, acks: int) -> None:
    """What is older than flush.ms and the interval of the look-out for it (log.flush.scheduler.interval.ms)."""
    look_out = {"log.flush.scheduler.interval.ms": "100"}
    with embedded_broker(look_out, data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t", {"flush.ms": str(FLUSH_MS)}) == ErrorCode.none
        old = write(client, "t", acks)
        wait_until_synced(broker, "t", len(old))
        write(client, "t", acks, 3)
        image = meter.image()
        broker.kill()
    found = found_in(image.restore(tmp_path / "image"), "t")
    assert found is not None and found[: len(old)] == old


def test_power_loss_after_a_clean_stop(data: Path, meter: PowerMeter, tmp_path: Path) -> None:
    """Nothing is lost, and the next start knows it: no recovery."""
    with embedded_broker(data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t") == ErrorCode.none
        acknowledged = write(client, "t", 1)
        broker.stop()
        folder = meter.image().restore(tmp_path / "image")
    assert (folder / ".kafka_cleanshutdown").exists()
    assert found_in(folder, "t") == acknowledged


def test_segments_that_are_complete_are_safe_by_default(data: Path, meter: PowerMeter, tmp_path: Path) -> None:
    """A segment is synced when the next one begins: with the defaults at most the last segment is at risk."""
    with embedded_broker({"log.segment.bytes": str(1 << 20)}, data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t") == ErrorCode.none
        for number in range(30):
            client.produce("t", batch_of(b"%d" % number + b"." * 100_000))
        log = broker.broker.logs.logs["t", 0]
        complete = log.active.base_offset
        wait_until_synced(broker, "t", complete)
        image = meter.image()
        broker.kill()
    assert complete > 10
    found = found_in(image.restore(tmp_path / "image"), "t")
    assert found is not None and found[:complete] == [b"%d" % number for number in range(complete)]


# -- what is not a record of a user's topic


def test_metadata_survives_a_power_loss(data: Path, meter: PowerMeter, tmp_path: Path) -> None:
    """Topics, their configs and deletions are on the disk before they are answered, whatever the flush setting."""
    with embedded_broker(data=data) as broker, Raw(broker.port) as client:
        for number in range(5):
            assert client.create_topic(f"t{number}", {"retention.ms": str(1000 + number)}, number + 1) == ErrorCode.none
            image = meter.image()
        first = broker.broker.metadata.topics["t4"].topic_id
        assert client.request(ApiKey.DELETE_TOPICS, 1, {"topic_names": ["t0"], "timeout": 1000})
        after_deletion = meter.image()
        broker.kill()
    with embedded_broker(data=image.restore(tmp_path / "before")) as broker:
        topics = broker.broker.metadata.topics
        assert sorted(topics) == [f"t{number}" for number in range(5)]
        assert topics["t4"].topic_id == first
        assert [len(topics[f"t{number}"].partitions) for number in range(5)] == [1, 2, 3, 4, 5]
        assert topics["t3"].configs == {"retention.ms": "1003"}
    with embedded_broker(data=after_deletion.restore(tmp_path / "after")) as broker:
        assert sorted(broker.broker.metadata.topics) == ["t1", "t2", "t3", "t4"]


def test_a_deleted_topic_does_not_come_back_in_one_of_its_name(data: Path, meter: PowerMeter, tmp_path: Path) -> None:
    """The folder of the old one may be found under the name of the new one: its id, synced with its records, tells."""
    with embedded_broker(data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t", {"flush.messages": "1"}) == ErrorCode.none
        write(client, "t", -1)
        assert client.request(ApiKey.DELETE_TOPICS, 1, {"topic_names": ["t"], "timeout": 1000})
        assert client.create_topic("t", {"flush.messages": "1"}) == ErrorCode.none
        image = meter.image()
        broker.kill()
    assert found_in(image.restore(tmp_path / "image"), "t") == []


def test_producer_ids_are_never_given_out_twice(data: Path, meter: PowerMeter, tmp_path: Path) -> None:
    def new_id(client: Raw) -> int:
        answer = client.request(ApiKey.INIT_PRODUCER_ID, 4, {"producer_id": -1, "producer_epoch": -1})
        assert answer.error_code == ErrorCode.none
        return int(answer.producer_id)

    with embedded_broker(data=data) as broker, Raw(broker.port) as client:
        before = {new_id(client) for _ in range(5)}
        image = meter.image()
        broker.kill()
    with embedded_broker(data=image.restore(tmp_path / "image")) as broker, Raw(broker.port) as client:
        after = {new_id(client) for _ in range(5)}
    assert not before & after


def committed_offset(client: Raw, topic: str) -> int:
    topics = [{"name": topic, "partition_indexes": [0]}]
    answer = client.request(ApiKey.OFFSET_FETCH, 5, {"group_id": "group", "topics": topics})
    return int(answer.topics[0].partitions[0].committed_offset)


def test_committed_offsets_follow_the_setting_of_the_broker(data: Path, meter: PowerMeter, tmp_path: Path) -> None:
    with embedded_broker(EVERY_MESSAGE, data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t") == ErrorCode.none
        moments = []
        for number in range(1, 10):
            assert commit_offset(client, "t", number) == ErrorCode.none
            moments.append((number, meter.image()))
        broker.kill()
    for number, image in moments[::4]:
        with embedded_broker(data=image.restore(tmp_path / f"{number}")) as broker, Raw(broker.port) as client:
            wait_until_loaded(broker)
            assert committed_offset(client, "t") >= number


@pytest.mark.parametrize("version", [1, 2])
def test_transactions_follow_the_setting_of_the_broker(
    data: Path, meter: PowerMeter, tmp_path: Path, version: int
) -> None:
    """A commit that was answered survives a power loss as a whole, and one that was not is aborted, not left open."""
    with embedded_broker(EVERY_MESSAGE, data=data) as broker, Raw(broker.port) as client:
        assert client.create_topic("t") == ErrorCode.none
        producer = RawTransactions(client, "producer", version)
        producer.run("t", b"first", commit=True)
        producer.run("t", b"aborted", commit=False)
        producer.run("t", b"second", commit=True)
        ended = meter.image()
        if version == 1:
            producer.add("t")
        producer.produce("t", producer.batch("t", b"open"))
        still_open = meter.image()
        broker.kill()
    for name, image in (("ended", ended), ("open", still_open)):
        with embedded_broker(data=image.restore(tmp_path / name)) as broker, Raw(broker.port) as client:
            wait_until_loaded(broker)
            heir = RawTransactions(client, "producer", version)  # aborts what the old one left open
            answer = client.fetch("t", committed=True)
            assert RawTransactions.visible(answer)[0] == [b"first", b"second"]
            assert answer.last_stable_offset == answer.high_watermark
            heir.run("t", b"third", commit=True)
            assert RawTransactions.visible(client.fetch("t", committed=True))[0] == [b"first", b"second", b"third"]


def wait_until_synced(broker: EmbeddedBroker, topic: str, offset: int) -> None:
    """Until the broker takes everything before this offset for durable. How long that takes is the disk's business."""
    log = broker.broker.logs.logs[topic, 0]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while log.recovery_point < offset:
        assert time.monotonic() < deadline, f"synced up to {log.recovery_point} only, of {offset}"
        time.sleep(0.01)


def wait_until_loaded(broker: EmbeddedBroker) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not broker.broker.transactions.loaded:
        assert time.monotonic() < deadline, "the transactions are not loaded"
        time.sleep(0.01)
