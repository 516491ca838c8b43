"""Sends an order to a pipeline. That it was carried out is seen on the board."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, Producer

from caudal.pipelines.records import CONTROL_TOPIC, Command

SECONDS = 10.0


def send(connection: Mapping[str, Any], command: Command) -> None:
    """Returns when the broker has it. Raises KafkaException, TimeoutError."""
    failed: list[Any] = []
    producer: Any = Producer({**connection, "client.id": "caudal-pipelines-control", "linger.ms": 0})
    producer.produce(
        CONTROL_TOPIC,
        command.encode(),
        command.application.encode(),
        0,
        on_delivery=lambda error, _: failed.append(error) if error is not None else None,
    )
    if producer.flush(SECONDS):
        raise TimeoutError(f"the order was not taken in {SECONDS:.0f} s")
    if failed:
        raise KafkaException(failed[0])
