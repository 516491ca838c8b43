"""The registry on Apache Kafka: created topic, one writer, forwarding, a killed writer, replay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from caudal import jars
from caudal.bench.servers import ApacheKafkaServer
from tests.registry.process import RegistryProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[ApacheKafkaServer]:
    server = ApacheKafkaServer(tmp_path / "kafka", jars.fetch("kafka-server"))
    server.start()
    yield server
    server.remove()


def schema(number: int) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": f"f{number}", "type": "int", "default": 0}]})


def test_it_runs_on_apache_kafka(kafka: ApacheKafkaServer) -> None:
    instances = [RegistryProcess(kafka.bootstrap).wait() for _ in range(2)]
    try:
        for number in range(10):
            assert instances[number % 2].register("a", schema(number)).json()["id"] == number + 1
        (writer,) = [instance for instance in instances if instance.is_writer()]
        (other,) = [instance for instance in instances if instance is not writer]
        writer.kill()
        # The dead member's session lasts six seconds; the write waits for that.
        assert other.register("a", schema(10)).json()["id"] == 11
        assert other.is_writer()
        instances.append(RegistryProcess(kafka.bootstrap).wait())
        assert instances[-1].get("/subjects/a/versions") == list(range(1, 12))
        assert instances[-1].register("b", schema(3)).json()["id"] == 4
    finally:
        for instance in instances:
            if instance.process.poll() is None:
                instance.stop()
