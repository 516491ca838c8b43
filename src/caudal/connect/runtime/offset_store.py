"""Where source offsets are kept: the compacted offset topic, in Kafka Connect's format.

A record's key is the JSON array ["connector", {partition}], its value the JSON object of the offset; no value means
that the partition begins anew. Keys are placed by Java's partitioner and an existing key's bytes are used again, so
that Java's Connect and this one can take over each other's topic. A connector may have a topic of its own
(`offsets.storage.topic`); what that does not know is looked up in the worker's.

    store = open_offset_store(settings, connector_config)
    store.read_all("orders")  ->  [({"table": "orders"}, {"id": 42})]
    store.write("orders", [({"table": "orders"}, {"id": 43})])

Every method blocks, and may be called from any thread. A standalone worker keeps them in a file (`offset_file.py`).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from caudal.connect.errors import ConnectError
from caudal.connect.runtime.settings import WorkerSettings

Partition = Mapping[str, Any]
Offset = Mapping[str, Any]
Entries = Iterable[tuple[Partition, Offset | None]]

Wanted = Callable[[], bool]  # whether whoever writes may still do so; it can be given up while it waits

CALL_SECONDS = 30.0
FLUSH_SLICE = 0.2
READ_SECONDS = 180.0  # transactions that stand in the way end within their own time limit


class OffsetStore(Protocol):
    def read_all(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Every source partition of the connector with its offset, as of now."""

    def write(self, connector: str, entries: Entries, is_wanted: Wanted | None = None) -> None:
        """Durable when it returns; ConnectError when that is not known. An offset of None forgets the partition."""

    def close(self) -> None: ...


def open_offset_store(settings: WorkerSettings, connector_config: Mapping[str, str] | None = None) -> OffsetStore:
    """The store of this connector, or the worker's own without one."""
    if settings.mode == "standalone" and settings.offsets_file is not None:
        from caudal.connect.runtime.offset_file import OffsetFile

        return OffsetFile(settings.offsets_file)
    own = (connector_config or {}).get("offsets.storage.topic")
    if own and own != settings.offset_topic:
        return KafkaOffsetStore(settings, own, KafkaOffsetStore(settings, settings.offset_topic))
    return KafkaOffsetStore(settings, settings.offset_topic)


_shared: dict[tuple[Any, ...], tuple[OffsetStore, int]] = {}
_shared_lock = threading.Lock()


class BorrowedStore:
    """A store that the tasks of a process share: its clients are closed with the last of them."""

    def __init__(self, settings: WorkerSettings, connector_config: Mapping[str, str]) -> None:
        own = connector_config.get("offsets.storage.topic")
        self._key = (settings.bootstrap, settings.mode, settings.offsets_file, settings.offset_topic, own)
        with _shared_lock:
            store, users = _shared.get(self._key) or (open_offset_store(settings, connector_config), 0)
            _shared[self._key] = (store, users + 1)
        self.store = store

    def give_back(self) -> None:
        with _shared_lock:
            store, users = _shared[self._key]
            if users > 1:
                _shared[self._key] = (store, users - 1)
                return
            del _shared[self._key]
        store.close()


