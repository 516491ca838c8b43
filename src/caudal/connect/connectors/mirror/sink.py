"""MirrorSink: copies topics of this cluster to another one, for workers that run beside the source.

At least once by an idempotent producer; with `exactly.once` each source partition is written in transactions of its
own, and what was read is committed with them to a group of the target (`connect-NAME`, under the copies' names): after
a failure it goes on behind the last committed record, and a former owner of the partition is fenced. Group offsets and
checkpoints need MirrorSource: a sink does not hear of offsets in the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def
from caudal.connect.connector import SinkConnector, SinkTask
from caudal.connect.connectors.mirror.cluster import Cluster
from caudal.connect.connectors.mirror.policy import NameFilter
from caudal.connect.connectors.mirror.settings import CLUSTERS, COPYING, policy_of
from caudal.connect.connectors.mirror.source import check_aliases
from caudal.connect.connectors.mirror.topics import TopicCopier
from caudal.connect.connectors.mirror.watch import Watch
from caudal.connect.errors import ConnectError, DataError, RetriableError
from caudal.connect.records import SinkRecord, TopicPartition

if TYPE_CHECKING:
    from confluent_kafka import Producer

SECONDS = 60.0
GROUP = "connect-"


class _Writer:
    """A producer of the target, and the first failure of what it was given."""

    def __init__(self, cluster: Cluster, transactional_id: str | None) -> None:
        properties: dict[str, Any] = {"enable.idempotence": True, "linger.ms": 20, "partitioner": "murmur2_random"}
        if transactional_id is not None:
            properties["transactional.id"] = transactional_id
        self.producer: Producer = cluster.producer(**properties)
        self._cluster = cluster
        self._failure: Any = None
        self.in_transaction = False
        self._transactional = transactional_id is not None
        if self._transactional:
            cluster.ask("Beginning transactions", lambda: self.producer.init_transactions(SECONDS))

    def write(self, topic: str, record: SinkRecord) -> None:
        if self._transactional and not self.in_transaction:
            self._cluster.ask("Beginning a transaction", self.producer.begin_transaction)
            self.in_transaction = True
        arguments: dict[str, Any] = {"headers": [(header.key, header.value) for header in record.headers] or None}
        if record.timestamp is not None:
            arguments["timestamp"] = record.timestamp
        while True:
            try:
                self.producer.produce(
                    topic, record.value, record.key, record.partition, on_delivery=self._on_delivery, **arguments
                )
                return
            except BufferError:
                self.producer.poll(0.1)

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None and self._failure is None:
            self._failure = error

    def flush(self) -> None:
        left = self.producer.flush(SECONDS)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise ConnectError(f"The target cluster '{self._cluster.name}' refused a record: {failure.str()}.")
        if left:
            raise RetriableError(f"The target cluster '{self._cluster.name}' does not answer; {left} records wait.")

    def commit(self, place: Any, group: Any) -> None:
        """All since the last one, and the position in the source, at once."""
        if not self.in_transaction:
            return
        self.flush()
        self._cluster.ask(
            "Committing a transaction",
            lambda: (
                self.producer.send_offsets_to_transaction([place], group, SECONDS),
                self.producer.commit_transaction(SECONDS),
            ),
        )
        self.in_transaction = False

    def close(self) -> None:
        from confluent_kafka import KafkaException

        if self.in_transaction:
            try:
                self.producer.abort_transaction(SECONDS)
            except KafkaException:  # fenced, or the target is gone: the next owner's start aborts it
                pass
        self.producer.purge()


class MirrorSinkTask(SinkTask):
    def start(self, config: dict[str, Any]) -> None:
        given = self.context.config
        self._target = Cluster(given, "target")
        self._alias: str = config["source.cluster.alias"]
        self._policy = policy_of(config)
        self._exactly_once: bool = config["exactly.once"]
        self._name = given.get("name", "mirror")
        self._topics: dict[str, str] = {}
        self._writers: dict[TopicPartition | None, _Writer] = {}
        self._written: dict[TopicPartition, int] = {}
        self._group: Any = None

    def open(self, partitions: set[TopicPartition]) -> None:
        if not self._exactly_once:
            return
        for place in partitions:  # fences a former owner, so that what is committed then stays what is committed
            self._writers[place] = _Writer(self._target, f"{self._name}-{place.topic}-{place.partition}")
        committed = self._target.committed(GROUP + self._name)
        positions = {}
        for place in partitions:
            found = committed.get(TopicPartition(self._copy(place.topic), place.partition))
            if found is not None:
                positions[place] = found[0]
        if positions:
            self.context.seek(positions)

    def _copy(self, topic: str) -> str:
        copy = self._topics.get(topic)
        if copy is None:
            copy = self._topics[topic] = self._policy.remote_topic(self._alias, topic)
        return copy

    def put(self, records: Sequence[SinkRecord]) -> None:
        for record in records:
            for part in (record.key, record.value):
                if part is not None and not isinstance(part, bytes):
                    raise DataError("A mirror copies bytes: set key.converter and value.converter to ByteArray.")
            place = None
            if self._exactly_once:
                topic, partition, offset = record.original or (record.topic, record.partition, record.offset)
                place = TopicPartition(topic, partition)
                self._written[place] = offset + 1
            writer = self._writers.get(place)
            if writer is None:
                writer = self._writers[place] = _Writer(self._target, None)
            writer.write(self._copy(record.topic), record)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        from confluent_kafka import TopicPartition as Place

        for place, writer in self._writers.items():
            if place is None:
                writer.flush()
            elif place in self._written:
                at = Place(self._copy(place.topic), place.partition, self._written[place])
                writer.commit(at, self._group_metadata())

    def _group_metadata(self) -> Any:
        if self._group is None:
            self._group = self._target.consumer(**{"group.id": GROUP + self._name}).consumer_group_metadata()
        return self._group

    def close(self, partitions: set[TopicPartition]) -> None:
        for place in partitions:
            if (writer := self._writers.pop(place, None)) is not None:
                writer.close()
            self._written.pop(place, None)

    def stop(self) -> None:
        for writer in getattr(self, "_writers", {}).values():
            writer.close()
        self._writers = {}


class MirrorSink(SinkConnector):
    """Topics of this cluster, copied to another one."""

    task = MirrorSinkTask
    converter = "ByteArray"
    delivery = "at least once; exactly once with exactly.once=true"

    @classmethod
    def config(cls) -> ConfigDef:
        return (
            CLUSTERS
            + COPYING
            + config_def(
                Key(
                    name="exactly.once",
                    type=Type.BOOLEAN,
                    default=False,
                    importance=Importance.MEDIUM,
                    doc="Whether records and positions go to the target in transactions.",
                )
            )
        )

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        return check_aliases(config)

    def start(self, config: dict[str, Any]) -> None:
        given = self.context.config
        names = [name for name in given.get("topics", "").split(",") if name.strip()]
        chosen = {name.strip() for name in names}
        pattern = NameFilter([given["topics.regex"]], key="topics.regex") if given.get("topics.regex") else None
        self._copier = TopicCopier(
            config,
            Cluster(given, "source"),
            Cluster(given, "target"),
            lambda topic: topic in chosen or (pattern is not None and pattern(topic)),
        )
        self._refresh()
        self._watch = Watch(self.name)
        if config["refresh.topics.enabled"]:
            self._watch.every(config["refresh.topics.interval.seconds"], self._refresh)
        if config["sync.topic.configs.enabled"]:
            self._watch.every(
                config["sync.topic.configs.interval.seconds"],
                lambda: self._copier.sync_settings(self._copier.find()),
            )
        self._watch.start()

    def _refresh(self) -> None:
        self._copier.create(self._copier.find())

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [dict(self.context.config) for _ in range(most)]

    def stop(self) -> None:
        if (watch := getattr(self, "_watch", None)) is not None:
            watch.stop()
