"""Streams on Spark with schemas of the real registry: the three languages in one query, a store, and a registry that is
away when the application starts."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from caudal.registry.client import RegistryClient
from caudal.serde import Avro, JsonSchema, Protobuf, String
from caudal.streams import StreamsBuilder

from .conftest import Kafka

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "user", "type": "string"}, {"name": "amount", "type": "long"}],
}
DOCUMENT = {
    "title": "Order",
    "type": "object",
    "properties": {"user": {"type": "string"}, "amount": {"type": "integer"}},
    "required": ["user", "amount"],
}
MESSAGE = 'syntax = "proto3"; message Order { string user = 1; int64 amount = 2; }'


class Registry:
    """`caudal registry` as a process, always at the same address."""

    def __init__(self, bootstrap: str) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        registry = [sys.executable, "-m", "caudal.cli.main", "registry"]
        self._command = [*registry, "--port", str(self.port), "--bootstrap", bootstrap]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen([*self._command, "--log-level", "warning"], stdout=subprocess.DEVNULL)
        client, deadline = RegistryClient(self.url), time.monotonic() + 60
        while not client.answers():
            assert self._process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)


@pytest.fixture
def registry(kafka: Kafka) -> Iterator[Registry]:
    registry = Registry(kafka.bootstrap)
    registry.start()
    yield registry
    registry.stop()


def test_three_languages_in_one_query(
    kafka: Kafka, start: Callable[..., Any], unique: Callable[[str], str], registry: Registry
) -> None:
    avro, document, message, totals = (unique(name) for name in ("avro", "document", "message", "totals"))
    kafka.create(avro, document, message, totals)
    builder = StreamsBuilder(unique("schemas"))
    orders = builder.stream(avro, key=String(), value=Avro(ORDER, wait_seconds=1))
    orders.to(document, value=JsonSchema(DOCUMENT))
    documents = builder.stream(document, key=String(), value=JsonSchema(DOCUMENT))
    documents.filter(lambda key, order: order["amount"] > 0).to(message, value=Protobuf(MESSAGE))
    messages = builder.stream(message, key=String(), value=Protobuf(MESSAGE))
    total = messages.group_by_key().reduce(
        lambda one, other: {**one, "amount": one["amount"] + other["amount"]}, store="total"
    )
    total.to_stream().to(totals, value=Avro(ORDER))

    writer = Avro(ORDER, registry=registry.url, topic=avro)
    values = [writer.serialize({"user": "ana", "amount": amount}) for amount in (3, -1, 4)]
    registry.stop()
    kafka.send(avro, *(("ana", value) for value in values))
    application = start(builder, registry=registry.url, on_bad_record="skip", commit_interval=200)
    kafka.until(lambda: "no registry at" in (application.metrics().get("last_trouble") or ""), True, 120)
    registry.start()  # its schemas are in the topic; nothing was skipped meanwhile
    reader = Avro(registry=registry.url)
    kafka.until(
        lambda: [reader.deserialize(found.value())["amount"] for found in kafka.read(totals)][-1:], [7], seconds=120
    )
    documents_read = [JsonSchema(registry=registry.url).deserialize(found.value()) for found in kafka.read(document)]
    assert [each["amount"] for each in documents_read] == [3, -1, 4]
    subjects = RegistryClient(registry.url).subjects()
    assert f"{application.application_id}-total-changelog-value" in subjects
    assert {f"{document}-value", f"{message}-value", f"{totals}-value"} <= set(subjects)
