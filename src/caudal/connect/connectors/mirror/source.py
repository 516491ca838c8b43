"""MirrorSource: copies topics of another cluster to this one, record by record, and notes which offset became which.

Keys, values, headers and timestamps stay as they are, and each record goes to the partition it came from. Committed
records only, unless `consumer.isolation.level` says otherwise (MirrorMaker's default copies aborted ones). Offsets are
kept as MirrorMaker keeps them (`{"cluster", "topic", "partition"}` → `{"offset"}`, of the last record), so one can take
the other's place. Left out: ACLs (MirrorMaker's `sync.topic.acls.enabled`).
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from caudal.connect.configuration import ConfigDef
from caudal.connect.connector import SourceConnector, SourceTask
from caudal.connect.connectors.mirror.cluster import Cluster, silence
from caudal.connect.connectors.mirror.formats import OffsetSync
from caudal.connect.connectors.mirror.offset_syncs import RUN, PartitionSyncs, Sync
from caudal.connect.connectors.mirror.settings import (
    CLUSTERS,
    COPYING,
    INTERNAL_PARTITIONS,
    SOURCE,
    SYNCS,
    TOPICS,
    assigned,
    offset_syncs_topic,
    policy_of,
)
from caudal.connect.connectors.mirror.topics import TopicCopier
from caudal.connect.connectors.mirror.watch import Watch
from caudal.connect.data import BYTES
from caudal.connect.errors import ConnectError
from caudal.connect.records import Header, RecordMetadata, SourceRecord, TopicPartition

if TYPE_CHECKING:
    from confluent_kafka import Message

PROVENANCE = "caudal.mirror.source"
SYNC_SECONDS = 1.0  # how long the newest record may be without an offset sync
FLUSH_SECONDS = 5.0
_OPTIONAL_BYTES = BYTES.as_optional()
log = logging.getLogger("caudal.connect.mirror")


class MirrorSourceTask(SourceTask):
    def start(self, config: dict[str, Any]) -> None:
        from confluent_kafka import OFFSET_BEGINNING
        from confluent_kafka import TopicPartition as Place

        given = self.context.config
        self._source = Cluster(given, "source")
        self._alias: str = config["source.cluster.alias"]
        self._target: str = config["target.cluster.alias"]
        self._wait = config["consumer.poll.timeout.ms"] / 1000
        self._most: int = config["max.poll.records"]
        self._provenance = (
            Header(PROVENANCE, self._alias.encode(), BYTES) if config["provenance.header.enable"] else None
        )
        policy = policy_of(config)
        places = [TopicPartition(topic, partition) for topic, partition in json.loads(config[INTERNAL_PARTITIONS])]
        self._partitions: dict[tuple[str, int], tuple[dict[str, Any], str]] = {
            place: (
                {"cluster": self._alias, "topic": place.topic, "partition": place.partition},
                policy.remote_topic(self._alias, place.topic),
            )
            for place in places
        }
        self._syncs: dict[tuple[str, int], PartitionSyncs] = {}
        self._lag: int = config["offset.lag.max"]
        self._next_sync = time.monotonic() + SYNC_SECONDS
        self._sync_producer = None
        if config["emit.offset-syncs.enabled"]:
            side, self._sync_topic = offset_syncs_topic(config)
            self._sync_producer = Cluster(given, side).producer(
                **{"enable.idempotence": True, "linger.ms": 20, "compression.type": "lz4"}
            )
        self._consumer = self._source.consumer(
            **{"auto.offset.reset": "earliest", "isolation.level": "read_committed", "fetch.min.bytes": 1}
        )
        stored = self.context.offsets.offsets(partition for partition, _ in self._partitions.values())
        self._consumer.assign(
            [
                Place(*place, OFFSET_BEGINNING if offset is None else int(offset["offset"]) + 1)
                for place, offset in zip(places, stored, strict=True)
            ]
        )

    def poll(self) -> Sequence[SourceRecord] | None:
        if time.monotonic() >= self._next_sync:
            self._sync_newest()
        first = self._consumer.poll(self._wait)
        if first is None:
            return None
        messages = [first, *self._consumer.consume(self._most - 1, 0)] if self._most > 1 else [first]
        return [record for message in messages if (record := self._record(message)) is not None] or None

    def _record(self, message: Message) -> SourceRecord | None:
        if message.error() is not None:
            self._complain(message.error())
            return None
        place = (message.topic(), message.partition())
        partition, topic = self._partitions[place]
        headers = tuple([Header(key, value, BYTES) for key, value in message.headers() or ()])
        if self._provenance is not None:
            if any(key == PROVENANCE and value == self._target.encode() for key, value, _ in headers):
                return None
            headers = (*headers, self._provenance)
        kind, timestamp = message.timestamp()
        return SourceRecord(
            partition,
            {"offset": message.offset()},
            topic,
            message.value(),
            _OPTIONAL_BYTES,
            message.key(),
            _OPTIONAL_BYTES,
            place[1],
            timestamp if kind else None,
            headers,
        )

    def _complain(self, error: Any) -> None:
        """What librdkafka gets over by itself is logged; the rest fails the task."""
        from confluent_kafka import KafkaError

        passing = (
            *silence(),
            KafkaError.UNKNOWN_TOPIC_OR_PART,  # deleted: the connector will see it, too
            KafkaError._UNKNOWN_TOPIC,
            KafkaError._UNKNOWN_PARTITION,
        )
        if error.code() not in passing:
            raise ConnectError(f"Reading from the source cluster '{self._alias}' failed: {error.str()}.")
        log.warning("The source cluster '%s': %s", self._alias, error.str())

    # ------------------------------------------------------------------ offset syncs

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        if metadata is None or self._sync_producer is None:
            return
        place = (record.partition["topic"], record.partition["partition"])
        syncs = self._syncs.get(place)
        if syncs is None:
            syncs = self._syncs[place] = PartitionSyncs(self._lag)
        for sync in syncs.on_record(record.offset["offset"], metadata.offset):
            self._write(place, sync)

    def _sync_newest(self) -> None:
        self._next_sync = time.monotonic() + SYNC_SECONDS
        for place, syncs in self._syncs.items():
            for sync in syncs.finish():
                self._write(place, sync)
        if self._sync_producer is not None:
            self._sync_producer.poll(0)

    def _write(self, place: tuple[str, int], sync: Sync) -> None:
        """One that is lost makes translations less exact until the next, and never wrong: a run names its beginning."""
        assert self._sync_producer is not None
        written = OffsetSync(*place, sync.upstream, sync.downstream)
        headers = [(RUN, str(sync.run).encode())] if sync.run is not None else None
        while True:
            try:
                self._sync_producer.produce(
                    self._sync_topic, written.value(), written.key(), 0, headers=headers, on_delivery=self._on_sync
                )
                return
            except BufferError:
                self._sync_producer.poll(0.1)
                if self.context.stopping.is_set():
                    return

    def _on_sync(self, error: Any, message: Any) -> None:
        if error is not None:
            log.warning("An offset sync was not written to %s: %s", self._sync_topic, error.str())

    def commit(self) -> None:
        self._sync_newest()

    def stop(self) -> None:
        if (producer := getattr(self, "_sync_producer", None)) is not None:
            self._sync_newest()
            producer.flush(FLUSH_SECONDS)
        if (consumer := getattr(self, "_consumer", None)) is not None:
            consumer.close()


class MirrorSource(SourceConnector):
    """Topics of another cluster, copied to this one."""

    task = MirrorSourceTask
    aliases = ("org.apache.kafka.connect.mirror.MirrorSourceConnector",)
    converter = "ByteArray"

    @classmethod
    def config(cls) -> ConfigDef:
        return CLUSTERS + TOPICS + COPYING + SYNCS + SOURCE + assigned(INTERNAL_PARTITIONS)

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        return check_aliases(config)

    def start(self, config: dict[str, Any]) -> None:
        given = self.context.config
        clusters = {"source": Cluster(given, "source"), "target": Cluster(given, "target")}
        self._copier = TopicCopier(config, clusters["source"], clusters["target"])
        self._topics = self._copier.find()
        self._lock = threading.Lock()
        self._copier.create(self._topics)
        if config["emit.offset-syncs.enabled"]:
            side, topic = offset_syncs_topic(config)
            clusters[side].create_offset_syncs_topic(topic, config["offset-syncs.topic.replication.factor"])
        self._watch = Watch(self.name)
        if config["refresh.topics.enabled"]:
            self._watch.every(config["refresh.topics.interval.seconds"], self._refresh)
        if config["sync.topic.configs.enabled"]:
            self._copier.sync_settings(self._topics)
            self._watch.every(
                config["sync.topic.configs.interval.seconds"], lambda: self._copier.sync_settings(self._known())
            )
        self._watch.start()

    def _known(self) -> dict[str, int]:
        with self._lock:
            return dict(self._topics)

    def _refresh(self) -> None:
        found = self._copier.find()
        if found != self._known():
            self._copier.create(found)
            with self._lock:
                self._topics = found
            self.context.request_task_reconfiguration()

    def task_configs(self, most: int) -> list[dict[str, str]]:
        """Partitions are dealt out in turn, so that those of a large topic go to different tasks."""
        known = self._known()
        places = [(topic, partition) for topic in sorted(known) for partition in range(known[topic])]
        count = min(most, len(places))
        return [{**self.context.config, INTERNAL_PARTITIONS: json.dumps(places[task::count])} for task in range(count)]

    def stop(self) -> None:
        if (watch := getattr(self, "_watch", None)) is not None:
            watch.stop()

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        return True


def check_aliases(config: Mapping[str, Any]) -> dict[str, list[str]]:
    """The same alias on both sides would copy topics onto themselves, or call every copy a loop."""
    if config["source.cluster.alias"] == config["target.cluster.alias"]:
        return {"target.cluster.alias": ["must be another name than source.cluster.alias"]}
    return {}
