"""Rows of a batch into a topic, in one transaction with where the batch ends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from caudal.connect.connector_config import converters_of
from caudal.connect.connectors.spark.columns import from_arrow
from caudal.connect.data import Schema
from caudal.connect.errors import ConfigError, ConnectError
from caudal.connect.runtime.settings import WorkerSettings

SECONDS = 60.0
TRANSACTION_MS = 300_000


class TopicWriter:
    """Fences a former one of the same connector. The position is an offset of the group `connect-NAME` on the topic's
    first partition (the batch), with JSON beside it."""

    def __init__(self, texts: Mapping[str, str], worker: WorkerSettings, config: Mapping[str, Any]) -> None:
        from confluent_kafka import Consumer, Producer, TopicPartition

        name = config["name"]
        self._topic: str = config["topic"]
        self._key_column: str | None = config["key.column"]
        self._converters = converters_of(texts, worker)
        self._failure: Any = None
        self._place = TopicPartition(self._topic, 0)
        own = {"transactional.id": f"connect-spark-{name}", "transaction.timeout.ms": TRANSACTION_MS, "linger.ms": 20}
        self._producer = Producer(worker.librdkafka(**own, log_level=3))
        group = {"group.id": f"connect-{name}", "enable.auto.commit": False, "log_level": 3}
        self._consumer = Consumer(worker.librdkafka(**group))
        self._ask("The topic cannot be made", lambda: self._make_topic(worker))
        self._ask("Transactions cannot be begun", lambda: self._producer.init_transactions(SECONDS))

    def _make_topic(self, worker: WorkerSettings) -> None:
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient(worker.librdkafka(log_level=3))
        if self._topic in admin.list_topics(timeout=SECONDS).topics:
            return
        try:
            admin.create_topics([NewTopic(self._topic, -1, -1)])[self._topic].result(SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def _ask(self, doing: str, request: Any) -> Any:
        from confluent_kafka import KafkaException

        try:
            return request()
        except KafkaException as error:
            raise ConnectError(f"{doing}: {error.args[0].str()}.") from None

    def use(self, schema: Schema) -> None:
        """The rows' schema, for all batches from now on."""
        self._schema = schema
        self._value = from_arrow(schema)
        self._key_schema: Schema | None = None
        if self._key_column is not None:
            field = schema.field(self._key_column)
            if field is None:
                names = ", ".join(one.name for one in schema.fields)
                raise ConfigError(f"there is no column {self._key_column}; there are {names}", "key.column")
            self._key_schema = field.schema

    def position(self) -> tuple[int, dict[str, Any]] | None:
        """The number after the last batch that was committed, and what was kept with it."""
        (found,) = self._ask("The position cannot be read", lambda: self._consumer.committed([self._place], SECONDS))
        return None if found.offset < 0 else (found.offset, json.loads(found.metadata or "{}"))

    def write(self, batches: Iterable[Any], number: int, kept: Mapping[str, Any]) -> int:
        """All or nothing."""
        from confluent_kafka import KafkaException, TopicPartition

        end = TopicPartition(self._topic, 0, number, json.dumps(dict(kept)))
        self._failure = None
        try:
            self._producer.begin_transaction()
            count = sum(self._send(batch.to_pylist()) for batch in batches)
            self._producer.flush(SECONDS)
            if self._failure is not None:
                raise KafkaException(self._failure)
            self._producer.send_offsets_to_transaction([end], self._consumer.consumer_group_metadata(), SECONDS)
            self._producer.commit_transaction(SECONDS)
            return count
        except KafkaException as error:
            raise ConnectError(f"The rows were not written to {self._topic}: {error.args[0].str()}.") from None

    def _send(self, rows: list[dict[str, Any]]) -> int:
        encode, topic, schema = self._converters.value.encode, self._topic, self._schema
        encode_key, key_column, key_schema = self._converters.key.encode, self._key_column, self._key_schema
        made, produce = self._value, self._producer.produce
        for row in rows:
            value = row if made is None else made(row)
            key = None if key_column is None else encode_key(topic, key_schema, value[key_column])
            data = encode(topic, schema, value)
            while True:
                try:
                    produce(topic, data, key, on_delivery=self._on_delivery)
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self._producer.poll(0)
        return len(rows)

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None and self._failure is None:
            self._failure = error

    def close(self) -> None:
        """An open transaction is aborted by the next writer, or by its time limit."""
        self._consumer.close()
        self._converters.close()
        self._producer.purge()
