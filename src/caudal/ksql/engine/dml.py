"""INSERT INTO … VALUES, and rows that clients insert: coerced to the columns' types, written, and confirmed by the
broker before they are answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from caudal.ksql.engine import properties
from caudal.ksql.engine.handlers import Request, handles
from caudal.ksql.engine.settings import EngineSettings
from caudal.ksql.errors import KsqlError, Position, suggestion
from caudal.ksql.expressions.compiled import constant
from caudal.ksql.formats.serdes import key_serde, value_serde
from caudal.ksql.schema import PSEUDO_COLUMNS, ROWTIME, Place
from caudal.ksql.sources import Source
from caudal.ksql.syntax.statements import InsertValues
from caudal.ksql.types import BIGINT, SqlType
from caudal.serde.serde import Serde, SerdeError, bound, with_registry

SECONDS = 30.0


@handles(InsertValues)
def insert_values(request: Request, statement: InsertValues) -> None:
    if not request.properties[properties.INSERT_ENABLED]:
        raise KsqlError("The server has disabled INSERT INTO ... VALUES functionality.")
    source = request.engine.catalog.source(statement.target, statement.at)
    check_insertable(source, statement.at)
    named = statement.columns or tuple(column.name for column in source.schema if column.place is not Place.HEADERS)
    if len(named) != len(statement.values):
        raise KsqlError(
            f"Expected a value for each column. Expected Columns: [{', '.join(named)}]. "
            f"Got {len(statement.values)} values.",
            statement.at,
        )
    row: dict[str, Any] = {}
    for name, expression in zip(named, statement.values, strict=True):
        if name in row:
            raise KsqlError(f"Column {name} is named twice.", statement.at)
        try:
            row[name] = constant(expression, column_type(source, name, statement.at))
        except KsqlError as error:
            if error.at is None:
                error.at = expression.at
            raise
    request.engine.inserts.insert(source, row, statement.at)
    request.engine.views.touch(source.topic)


def check_insertable(source: Source, at: Position | None = None) -> None:
    word = source.kind.value.lower()
    if source.is_source:
        raise KsqlError(f"Cannot insert values into read-only {word}: {source.name}", at)
    if source.window is not None:
        raise KsqlError("Cannot insert values into windowed stream/table!", at)


def column_type(source: Source, name: str, at: Position | None) -> SqlType:
    if name == ROWTIME:
        return BIGINT
    if name in PSEUDO_COLUMNS:
        raise KsqlError(f"Inserting into column `{name}` is not allowed.", at)
    column = source.schema.find(name)
    if column is None:
        raise KsqlError(f"Column name `{name}` does not exist.{suggestion(name, source.schema.names())}", at)
    if column.place is Place.HEADERS:
        raise KsqlError(f"Cannot insert into HEADER columns: {name}", at)
    return column.type


class Inserts:
    """One producer for all rows. Threads may insert at the same time."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._producer: Any = None
        self._lock = threading.Lock()
        self._serdes: dict[str, tuple[Source, Serde, Serde]] = {}
        self._stop = threading.Event()

    def start(self) -> None:
        """The producer gets its id, which takes longer than a record does."""
        self._client()

    def insert(self, source: Source, row: Mapping[str, Any], at: Position | None = None) -> None:
        """`row` by column name, with values of the columns' types. Raises KsqlError where it is not in the topic."""
        future = self.send(source, row, at)
        try:
            future.result(SECONDS)
        except KafkaException as error:
            raise KsqlError(f"Failed to insert values into '{source.name}'. {error.args[0].str()}", at) from None
        except TimeoutError:
            raise KsqlError(f"Failed to insert values into '{source.name}'. The broker does not answer.", at) from None

    def send(self, source: Source, row: Mapping[str, Any], at: Position | None = None) -> Future[int]:
        """Without waiting for the broker: the future has the offset, or KafkaException."""
        check_insertable(source, at)
        key, value = self._record(source, row, at)
        rowtime = row.get(ROWTIME)
        timestamp = int(time.time() * 1000) if rowtime is None else rowtime
        if timestamp < 0:
            raise KsqlError(f"ROWTIME must not be negative: {timestamp}.", at)
        future: Future[int] = Future()

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is not None:
                future.set_exception(KafkaException(error))
            else:
                future.set_result(message.offset())

        try:
            self._produce(source.topic, key, value, timestamp, delivered)
        except KafkaException as error:
            raise KsqlError(f"Failed to insert values into '{source.name}'. {error.args[0].str()}", at) from None
        except BufferError:
            raise KsqlError(
                f"Failed to insert values into '{source.name}'. Too many inserts are under way.", at
            ) from None
        return future

    def _produce(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, delivered: Callable[[Any, Any], None]
    ) -> None:
        # librdkafka takes 0 for "now"; the next millisecond is nearest.
        self._client().produce(topic, value, key, on_delivery=delivered, timestamp=timestamp or 1)

    def _record(self, source: Source, row: Mapping[str, Any], at: Position | None) -> tuple[bytes | None, bytes | None]:
        schema = source.schema
        keys = tuple(row.get(column.name) for column in schema.key)
        if source.is_table and any(key is None for key in keys):
            missing = [column.name for column, key in zip(schema.key, keys, strict=True) if key is None]
            raise KsqlError(
                f"Failed to insert values into '{source.name}'. Value for primary key column(s) {', '.join(missing)} "
                "is required for tables",
                at,
            )
        values = tuple(row.get(column.name) for column in schema.value)
        write_key, write_value = self._serdes_of(source)
        try:
            key = None if all(part is None for part in keys) else write_key.serialize(keys)
            return key, write_value.serialize(values)
        except SerdeError as error:
            raise KsqlError(f"Failed to insert values into '{source.name}'. {error}", at) from None

    def _serdes_of(self, source: Source) -> tuple[Serde, Serde]:
        known = self._serdes.get(source.name)
        if known is None or known[0] != source:
            key, value = bound_serdes(source, self._settings)
            known = self._serdes[source.name] = (source, key, value)
        return known[1], known[2]

    def _client(self) -> Any:
        with self._lock:
            if self._producer is None:
                settings = {
                    "client.id": "caudal-ksql-insert",
                    "enable.idempotence": True,
                    "linger.ms": 0,
                    "partitioner": "murmur2_random",
                    "delivery.timeout.ms": int(SECONDS * 1000),
                }
                self._producer = Producer({**self._settings.librdkafka(), **settings})
                threading.Thread(target=self._poll, name="ksql-inserts", daemon=True).start()
            return self._producer

    def _poll(self) -> None:
        while not self._stop.is_set():
            self._producer.poll(0.1)

    def close(self) -> None:
        self._stop.set()
        if self._producer is not None:
            self._producer.flush(5)


def bound_serdes(source: Source, settings: EngineSettings) -> tuple[Serde, Serde]:
    """The serdes of a source's topic, with the registry's address where they use it."""
    from caudal.registry.client import configured_registry

    registry = settings.registry or configured_registry()
    key = key_serde(source.key_format, source.schema.key, source.window)
    value = value_serde(source.value_format, source.schema.value)
    return (
        bound(with_registry(key, registry), source.topic, True),
        bound(with_registry(value, registry), source.topic, False),
    )
