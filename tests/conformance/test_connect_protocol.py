"""What our workers say in their group, read and written again by Apache Kafka's own code."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from caudal import jars
from caudal.connect.runtime.group_protocol import (
    Assignment,
    WorkerMetadata,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
    load,
)
from caudal.connect.runtime.model import TaskId

pytestmark = pytest.mark.java

SOURCE = Path(__file__).parents[1] / "java" / "connect" / "ProtocolOracle.java"
ASSIGNMENT = Assignment(
    "worker-1-uuid",
    "http://host:8083",
    2**40,
    load(["orders", "payments"], [TaskId("orders", 0), TaskId("orders", 11), TaskId("zürich-9", 2)]),
    load(["old"], [TaskId("old", 0)]),
    300_000,
)


def test_kafka_reads_ours_and_writes_it_alike() -> None:
    one = Assignment("m1", "u", 5, load(["a"], [TaskId("a", 0)]), load([], [TaskId("b", 3)]), 1000)
    metadata = WorkerMetadata("http://host:8083/", 17, ASSIGNMENT)
    ours = [
        ("metadata", encode_metadata(metadata, 2)),
        ("assignment", encode_assignment(ASSIGNMENT, 2)),
        ("metadata", encode_metadata(WorkerMetadata("u", 7, one), 2)),
        ("assignment", encode_assignment(one, 2)),
        ("assignment", encode_assignment(Assignment("m", "u", -1, error=1), 2)),
    ]
    command = [jars.java(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8"]
    command += ["-cp", jars.class_path("kafka-client", "kafka-connect"), str(SOURCE)]
    text = "".join(f"{kind} {data.hex()}\n" for kind, data in ours)
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=180, check=False)
    assert result.returncode == 0, result.stderr
    answers = [line.split(" ", 1) for line in result.stdout.splitlines()]
    theirs = [bytes.fromhex(written) for written, _ in answers]
    # Where there are several connectors, Kafka writes them in an order of its own.
    assert theirs[2:] == [data for _, data in ours[2:]]
    assert decode_metadata(theirs[0]) == metadata
    assert decode_assignment(theirs[1]) == ASSIGNMENT
    understood = answers[1][1]
    for words in ("orders-11", "payments", "revokedConnectorIds=[old]", "revokedTaskIds=[old-0]", "delay=300000"):
        assert words in understood
