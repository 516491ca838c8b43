"""The examples for real: a broker, the shell lines of their headers, and what comes out of their topics."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from caudal.plan.topology import SinkNode, Topology
from tests.examples.example_files import ROOT

Output = list[tuple[Any, Any]]  # keys and values in the order of the partitions


def shell(lines: Iterable[str], bootstrap: str) -> None:
    """Runs lines as a reader would, with this Python's `caudal`."""
    script = "\n".join(['set -eu -o pipefail; caudal() { "$PYTHON" -m caudal.cli.main "$@"; }', *lines])
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "CAUDAL_BOOTSTRAP": bootstrap, "PYTHON": sys.executable, "PYTHONPATH": path}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def wait_for(
    topology: Topology, topic: str, bootstrap: str, is_there: Callable[[Output], bool], seconds: float = 60
) -> None:
    """Reads a topic from its beginning, committed records only, until what is wanted is there."""
    sink = next(node for node in topology.nodes if isinstance(node, SinkNode) and node.topic == topic)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "a reader of the examples", "log_level": 2})
    found: Output = []
    deadline = time.monotonic() + seconds
    try:
        assigned = False
        while not is_there(found):
            assert time.monotonic() < deadline, f"{topic} has only {found}"
            if not assigned:
                known = consumer.list_topics(timeout=10).topics.get(topic)
                assigned = known is not None and known.error is None and bool(known.partitions)
                if not assigned:
                    time.sleep(0.2)
                    continue
                consumer.assign([TopicPartition(topic, partition, 0) for partition in known.partitions])
            for message in consumer.consume(100, 0.2):
                if message.error():
                    raise KafkaException(message.error())
                key, value = message.key(), message.value()
                found.append(
                    (
                        None if key is None else sink.key.deserialize(key),
                        None if value is None else sink.value.deserialize(value),
                    )
                )
    finally:
        consumer.close()
