"""Apache Kafka's command-line tools, run as their users run them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from . import jvm
from .clients import Client, Outgoing
from .cluster import Cluster

pytestmark = pytest.mark.java

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"

Run = Callable[..., str]


@pytest.fixture
def run(cluster: Cluster) -> Run:
    """Runs a tool against the cluster."""

    def run_tool(tool: str, *arguments: str, stdin: str | None = None) -> str:
        return jvm.run(tool, "--bootstrap-server", cluster.bootstrap, *arguments, stdin=stdin)

    return run_tool


def test_topics_are_created_described_altered_listed_and_deleted(run: Run, unique: Callable[[str], str]) -> None:
    name = unique("tool")
    create = [
        "--create",
        "--topic",
        name,
        "--partitions",
        "2",
        "--replication-factor",
        "1",
        "--config",
        "retention.ms=86400000",
    ]
    assert f"Created topic {name}" in run(TOPICS, *create)
    described = run(TOPICS, "--describe", "--topic", name)
    assert "PartitionCount: 2" in described and "retention.ms=86400000" in described
    assert re.search(r"Partition: 1\s+Leader: \d+\s+Replicas: \d+\s+Isr: \d+", described)
    run(TOPICS, "--alter", "--topic", name, "--partitions", "5")
    assert "PartitionCount: 5" in run(TOPICS, "--describe", "--topic", name)
    assert name in run(TOPICS, "--list").split()
    run(TOPICS, "--delete", "--topic", name)
    assert name not in run(TOPICS, "--list").split()


def test_configs_of_a_topic_and_of_the_broker_are_changed_and_restored(run: Run, topic: str) -> None:
    entity = ["--entity-type", "topics", "--entity-name", topic]
    run(CONFIGS, *entity, "--alter", "--add-config", "cleanup.policy=[compact,delete],segment.bytes=1048576")
    described = run(CONFIGS, *entity, "--describe")
    assert "cleanup.policy=compact,delete" in described and "segment.bytes=1048576" in described
    run(CONFIGS, *entity, "--alter", "--delete-config", "segment.bytes")
    assert "segment.bytes" not in run(CONFIGS, *entity, "--describe")

    broker = ["--entity-type", "brokers", "--entity-default"]
    run(CONFIGS, *broker, "--alter", "--add-config", "log.retention.ms=123456789")
    assert "log.retention.ms=123456789" in run(CONFIGS, *broker, "--describe")
    run(CONFIGS, *broker, "--alter", "--delete-config", "log.retention.ms")
    assert "log.retention.ms=123456789" not in run(CONFIGS, *broker, "--describe")


def test_the_console_producer_and_consumer_pass_lines_through(run: Run, topic: str) -> None:
    run(PRODUCER, "--topic", topic, "--reader-property", "parse.key=true", stdin="k1\tfirst line\nk2\tsecond line\n")
    run(PRODUCER, "--topic", topic, "--compression-codec", "zstd", stdin="third line\n")
    properties = [
        option
        for name in ("print.key", "print.offset", "print.partition")
        for option in ("--formatter-property", f"{name}=true")
    ]
    printed = run(
        CONSUMER, "--topic", topic, "--from-beginning", "--max-messages", "3", *properties, "--timeout-ms", "15000"
    )
    assert [line.split("\t") for line in printed.splitlines()] == [
        ["Partition:0", "Offset:0", "k1", "first line"],
        ["Partition:0", "Offset:1", "k2", "second line"],
        ["Partition:0", "Offset:2", "null", "third line"],
    ]


def test_groups_are_listed_described_reset_and_deleted(
    run: Run, topic: str, other: Client, unique: Callable[[str], str]
) -> None:
    group = unique("tool-group")
    with other.producer() as producer:
        producer.send(Outgoing(topic, str(number).encode()) for number in range(10))
    run(
        CONSUMER,
        "--topic",
        topic,
        "--group",
        group,
        "--from-beginning",
        "--max-messages",
        "10",
        "--timeout-ms",
        "15000",
    )
    assert group in run(GROUPS, "--list").split()
    assert _row(run(GROUPS, "--describe", "--group", group), topic)[:3] == ["10", "10", "0"]
    assert re.search(rf"{group}\s.*Empty", run(GROUPS, "--describe", "--group", group, "--state"))
    run(GROUPS, "--group", group, "--topic", topic, "--reset-offsets", "--to-offset", "4", "--execute")
    assert _row(run(GROUPS, "--describe", "--group", group), topic)[:3] == ["4", "10", "6"]
    run(GROUPS, "--group", group, "--topic", topic, "--reset-offsets", "--shift-by", "2", "--execute")
    assert _row(run(GROUPS, "--describe", "--group", group), topic)[:3] == ["6", "10", "4"]
    run(GROUPS, "--group", group, "--topic", topic, "--delete-offsets")
    assert topic not in run(GROUPS, "--describe", "--group", group, "--offsets")
    run(GROUPS, "--group", group, "--delete")
    assert group not in run(GROUPS, "--list").split()


def _row(table: str, topic: str) -> list[str]:
    """CURRENT-OFFSET, LOG-END-OFFSET, LAG … of partition 0."""
    row = next(line.split() for line in table.splitlines() if f" {topic} " in line)
    return row[row.index(topic) + 2 :]


def test_a_live_member_is_shown_and_protects_its_offsets(
    run: Run, cluster: Cluster, topic: str, unique: Callable[[str], str]
) -> None:
    group = unique("tool-group")
    consumer = subprocess.Popen(
        jvm.command(
            CONSUMER, "--bootstrap-server", cluster.bootstrap, "--topic", topic, "--group", group, "--from-beginning"
        ),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        run(PRODUCER, "--topic", topic, stdin="hello\n")
        assert consumer.stdout is not None and consumer.stdout.readline() == "hello\n"
        assert "Stable" in run(GROUPS, "--describe", "--group", group, "--state")
        assert "console-consumer" in run(GROUPS, "--describe", "--group", group, "--members", "--verbose")
        reset = ["--group", group, "--topic", topic, "--reset-offsets", "--to-earliest", "--execute"]
        refused = subprocess.run(
            jvm.command(GROUPS, "--bootstrap-server", cluster.bootstrap, *reset),
            capture_output=True,
            text=True,
            check=False,
        )
        assert "can only be reset if the group" in refused.stdout + refused.stderr
    finally:
        consumer.send_signal(signal.SIGTERM)
        consumer.wait(60)


def test_transactions_are_listed_described_and_their_producers_shown(
    run: Run, topic: str, other: Client, unique: Callable[[str], str]
) -> None:
    identity = unique("tool-tx")
    with other.producer(transactional_id=identity) as producer:
        producer.begin()
        producer.send([Outgoing(topic, b"open")])
        listed = next(line for line in run(TRANSACTIONS, "list").splitlines() if line.startswith(identity))
        assert "Ongoing" in listed
        described = run(TRANSACTIONS, "describe", "--transactional-id", identity)
        assert "Ongoing" in described and f"{topic}-0" in described
        producers = run(TRANSACTIONS, "describe-producers", "--topic", topic, "--partition", "0").splitlines()
        assert producers[1].split()[-1] == "0"  # CurrentTransactionStartOffset
        producer.commit()
        finished = run(TRANSACTIONS, "describe", "--transactional-id", identity)
        assert "CompleteCommit" in finished
    assert "Transactional" not in run(TRANSACTIONS, "find-hanging", "--topic", topic).split("\n", 1)[-1]


def test_offsets_versions_log_dirs_and_delete_records(run: Run, topic: str, other: Client, tmp_path: Path) -> None:
    base = int(time.time() - 3600) * 1000
    with other.producer() as producer:
        producer.send(Outgoing(topic, b"x", timestamp=base + number) for number in range(5))
    assert run(OFFSETS, "--topic", topic).strip() == f"{topic}:0:5"
    assert run(OFFSETS, "--topic", topic, "--time", "earliest").strip() == f"{topic}:0:0"
    assert run(OFFSETS, "--topic", topic, "--time", "max-timestamp").strip() == f"{topic}:0:4"
    assert run(OFFSETS, "--topic", topic, "--time", str(base + 2)).strip() == f"{topic}:0:2"
    versions = run(VERSIONS)
    assert re.search(r"Produce\(0\): \d+ to \d+", versions) and "ApiVersions(18)" in versions
    assert f'"partition":"{topic}-0"' in run(LOG_DIRS, "--describe", "--topic-list", topic)
    wanted = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 3}]}
    (tmp_path / "delete.json").write_text(json.dumps(wanted))
    assert "low_watermark: 3" in run(DELETE_RECORDS, "--offset-json-file", str(tmp_path / "delete.json"))
    assert run(OFFSETS, "--topic", topic, "--time", "earliest").strip() == f"{topic}:0:3"


def test_the_internal_topics_are_readable_by_a_plain_consumer(
    run: Run, topic: str, other: Client, unique: Callable[[str], str]
) -> None:
    """Kafka's own formatters decode our records of offsets, groups and transactions."""
    group, identity = unique("decoded-group"), unique("decoded-tx")
    with other.consumer(group) as consumer:
        consumer.assign([(topic, 0)])
        consumer.commit({(topic, 0): 7})
    with other.producer(transactional_id=identity) as producer:
        producer.begin()
        producer.send([Outgoing(topic, b"x")])
        producer.commit()
    common = ["--from-beginning", "--timeout-ms", "3000"]
    offsets = run(
        CONSUMER,
        "--topic",
        "__consumer_offsets",
        "--formatter",
        "org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
        *common,
    )
    line = next(line for line in offsets.splitlines() if group in line)
    assert topic in line and '"offset":7' in line
    formatter = "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"
    states = run(CONSUMER, "--topic", "__transaction_state", "--formatter", formatter, *common)
    assert [line for line in states.splitlines() if identity in line]
