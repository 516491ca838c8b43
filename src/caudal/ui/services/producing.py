"""Writes one message to a topic: the form's texts to bytes, with a schema of the registry where one is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from caudal.serde.serde import SerdeError
from caudal.ui.services.decoding import Message, Part
from caudal.ui.services.message_query import QueryError
from caudal.ui.services.messages import in_thread
from caudal.ui.services.schema_reading import SERDES
from caudal.ui.words import t

if TYPE_CHECKING:
    from caudal.ui.services.kafka import Kafka

TEXT, JSON, HEX, NULL, SCHEMA = "text", "json", "hex", "null", "schema"
FORMATS = (TEXT, JSON, HEX, NULL, SCHEMA)
DELIVERY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Written:
    """A key or a value as the form has it. `subject` is the registry's, with the format SCHEMA."""

    format: str = TEXT
    text: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """What the form holds. `headers` is one NAME=VALUE per line; no partition: the partitioner chooses."""

    key: Written
    value: Written
    headers: str = ""
    partition: int | None = None


def check(part: str, written: Written) -> None:
    """What can be said of the text without asking anybody. QueryError names the part."""
    if written.format == HEX:
        try:
            bytes.fromhex(written.text)
        except ValueError:
            raise QueryError(part, t("Give pairs of hexadecimal digits, such as 00 ff 2a.")) from None
    if written.format in (JSON, SCHEMA):
        try:
            orjson.loads(written.text)
        except orjson.JSONDecodeError as error:
            raise QueryError(
                part, t("This is no JSON: line {line}, column {column}.", line=error.lineno, column=error.colno)
            ) from None
    if written.format == SCHEMA and not written.subject:
        raise QueryError(f"{part}_subject", t("Choose the schema's subject."))


def plain_bytes(written: Written) -> bytes | None:
    """The bytes of a checked text that needs no schema."""
    if written.format == NULL:
        return None
    return bytes.fromhex(written.text) if written.format == HEX else written.text.encode()


def header_pairs(text: str) -> list[tuple[str, bytes]]:
    """
    >>> header_pairs("kind=order\\ntrace = 7")
    [('kind', b'order'), ('trace', b'7')]
    """
    pairs = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise QueryError("headers", t("Line {number} is not NAME=VALUE.", number=number))
        pairs.append((name.strip(), value.strip().encode()))
    return pairs


def draft_of(message: Message, subjects: dict[int, str]) -> Draft:
    """A message as a form that writes it again. `subjects` are those of the schemas' ids."""
    headers = "\n".join(f"{name}={value or ''}" for name, value in message.headers.items())
    return Draft(
        _written(message.key, message.record.key, subjects),
        _written(message.value, message.record.value, subjects),
        headers,
        message.record.partition,
    )


def _written(part: Part, data: bytes | None, subjects: dict[int, str]) -> Written:
    if data is None:
        return Written(NULL)
    if part.schema_id is not None and part.kind in SERDES and part.schema_id in subjects:
        return Written(SCHEMA, part.pretty(), subjects[part.schema_id])
    if part.kind == "json":
        return Written(JSON, part.pretty())
    if part.kind == "text":
        return Written(TEXT, part.text)
    return Written(HEX, data.hex(" "))


async def produce(kafka: Kafka, registry: str | None, topic: str, draft: Draft) -> tuple[int, int]:
    """The partition and the offset that the message got. QueryError names the field that is wrong."""
    check("key", draft.key)
    check("value", draft.value)
    headers = header_pairs(draft.headers)

    def send() -> tuple[int, int]:
        key, value = (
            with_schema(registry, topic, part, written) if written.format == SCHEMA else plain_bytes(written)
            for part, written in (("key", draft.key), ("value", draft.value))
        )
        return _send(kafka, topic, key, value, headers, draft.partition)

    return await in_thread(kafka, send)


def with_schema(registry: str | None, topic: str, part: str, written: Written) -> bytes:
    """JSON text in the wire format of the newest schema of its subject."""
    from caudal.registry.client import RegistryError, shared_client
    from caudal.serde.description import registry_serde

    try:
        latest = shared_client(registry or "", 0.0).latest(written.subject)
        make: Callable[..., Any] = registry_serde(SERDES[latest.type])
        serde = make(
            registry=registry,
            schema_id=latest.id,
            subject=written.subject,
            topic=topic,
            is_key=part == "key",
            wait_seconds=0.0,
        )
        data: bytes = serde.serialize(serde.value_of_json(written.text.encode()))
        return data
    except (SerdeError, RegistryError) as error:
        raise QueryError(part, _sentence(error)) from None


def _send(
    kafka: Kafka,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes]],
    partition: int | None,
) -> tuple[int, int]:
    from confluent_kafka import KafkaException

    outcome: list[Any] = []

    def delivered(error: Any, message: Any) -> None:
        outcome.append(KafkaException(error) if error is not None else (message.partition(), message.offset()))

    producer = kafka.producer(linger_ms=0, message_timeout_ms=int(DELIVERY_SECONDS * 1000))
    where = {} if partition is None else {"partition": partition}
    producer.produce(topic, value=value, key=key, headers=headers, on_delivery=delivered, **where)
    producer.flush(DELIVERY_SECONDS + 1)
    if not outcome:
        raise KafkaException("the message was not acknowledged in time")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    place: tuple[int, int] = outcome[0]
    return place


def _sentence(error: Exception) -> str:
    """Without the serde's own description, which means nothing to a visitor."""
    text = str(error).rstrip(".")
    if " cannot write " in text:
        text = "cannot write " + text.partition(" cannot write ")[2]
    return f"{text[:1].upper()}{text[1:]}."
