"""Kafka Streams (Java), unmodified, exactly once: a word count killed in the middle still counts every word once."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from . import jvm
from .clients import Client, Message, Outgoing, eventually
from .cluster import Cluster

pytestmark = pytest.mark.java

WORDS = ["all", "streams", "lead", "to", "kafka", "and", "kafka", "leads", "to", "all", "streams"]


@pytest.mark.timeout(480)
def test_a_killed_word_count_counts_every_word_once(
    cluster: Cluster, other: Client, unique: Callable[[str], str], tmp_path: Path
) -> None:
    lines, counts, application = unique("lines"), unique("counts"), unique("word-count")
    with other.admin() as admin:
        admin.create_topic(lines, partitions=2)
        admin.create_topic(counts, partitions=2)
    command = jvm.command("WordCount", cluster.bootstrap, application, lines, counts, str(tmp_path / "state"))
    expected: Counter[str] = Counter()
    received: list[Message] = []

    def send(count: int) -> None:
        with other.producer() as producer:
            producer.send(Outgoing(lines, " ".join(WORDS).encode(), partition=number % 2) for number in range(count))
        for word in WORDS:
            expected[word] += count

    with other.consumer(committed_only=True) as consumer:
        consumer.assign([(counts, 0), (counts, 1)])

        def is_counted() -> bool:
            received.extend(consumer.poll(0.2))
            latest = {(message.key or b"").decode(): int(message.value or b"0") for message in received}
            return latest == expected

        send(500)
        with (tmp_path / "first.log").open("wb") as log:
            application_process = subprocess.Popen(command, stdout=log, stderr=log)
        assert eventually(is_counted, 180, 0), (tmp_path / "first.log").read_text()[-3000:]
        send(2000)
        time.sleep(0.3)  # in the middle of it
        application_process.kill()  # no goodbye: its transaction stays open, its member stays in the group
        application_process.wait()
        send(500)
        with (tmp_path / "second.log").open("wb") as log:
            application_process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            assert eventually(is_counted, 180, 0), (tmp_path / "second.log").read_text()[-3000:]
            assert not consumer.poll(2), "nothing is counted again"
        finally:
            application_process.terminate()
            application_process.wait(60)
    # a count never goes back and never repeats: each update of a word is higher than the one before
    for word in expected:
        series = [int(message.value or b"0") for message in received if message.key == word.encode()]
        assert series == sorted(set(series)), (word, series)
