"""The broker's schema check as confluent-kafka's clients meet it: what is taken, what is refused with which words, and
that order, sequences and transactions stay right while a batch waits for the registry."""

from __future__ import annotations

import struct
import threading
import time
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic
from kafka import KafkaProducer
from kafka.errors import InvalidRecordError

from caudal.broker.apis.produce import produce
from caudal.broker.errors import ErrorCode
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.batch import Record, build_batch
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.conformance.clients import Outgoing, Refused
from tests.conformance.clients.java import Harness, JavaProducer
from tests.registry.fake_registry import FakeRegistry, fake_registry

VALIDATION = "confluent.value.schema.validation"
RECORD_NAME = "io.confluent.kafka.serializers.subject.RecordNameStrategy"


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with fake_registry() as started:
        yield started


@pytest.fixture
def broker(registry: FakeRegistry) -> Iterator[EmbeddedBroker]:
    with embedded_broker({"confluent.schema.registry.url": registry.url}) as started:
        started.create_topic("orders", 1, {VALIDATION: "true"})
        yield started


def framed(schema_id: int, payload: bytes = b"payload") -> bytes:
    return struct.pack(">bi", 0, schema_id) + payload


class Sender:
    """A producer and what became of each of its records, in the order of their reports."""

    def __init__(self, broker: EmbeddedBroker, **settings: Any) -> None:
        self.reports: list[tuple[bytes | None, int | None, KafkaError | None]] = []
        names = {name.replace("_", "."): value for name, value in settings.items()}
        self.producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, **names})

    def send(self, value: bytes | None, topic: str = "orders", key: bytes | None = None) -> None:
        self.producer.produce(topic, value, key, on_delivery=self._report)

    def _report(self, error: KafkaError | None, message: Message) -> None:
        self.reports.append((message.value(), message.offset(), error))

    def settle(self) -> list[tuple[bytes | None, int | None, KafkaError | None]]:
        assert self.producer.flush(60) == 0
        return self.reports

    def refusal(self, value: bytes | None, topic: str = "orders", key: bytes | None = None) -> KafkaError:
        self.send(value, topic, key)
        error = self.settle()[-1][2]
        assert error is not None
        return error


def warm_up(broker: EmbeddedBroker) -> None:
    """The broker knows the id 2 from now on."""
    sender = Sender(broker)
    sender.send(framed(2, b"warm"))
    assert sender.settle()[0][2] is None


def read(broker: EmbeddedBroker, topic: str = "orders", isolation: str = "read_committed") -> list[bytes | None]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": str(uuid.uuid4()),
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    values: list[bytes | None] = []
    while True:
        message = consumer.poll(30)
        assert message is not None, "the topic did not end"
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF
            consumer.close()
            return values
        values.append(message.value())


def test_a_registered_schema_is_taken_and_asked_for_once(broker: EmbeddedBroker, registry: FakeRegistry) -> None:
    registry.subjects[1] = ["orders-value"]
    sender = Sender(broker, compression_type="zstd")
    for number in range(50):
        sender.send(framed(1, b"%d" % number))
    sender.send(None, key=b"gone")
    assert [error for *_, error in sender.settle()] == [None] * 51
    sender.send(framed(1, b"later"))
    sender.settle()
    assert registry.asked == [1]
    assert read(broker) == [framed(1, b"%d" % number) for number in range(50)] + [None, framed(1, b"later")]


def test_the_client_is_told_why(broker: EmbeddedBroker, registry: FakeRegistry) -> None:
    """By its code in librdkafka, whose Python side does not show words; kafka-python shows each record's own."""
    registry.subjects = {1: ["orders-value"], 2: ["payments-value"]}
    sender = Sender(broker)
    worded = KafkaProducer(bootstrap_servers=broker.bootstrap, enable_idempotence=False)
    for value, words in (
        (b'{"plain": "json"}', "the value does not begin with a schema id: its first byte is 0x7b, not 0x00"),
        (b"\0", "the value has 1 bytes, too few for a schema id"),
        (framed(2), "schema id 2 is not registered under the subject orders-value"),
        (framed(3), "the registry has no schema with id 3"),
    ):
        assert sender.refusal(value).code() == KafkaError.INVALID_RECORD
        with pytest.raises(InvalidRecordError) as caught:
            worded.send("orders", value).get(30)
        assert caught.value.args == (words,)
    worded.close()
    assert read(broker) == []
    sender.send(framed(1))
    assert sender.settle()[-1][2] is None, "a refused record does not harm the producer"


