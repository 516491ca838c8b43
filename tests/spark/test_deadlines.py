"""Deadlines on Spark: late records of each class, in one go."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from caudal.runtime.spark.host import SparkHost
from caudal.runtime.spark.settings import Mode
from caudal.serde import String
from caudal.streams import StreamsBuilder
from caudal.streams.application import Application, start_all

from .conftest import Kafka

Names = Callable[[str], str]


def test_near_soft_and_hard(spark: Any, kafka: Kafka, unique: Names, tmp_path: Path) -> None:
    source = unique("source")
    kafka.create(source, partitions=1)
    targets = {name: unique(name) for name in ("near", "soft", "divert", "stop")}
    late_topic = unique("late")
    kafka.create(late_topic, *targets.values(), partitions=1)
    host = SparkHost(threads=2, mode=Mode.REAL_TIME)

    def application(name: str, deadline: str, **more: Any) -> Application:
        builder = StreamsBuilder(targets[name])
        builder.stream(source, key=String(), value=String()).to(targets[name])
        settings = {"bootstrap": kafka.bootstrap, "mode": "real-time", "state_dir": str(tmp_path), **more}
        return Application(builder, host=host, deadline=deadline, **settings)

    applications = {
        "near": application("near", "near 1 minute"),
        "soft": application("soft", "soft 1 minute"),
        "divert": application("divert", "hard 1 minute", late_topic=late_topic),
        "stop": application("stop", "hard 1 minute"),
    }
    try:
        start_all(list(applications.values()), host=host)
        now = int(time.time() * 1000)
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        for number, timestamp in enumerate((now, now - 3_600_000, now)):
            producer.produce(source, f"v{number}", "k", timestamp=timestamp)
        assert producer.flush(10) == 0

        for name in ("near", "soft"):
            assert [message.value() for message in kafka.read(targets[name], 3)] == [b"v0", b"v1", b"v2"]
            wanted = {"class": name, "limit_ms": 60_000, "in_time": 2, "late": 1}
            kafka.until(partial(_punctuality, applications[name]), wanted, 20)

        assert [message.value() for message in kafka.read(targets["divert"], 2)] == [b"v0", b"v2"]
        (late,) = kafka.read(late_topic, 1)
        assert late.value() == b"v1"
        headers = dict(late.headers())
        assert headers["caudal.late.topic"] == source.encode()
        assert int(headers["caudal.late.ms"]) >= 3_500_000
        kafka.until(lambda: _punctuality(applications["divert"])["late"], 1, 20)

        assert applications["stop"].wait(30)
        failure = applications["stop"].failure or ""
        assert f"The record at offset 1 of topic '{source}', partition 0, missed the hard deadline" in failure
        kafka.until(lambda: {applications[name].state for name in ("near", "soft", "divert")}, {"RUNNING"})
    finally:
        host.close()


def _punctuality(application: Application) -> Any:
    return application.metrics()["deadline"]
