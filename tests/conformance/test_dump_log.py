"""Kafka's own kafka-dump-log reads every kind of file we write, without complaint, and finds in it what was produced.

The broker is stopped first: as in Kafka, the index files of the active segment are complete on disk only then.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from . import jvm
from .clients import CODECS, Client, Outgoing
from .clients.confluent import Confluent
from .cluster import caudal_broker

pytestmark = pytest.mark.java

DUMP = "org.apache.kafka.tools.DumpLogSegments"
COMPLAINTS = (
    "mismatch",
    "corrupt",
    "non-consecutive",
    "isvalid: false",
    "could not",
    "exception",
    "error",
    "invalid",
    "not sane",
)
BASE = int(time.time() - 3600) * 1000  # recent, so that retention leaves the records alone
COUNT = 5000


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a broker leaves behind that has seen every codec, transactions, groups and several segments."""
    if request.config.getoption("--bootstrap"):
        pytest.skip("these files are Caudal's")
    data = tmp_path_factory.mktemp("dumped")
    with caudal_broker(data, offsets_topic_num_partitions="1", transaction_state_log_num_partitions="1") as cluster:
        _live(Confluent(cluster.bootstrap))
    return data


def _live(client: Client) -> None:
    with client.admin() as admin:
        admin.create_topic("plain", configs={"segment.bytes": "1048576", "index.interval.bytes": "1024"})
        admin.create_topic("transacted")
        admin.create_topic("stamped", configs={"message.timestamp.type": "LogAppendTime"})
    for number, codec in enumerate(CODECS):
        with client.producer(codec=codec) as producer:
            numbers = range(number * COUNT // 5, (number + 1) * COUNT // 5)
            producer.send(Outgoing("plain", _value(n), str(n).encode(), (("h", b"1"),), BASE + n) for n in numbers)
            producer.send(Outgoing("stamped", _value(n)) for n in range(100))
    with client.producer(transactional_id="dump-tx") as producer:
        for number in range(20):
            producer.begin()
            producer.send(Outgoing("transacted", str(number).encode()) for _ in range(10))
            producer.commit() if number % 2 else producer.abort()
    with client.consumer("dump-group") as consumer:
        consumer.subscribe(["plain"])
        while not consumer.assignment():
            consumer.poll(0.1)
        consumer.commit({("plain", 0): 4321})


def _value(number: int) -> bytes:
    # hardly compressible, so that the segments of all codecs roll
    return b"".join(bytes([(number * 31 + i * i * 7 + (number >> (i % 5))) % 251]) for i in range(600)).hex().encode()


def dump(*arguments: str, files: list[Path]) -> str:
    assert files
    printed = jvm.run(DUMP, *arguments, "--files", ",".join(map(str, files)))
    complaints = [line for line in printed.splitlines() if any(word in line.lower() for word in COMPLAINTS)]
    assert not complaints, "\n".join(complaints[:10])
    return printed


def files(folder: Path, partition: str, suffix: str) -> list[Path]:
    return sorted((folder / partition).glob(f"*{suffix}"))


def test_segments_are_valid_batch_by_batch_and_hold_what_was_produced(folder: Path) -> None:
    logs = files(folder, "plain-0", ".log")
    assert len(logs) > 2, "the segments should have rolled"
    printed = dump("--deep-iteration", "--print-data-log", files=logs)
    found = re.findall(
        r"^\| offset: (\d+) CreateTime: (\d+) .*?headerKeys: \[h\] key: (\d+) payload: (\w+)$", printed, re.M
    )
    assert len(found) == COUNT
    for offset, timestamp, key, payload in found:
        number = int(offset)
        assert (int(timestamp), int(key), payload.encode()) == (BASE + number, number, _value(number))
    assert {codec for codec in CODECS if f"compresscodec: {codec}" in printed} == set(CODECS)
    dump("--deep-iteration", files=files(folder, "stamped-0", ".log"))


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_indexes_pass_kafkas_sanity_check_and_agree_with_the_segments(folder: Path, suffix: str) -> None:
    indexes = files(folder, "plain-0", suffix)
    assert indexes and any(path.stat().st_size for path in indexes)
    assert dump("--index-sanity-check", files=indexes).count("passed sanity check") == len(indexes)
    dump("--verify-index-only", files=indexes)
    assert dump(files=indexes).count("offset") > len(indexes)


def test_the_transaction_index_names_every_aborted_transaction(folder: Path) -> None:
    aborted = dump(files=files(folder, "transacted-0", ".txnindex"))
    assert len(re.findall(r"producerId: \d+", aborted)) == 10
    printed = dump("--deep-iteration", files=files(folder, "transacted-0", ".log"))
    assert printed.count("endTxnMarker: COMMIT") == printed.count("endTxnMarker: ABORT") == 10


def test_the_producer_snapshot_is_readable(folder: Path) -> None:
    snapshots = files(folder, "transacted-0", ".snapshot")
    assert re.search(r"producerId: \d+ producerEpoch: \d+", dump(files=snapshots[-1:]))


def test_the_internal_topics_decode(folder: Path) -> None:
    offsets = dump("--offsets-decoder", files=files(folder, "__consumer_offsets-0", ".log"))
    assert "dump-group" in offsets and "4321" in offsets
    states = dump("--transaction-log-decoder", files=files(folder, "__transaction_state-0", ".log"))
    # Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort
    assert "dump-tx" in states and set(re.findall(r'"transactionStatus":(\d)', states)) >= set("12345")