def test_one_bad_record_refuses_its_batch(
    broker: EmbeddedBroker, registry: FakeRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    registry.subjects[1] = ["orders-value"]
    sender = Sender(broker, linger_ms=200)
    for value in (framed(1), b"wrong", framed(1)):
        sender.send(value)
    errors = [error for *_, error in sender.settle()]
    assert [error and error.code() for error in errors] == [KafkaError.INVALID_RECORD] * 3
    assert read(broker) == []
    assert "orders takes records with registered schemas only; record 1: the value does not begin" in caplog.text


def test_keys_and_the_other_strategies(broker: EmbeddedBroker, registry: FakeRegistry) -> None:
    broker.create_topic(
        "mixed",
        1,
        {
            "confluent.key.schema.validation": "true",
            VALIDATION: "true",
            "confluent.value.subject.name.strategy": RECORD_NAME,
        },
    )
    registry.subjects = {1: ["mixed-key"], 2: ["shop.Order"]}
    registry.schemas[2] = {"schema": '{"type": "record", "name": "shop.Order", "fields": []}'}
    registry.schemas[1] = {"schema": '"string"'}
    sender = Sender(broker)
    sender.send(framed(2), "mixed", framed(1))
    assert sender.settle()[-1][2] is None
    assert sender.refusal(framed(1), "mixed", framed(1)).code() == KafkaError.INVALID_RECORD
    assert sender.refusal(framed(2), "mixed", framed(2)).code() == KafkaError.INVALID_RECORD
    assert sender.refusal(framed(2), "mixed", b"key").code() == KafkaError.INVALID_RECORD


def test_two_batches_in_flight_keep_their_order_while_the_first_waits(
    broker: EmbeddedBroker, registry: FakeRegistry
) -> None:
    """An idempotent producer; the second batch's id is known, and it reaches the broker while the first waits."""
    registry.subjects = {1: ["orders-value"], 2: ["orders-value"]}
    warm_up(broker)
    registry.hold(1)
    sender = Sender(broker, enable_idempotence=True, batch_num_messages=1, linger_ms=0)
    sender.send(framed(1, b"first"))
    assert registry.reached.wait(30)
    for number in range(4):
        sender.send(framed(2, b"%d" % number))
    sender.producer.poll(0.3)
    assert sender.reports == [], "nobody has overtaken the first"
    assert broker.call(lambda: broker.broker.partition("orders", 0).log_end_offset) == 1  # type: ignore[union-attr]
    other = Sender(broker)
    other.send(framed(2, b"other"))
    other.settle()
    assert other.reports[-1][1] == 1, "another connection does not wait"
    registry.release(1)
    sender.settle()
    assert [(value, offset, error) for value, offset, error in sender.reports] == [
        (framed(1, b"first"), 2, None),
        *((framed(2, b"%d" % number), 3 + number, None) for number in range(4)),
    ]


def test_what_need_not_wait_is_appended_and_nothing_overtakes(broker: EmbeddedBroker, registry: FakeRegistry) -> None:
    """One request: a batch that waits, another of the same partition whose id is known, and one of a plain topic."""
    broker.create_topic("plain", 1)
    registry.subjects = {1: ["orders-value"], 2: ["orders-value"]}
    warm_up(broker)
    registry.hold(1)

    def batch(value: bytes) -> bytes:
        return bytes(build_batch([Record(0, int(time.time() * 1000), None, value)]))

    request = {
        "transactional_id": None,
        "acks": -1,
        "timeout": 1500,
        "topic_data": [
            {
                "name": "orders",
                "partition_data": [
                    {"index": 0, "records": batch(framed(1, b"first"))},
                    {"index": 0, "records": batch(framed(2, b"second"))},
                    {"index": 0, "records": batch(b"bad")},
                ],
            },
            {"name": "plain", "partition_data": [{"index": 0, "records": batch(b"anything")}]},
        ],
    }
    buffer = bytearray(messages.encode_request(ApiKey.PRODUCE, 9, request))
    context: Any = SimpleNamespace(broker=broker.broker, version=9, client_id="test", connection=None)
    waiting = broker.call(lambda: produce(context, buffer, 0, len(buffer)))
    buffer[:] = bytes(len(buffer))  # the receive buffer goes on to the next request
    assert broker.call(lambda: broker.broker.partition("plain", 0).log_end_offset) == 1  # type: ignore[union-attr]
    registry.release(1)
    (body,) = broker.run(waiting)
    answer = messages.decode_response(ApiKey.PRODUCE, 9, body)
    told = [[(p.error_code, p.base_offset) for p in topic.partition_responses] for topic in answer.responses]
    assert told == [
        [(ErrorCode.none, 1), (ErrorCode.none, 2), (ErrorCode.invalid_record, -1)],
        [(ErrorCode.none, 0)],
    ]
    assert read(broker) == [framed(2, b"warm"), framed(1, b"first"), framed(2, b"second")]


def test_an_idempotent_producer_goes_on_after_the_registry_was_away(
    broker: EmbeddedBroker, registry: FakeRegistry
) -> None:
    """Batches are put off, sent again by the client, and come in order, each once."""
    registry.subjects = {1: ["orders-value"], 2: ["orders-value"]}
    warm_up(broker)
    registry.down = True
    sender = Sender(broker, enable_idempotence=True, batch_num_messages=1, linger_ms=0, retry_backoff_ms=50)
    values = [framed(1 + number % 2, b"%d" % number) for number in range(6)]  # 1 is to be looked up, 2 is known
    for value in values:
        sender.send(value)
    while broker.broker.metrics.requests(ApiKey.PRODUCE) < 10:
        sender.producer.poll(0.05)
    assert sender.reports == []
    registry.down = False
    assert [(value, error) for value, _, error in sender.settle()] == [(value, None) for value in values]
    assert read(broker) == [framed(2, b"warm"), *values]


@pytest.mark.slow
@pytest.mark.java
def test_javas_client_shows_the_words_and_sends_again(broker: EmbeddedBroker, registry: FakeRegistry) -> None:
    registry.subjects = {1: ["orders-value"], 2: ["orders-value"]}
    serializer = "org.apache.kafka.common.serialization.ByteArraySerializer"
    config = {"bootstrap.servers": broker.bootstrap, "key.serializer": serializer, "value.serializer": serializer}
    harness = Harness()
    try:
        producer = JavaProducer(harness, "producer", config)
        producer.send([Outgoing("orders", framed(2))])
        with pytest.raises(Refused, match="InvalidRecordException: the registry has no schema with id 9"):
            producer.send([Outgoing("orders", framed(9))])
        assert producer.send([Outgoing("orders", framed(2))]) == [(0, 1)], "a refused record does not harm the producer"
        registry.down = True
        patient = JavaProducer(harness, "producer", {**config, "batch.size": "1", "linger.ms": "0"})
        asked = len(registry.asked)
        back = threading.Thread(target=lambda: _comes_back(registry, asked))
        back.start()
        values = [framed(1 + number % 2, b"%d" % number) for number in range(6)]
        assert patient.send([Outgoing("orders", value) for value in values]) == [(0, 2 + n) for n in range(6)]
        back.join()
        assert read(broker)[2:] == values
    finally:
        harness.close()


def _comes_back(registry: FakeRegistry, asked: int) -> None:
    """After the second look-up that found it away."""
    deadline = time.monotonic() + 60
    while len(registry.asked) < asked + 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    registry.down = False


def test_transactions_wait_and_are_refused_as_well(broker: EmbeddedBroker, registry: FakeRegistry) -> None:
    registry.subjects = {1: ["orders-value"]}
    registry.hold(1)
    sender = Sender(broker, transactional_id="t", linger_ms=0)
    sender.producer.init_transactions(30)
    sender.producer.begin_transaction()
    sender.send(framed(1, b"a"))
    assert registry.reached.wait(30)
    sender.send(framed(1, b"b"))
    registry.release(1)
    sender.producer.commit_transaction(30)
    assert read(broker) == [framed(1, b"a"), framed(1, b"b")]
    sender.producer.begin_transaction()
    sender.send(framed(1, b"c"))
    sender.send(b"no schema")
    with pytest.raises(KafkaException):
        sender.producer.commit_transaction(30)
    sender.producer.abort_transaction(30)
    assert read(broker) == [framed(1, b"a"), framed(1, b"b")]


def test_acks_0_closes_the_connection_and_writes_nothing(broker: EmbeddedBroker, registry: FakeRegistry) -> None:
    registry.subjects[1] = ["orders-value"]
    sender = Sender(broker, acks=0)
    sender.send(framed(3))
    sender.settle()
    after = Sender(broker)
    after.send(framed(1))
    assert after.settle()[-1][2] is None
    assert read(broker) == [framed(1)]


def test_the_check_is_switched_on_and_off_while_the_broker_runs(broker: EmbeddedBroker) -> None:
    sender = Sender(broker)
    assert sender.refusal(b"plain").code() == KafkaError.INVALID_RECORD
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})

    def switch(value: str) -> None:
        change = ConfigEntry(VALIDATION, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, "orders", incremental_configs=[change])
        for future in admin.incremental_alter_configs([resource]).values():
            future.result(30)

    switch("false")
    sender.send(b"plain")
    assert sender.settle()[-1][2] is None
    switch("true")
    assert sender.refusal(b"plain").code() == KafkaError.INVALID_RECORD


def test_without_a_registry_the_check_cannot_be_asked_for() -> None:
    with embedded_broker() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        (future,) = admin.create_topics([NewTopic("orders", 1, config={VALIDATION: "true"})]).values()
        with pytest.raises(KafkaException) as caught:
            future.result(30)
        error = caught.value.args[0]
        assert error.code() == KafkaError.INVALID_CONFIG
        assert "start the broker with confluent.schema.registry.url" in error.str()