def to_json(value: Any) -> bytes:
    """As Java's JsonConverter writes it: no spaces, no escapes beyond JSON's."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def identity(partition: Any) -> str:
    """Equal for equal partitions, whatever the order of their fields."""
    return json.dumps(partition, separators=(",", ":"), sort_keys=True)


class _Entry(NamedTuple):
    key: bytes  # as it lies in the topic
    partition: Any
    offset: Any


class KafkaOffsetStore:
    def __init__(self, settings: WorkerSettings, topic: str, beneath: KafkaOffsetStore | None = None) -> None:
        self.topic = topic
        self._settings = settings
        self._beneath = beneath
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._table: dict[str, dict[str, _Entry]] = {}  # by connector, by identity of the partition
        self._positions: dict[int, int] = {}
        self._ensured = False
        self._admin: Any = None
        self._producer: Any = None

    # -- reading ------------------------------------------------------------------------------------------------------

    def read_all(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        found = {} if self._beneath is None else {identity(p): (p, o) for p, o in self._beneath.read_all(connector)}
        with self._lock:
            self._read_to_end()
            for name, entry in self._table.get(connector, {}).items():
                if entry.offset is None:
                    found.pop(name, None)
                else:
                    found[name] = (entry.partition, entry.offset)
        return list(found.values())

    def _read_to_end(self) -> None:
        """From where the last reading ended. Only committed records: a transaction's offsets come with its records."""
        self.ensure_topic()  # before asking about it: the question alone may make it, with other settings
        ends = self._ends()
        if any(self._positions.get(partition, 0) > end for partition, end in ends.items()):
            self._positions.clear()  # the topic was deleted and made anew
            self._table.clear()
        behind = {partition: end for partition, end in ends.items() if self._positions.get(partition, 0) < end}
        if not behind:
            return
        consumer = Consumer(
            self._settings.librdkafka(
                **{
                    "group.id": f"{self._settings.group_id}-offsets",  # never joined
                    "isolation.level": "read_committed",
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "earliest",
                    "fetch.wait.max.ms": 50,
                    "log_level": 2,
                }
            )
        )
        try:
            consumer.assign([TopicPartition(self.topic, one, self._positions.get(one, 0)) for one in behind])
            last = time.monotonic()
            while behind:
                messages = consumer.consume(1000, 0.2)
                if messages:
                    last = time.monotonic()
                elif time.monotonic() - last > READ_SECONDS:
                    raise ConnectError(
                        f"The offset topic '{self.topic}' cannot be read to its end: the broker is silent, "
                        "or a transaction does not end."
                    )
                for message in messages:
                    self._take(message, behind)
        finally:
            consumer.close()

    def _take(self, message: Any, behind: dict[int, int]) -> None:
        partition, error = message.partition(), message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                self._reached(partition, message.offset(), behind)
                return
            if error.retriable() or error.code() in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
                return
            raise ConnectError(f"The offset topic '{self.topic}' cannot be read: {error.str()}.")
        self._reached(partition, message.offset() + 1, behind)
        try:
            connector, source = json.loads(message.key())
            offset = json.loads(message.value()) if message.value() is not None else None
        except (TypeError, ValueError):
            return  # not one of ours
        if isinstance(connector, str):
            self._table.setdefault(connector, {})[identity(source)] = _Entry(message.key(), source, offset)

    def _reached(self, partition: int, position: int, behind: dict[int, int]) -> None:
        """A record behind the end that was asked for is enough: while others write, the log's own end never comes."""
        self._positions[partition] = position
        if position >= behind.get(partition, 0):
            behind.pop(partition, None)

    def _ends(self) -> dict[int, int]:
        """Of each partition, with what is in open transactions: one of another task may stand before an offset that is
        ours and committed. So the reading waits until those have ended."""
        admin = self._connected()
        try:
            described = admin.list_topics(self.topic, timeout=CALL_SECONDS).topics.get(self.topic)
            if described is None or described.error is not None or not described.partitions:
                return {}
            asked = {TopicPartition(self.topic, one): OffsetSpec.latest() for one in described.partitions}
            answers = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED)
            return {place.partition: int(answer.result(CALL_SECONDS).offset) for place, answer in answers.items()}
        except KafkaException as error:
            raise ConnectError(f"The offset topic '{self.topic}' cannot be read: {error.args[0].str()}.") from error

    # -- writing ------------------------------------------------------------------------------------------------------

    def encode(self, connector: str, partition: Partition, offset: Offset | None) -> tuple[bytes, bytes | None]:
        """Key and value of the record that stores this offset."""
        known = self._table.get(connector, {}).get(identity(partition))
        key = known.key if known is not None else to_json([connector, partition])
        return key, None if offset is None else to_json(offset)

    def write(self, connector: str, entries: Entries, is_wanted: Wanted | None = None) -> None:
        entries = list(entries)
        if self._beneath is not None and (forgotten := [(p, o) for p, o in entries if o is None]):
            self._beneath.write(connector, forgotten)
        refused: list[Any] = []
        with self._writing:
            self.ensure_topic()
            producer = self._open_producer()
            self._check(connector, is_wanted)
            for partition, offset in entries:
                key, value = self.encode(connector, partition, offset)
                producer.produce(
                    self.topic, value, key, on_delivery=lambda error, _: refused.append(error) if error else None
                )
            deadline = time.monotonic() + CALL_SECONDS
            while (left := producer.flush(FLUSH_SLICE)) > 0 and time.monotonic() < deadline:
                if is_wanted is not None and not is_wanted():
                    break
            if left > 0:
                self._producer = None  # what it still holds must not be written after what comes next
                producer.purge()
                self._check(connector, is_wanted)
                raise ConnectError(
                    f"The offsets of connector {connector} could not be written to '{self.topic}' "
                    f"in {CALL_SECONDS:.0f} s; is the broker there?"
                )
        if refused:
            raise ConnectError(f"The topic '{self.topic}' refused offsets of {connector}: {refused[0].str()}.")

    def _check(self, connector: str, is_wanted: Wanted | None) -> None:
        if is_wanted is not None and not is_wanted():
            raise ConnectError(f"These offsets of connector {connector} are not written: its task was abandoned.")

    def ensure_topic(self) -> None:
        """Compacted, with as many partitions as the worker's settings say, unless it is there."""
        if self._ensured:
            return
        topic = NewTopic(self.topic, self._settings.offset_partitions, -1, config={"cleanup.policy": "compact"})
        try:
            self._connected().create_topics([topic])[self.topic].result(CALL_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise ConnectError(f"The offset topic '{self.topic}' cannot be made: {error.args[0].str()}.") from error
        self._ensured = True

    def _open_producer(self) -> Any:
        if self._producer is None:
            self._producer = Producer(
                self._settings.librdkafka(
                    **{
                        "enable.idempotence": True,
                        "acks": "all",
                        "partitioner": "murmur2_random",
                        "linger.ms": 0,
                        "message.timeout.ms": 0,
                        "log_level": 2,
                    }
                )
            )
        return self._producer

    def _connected(self) -> Any:
        if self._admin is None:
            self._admin = AdminClient(self._settings.librdkafka(log_level=2))
        return self._admin

    def close(self) -> None:
        with self._writing:
            producer, self._producer = self._producer, None
            if producer is not None:
                producer.flush(1.0)
            self._admin = None
        if self._beneath is not None:
            self._beneath.close()
