"""PRINT: the records of a topic as lines, with formats that are guessed from the first ones."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, TopicPartition

from caudal.ksql.engine.settings import EngineSettings
from caudal.ksql.errors import KsqlError
from caudal.ksql.syntax.statements import PrintTopic
from caudal.registry.client import RegistryClient, RegistryError

POLL_SECONDS = 0.2


class Guess:
    """How keys, or values, of a topic are read: decided by the first that is not null, again where that fails."""

    def __init__(self, registry: RegistryClient | None, topic: str, is_key: bool) -> None:
        self._registry = registry
        self._topic = topic
        self._is_key = is_key
        self.name: str | None = None

    def text(self, data: bytes | None) -> str:
        if data is None:
            return "<null>"
        if self.name is not None:
            shown = self._as(self.name, data)
            if shown is not None:
                return shown
        for name in ("AVRO or JSON_SR or PROTOBUF", "JSON", "SESSION(KAFKA_STRING)", "TUMBLING(KAFKA_STRING)", *_PLAIN):
            shown = self._as(name, data)
            if shown is not None:
                self.name = name
                return shown
        self.name = "KAFKA_BYTES"
        return _bytes(data)

    def _as(self, name: str, data: bytes) -> str | None:
        if name.startswith("AVRO"):
            return self._with_schema(data)
        if name == "JSON":
            try:
                found = json.loads(data)
            except ValueError:
                return None
            return data.decode() if isinstance(found, (dict, list)) else None
        if name == "KAFKA_BYTES":
            return _bytes(data)
        return _as_kafka(name, data)

    def _with_schema(self, data: bytes) -> str | None:
        """A record that names its schema, where the registry knows it."""
        if self._registry is None or len(data) < 5 or data[0] != 0:
            return None
        try:
            schema = self._registry.schema(int.from_bytes(data[1:5], "big"))
        except RegistryError:
            return None
        try:
            value = _decoded(schema.type, data, self._registry, self._topic, self._is_key)
        except Exception:
            return None
        return json.dumps(value, default=_plain, separators=(", ", ": "))


_PLAIN = ("KAFKA_STRING", "KAFKA_INT", "KAFKA_BIGINT")


def _as_kafka(name: str, data: bytes) -> str | None:
    if name in ("SESSION(KAFKA_STRING)", "TUMBLING(KAFKA_STRING)"):
        tail = 16 if name.startswith("SESSION") else 8
        if len(data) <= tail:
            return None
        times = struct.unpack(f">{tail // 8}q", data[-tail:])
        key = _text(data[:-tail])
        if key is None or not all(0 < one < 1 << 45 for one in times) or times[-1] > times[0]:
            return None
        return f"[{key}@{times[-1]}/{times[0] if tail == 16 else '-'}]"
    if name == "KAFKA_STRING":
        return _text(data)
    if name == "KAFKA_INT" and len(data) == 4:
        return str(struct.unpack(">i", data)[0])
    if name == "KAFKA_BIGINT" and len(data) == 8:
        return str(struct.unpack(">q", data)[0])
    return None


def _text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if all(sign.isprintable() or sign in "\t\r\n" for sign in text) else None


def _bytes(data: bytes) -> str:
    return "\\x" + "\\x".join(f"{one:02X}" for one in data) if data else ""


def _decoded(kind: str, data: bytes, registry: RegistryClient, topic: str, is_key: bool) -> Any:
    from caudal.serde import Avro, JsonSchema, Protobuf
    from caudal.serde.serde import bound

    makers: dict[str, Any] = {"AVRO": Avro, "JSON": JsonSchema, "PROTOBUF": Protobuf}
    serde = makers[kind](registry=registry)
    return bound(serde, topic, is_key).deserialize(data)


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)


def print_topic(statement: PrintTopic, settings: EngineSettings, registry: RegistryClient | None) -> Iterator[str]:
    """Lines, until the limit or until the caller closes the generator; an empty line where nothing comes for a while,
    so that the caller can look around."""
    consumer = Consumer(
        {
            "group.id": "_caudal-ksql-print",  # never joined
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
            **settings.librdkafka(),
        }
    )
    try:
        found = consumer.list_topics(statement.topic, timeout=15).topics.get(statement.topic)
        if found is None or found.error is not None:
            raise KsqlError(
                f"Could not find topic '{statement.topic}', or the KSQL user does not have permissions to list the "
                "topic. Topic names are case-sensitive.",
                statement.at,
            )
        begin = OFFSET_BEGINNING if statement.from_beginning else OFFSET_END
        consumer.assign([TopicPartition(statement.topic, number, begin) for number in found.partitions])
        yield from _lines(consumer, statement, registry)
    finally:
        consumer.close()


def _lines(consumer: Any, statement: PrintTopic, registry: RegistryClient | None) -> Iterator[str]:
    keys, values = Guess(registry, statement.topic, True), Guess(registry, statement.topic, False)
    shown = seen = 0
    told: tuple[str | None, str | None] = (None, None)
    while statement.limit is None or shown < statement.limit:
        message = consumer.poll(POLL_SECONDS)
        if message is None or message.error() is not None:
            yield ""
            continue
        seen += 1
        if statement.interval and (seen - 1) % statement.interval:
            continue
        key, value = keys.text(message.key()), values.text(message.value())
        if (keys.name, values.name) != told:
            if keys.name != told[0] and keys.name is not None:
                yield f"Key format: {keys.name}"
            if values.name != told[1] and values.name is not None:
                yield f"Value format: {values.name}"
            told = (keys.name, values.name)
        shown += 1
        yield f"rowtime: {_rowtime(message)}, key: {key}, value: {value}, partition: {message.partition()}"


def _rowtime(message: Any) -> str:
    kind, moment = message.timestamp()
    if kind == 0:
        return "N/A"
    text = datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
    return f"{text} Z"
