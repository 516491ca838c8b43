"""One of a mirror's two clusters: topics, settings and groups by the admin client, its errors in one sentence."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from caudal.connect.connectors.mirror.groups import Groups, UnreachableError
from caudal.connect.connectors.mirror.settings import Role, Side, client_properties
from caudal.connect.errors import ConfigError, ConnectError
from caudal.connect.records import TopicPartition

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, Producer

ANSWER_SECONDS = 30.0
READ_SECONDS = 60.0
SLICE_SECONDS = 0.5
KEPT_MS = 7 * 24 * 3600 * 1000
T = TypeVar("T")


def silence() -> frozenset[int]:
    """Codes of librdkafka for a cluster that is away. It connects again by itself."""
    from confluent_kafka import KafkaError

    return frozenset((KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT, KafkaError._RESOLVE))


class Cluster:
    """Made from all properties of the connector; connects when it is first asked."""

    def __init__(self, given: Mapping[str, Any], side: Side, stopping: threading.Event | None = None) -> None:
        self._given = given
        self._stopping = stopping or threading.Event()  # what is waited for is given up then
        self.side = side
        self.name = str(given.get(f"{side}.cluster.alias") or side)
        self._admin: Any = None
        self._offsets: Groups | None = None

    def properties(self, role: Role, **more: Any) -> dict[str, Any]:
        found = {**more, **client_properties(self._given, self.side, role)}
        if not found.get("bootstrap.servers"):
            raise ConfigError(
                f"the address of the {self.side} cluster is missing", f"{self.side}.cluster.bootstrap.servers"
            )
        # 2: a cluster that is away is said by us, once a round, and not by each client every second.
        return {"log_level": 2, **found}

    def consumer(self, **more: Any) -> Consumer:
        from confluent_kafka import Consumer

        fixed = {"enable.auto.commit": False, "enable.auto.offset.store": False}
        return self._client(Consumer, {"group.id": "caudal-mirror", **self.properties("consumer", **more), **fixed})

    def producer(self, **more: Any) -> Producer:
        from confluent_kafka import Producer

        return self._client(Producer, {**self.properties("producer"), **more})

    def _client(self, factory: Callable[[dict[str, Any]], T], properties: dict[str, Any]) -> T:
        from confluent_kafka import KafkaException

        try:
            return factory(properties)
        except (KafkaException, TypeError, ValueError) as error:
            cause = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            raise ConfigError(
                f"The properties of the {self.side} cluster '{self.name}' are wrong: {cause}; those behind "
                f"{self.side}.cluster. are librdkafka's."
            ) from None

    @property
    def admin(self) -> Any:
        if self._admin is None:
            from confluent_kafka.admin import AdminClient

            self._admin = self._client(AdminClient, self.properties("admin"))
        return self._admin

    def ask(self, doing: str, request: Callable[[], T]) -> T:
        """Runs a request; its failure becomes a sentence that names the cluster."""
        from confluent_kafka import KafkaException

        is_passing = True
        try:
            return request()
        except KafkaException as error:
            reason = error.args[0].str() if error.args else str(error)
            is_passing = bool(error.args) and error.args[0].code() in silence()
        except TimeoutError:
            reason = f"no answer in {ANSWER_SECONDS:.0f} s"
        address = self._given.get(f"{self.side}.cluster.bootstrap.servers")
        kind = UnreachableError if is_passing else ConnectError
        raise kind(f"{doing} failed on the {self.side} cluster '{self.name}' ({address}): {reason}.")

    def _answer(self, future: Any) -> Any:
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                return future.result(SLICE_SECONDS)
            except TimeoutError:
                if self._stopping.is_set() or time.monotonic() > deadline:
                    raise

    # ------------------------------------------------------------------ topics

    def topics(self) -> dict[str, int]:
        """All, with their numbers of partitions."""
        found = self.ask("Listing topics", lambda: self.admin.list_topics(timeout=ANSWER_SECONDS))
        return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}

    def settings(self, topics: Iterable[str], of_brokers: bool = False) -> dict[str, dict[str, str]]:
        """What is set for these topics, and is neither read-only nor secret; `of_brokers` adds what the cluster's own
        settings make different from Kafka's defaults."""
        from confluent_kafka.admin import ConfigResource, ConfigSource

        def counts(entry: Any) -> bool:
            if entry.is_read_only or entry.is_sensitive or entry.value is None:
                return False
            if of_brokers:
                return not entry.is_default
            return bool(entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value)

        resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
        if not resources:
            return {}
        futures = self.admin.describe_configs(resources, request_timeout=ANSWER_SECONDS)
        result = {}
        for resource, future in futures.items():
            entries = self.ask("Describing settings", lambda future=future: self._answer(future))  # type: ignore[misc]
            result[resource.name] = {name: entry.value for name, entry in entries.items() if counts(entry)}
        return result

    def create_topic(self, name: str, partitions: int, replicas: int, settings: Mapping[str, str]) -> bool:
        """Whether it was made now; one that is there is left as it is."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import NewTopic

        topic = NewTopic(name, num_partitions=partitions, replication_factor=replicas, config=dict(settings))

        def create() -> bool:
            (future,) = self.admin.create_topics([topic], request_timeout=ANSWER_SECONDS).values()
            try:
                self._answer(future)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    return False
                raise
            return True

        return self.ask(f"Creating the topic {name}", create)

    def add_partitions(self, name: str, total: int) -> None:
        from confluent_kafka.admin import NewPartitions

        def add() -> None:
            (future,) = self.admin.create_partitions(
                [NewPartitions(name, total)], request_timeout=ANSWER_SECONDS
            ).values()
            self._answer(future)

        self.ask(f"Adding partitions to the topic {name}", add)

    def change_settings(self, name: str, put: Mapping[str, str], remove: Iterable[str]) -> None:
        from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource

        def entry(key: str, value: str | None, operation: Any) -> Any:
            return ConfigEntry(key, value, source=ConfigSource.DYNAMIC_TOPIC_CONFIG, incremental_operation=operation)

        entries = [entry(key, value, AlterConfigOpType.SET) for key, value in put.items()]
        entries += [entry(key, None, AlterConfigOpType.DELETE) for key in remove]
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=entries)

        def change() -> None:
            (future,) = self.admin.incremental_alter_configs([resource], request_timeout=ANSWER_SECONDS).values()
            self._answer(future)

        self.ask(f"Changing settings of the topic {name}", change)

    def create_offset_syncs_topic(self, name: str, replicas: int) -> None:
        """Compacted, as MirrorMaker's; but what is younger than a week is kept, so that groups which are behind can be
        translated after a restart."""
        self.create_topic(name, 1, replicas, {"cleanup.policy": "compact", "min.compaction.lag.ms": str(KEPT_MS)})

    def ends(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Where committed records end (the last stable offset). Partitions that are not there are left out."""
        from confluent_kafka import IsolationLevel, KafkaError, KafkaException
        from confluent_kafka import TopicPartition as Place
        from confluent_kafka.admin import OffsetSpec

        wanted = {Place(*place): OffsetSpec.latest() for place in places}
        if not wanted:
            return {}
        found = {}
        futures = self.admin.list_offsets(
            wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ANSWER_SECONDS
        )
        for place, future in futures.items():

            def end(future: Any = future) -> int | None:
                try:
                    return int(self._answer(future).offset)
                except KafkaException as error:
                    if error.args[0].code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
                        return None
                    raise

            if (offset := self.ask("Asking for the ends of topics", end)) is not None:
                found[TopicPartition(place.topic, place.partition)] = offset
        return found

    # ------------------------------------------------------------------ groups

    def groups(self) -> list[str]:
        return sorted(one.group_id for one in self._listed())

    def _listed(self) -> list[Any]:
        found = self.ask(
            "Listing groups",
            lambda: self._answer(self.admin.list_consumer_groups(request_timeout=ANSWER_SECONDS)),
        )
        return list(found.valid)

    def is_active(self, group: str) -> bool:
        """Whether it has members, or may have some in a moment. One that does not exist has none."""
        from confluent_kafka import ConsumerGroupState

        empty = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)
        return any(one.group_id == group and one.state not in empty for one in self._listed())

    def committed(self, group: str) -> dict[TopicPartition, tuple[int, str]]:
        """The offsets and metadata that the group has committed."""
        return self.all_committed([group]).get(group, {})

    def all_committed(self, groups: Sequence[str]) -> dict[str, dict[TopicPartition, tuple[int, str]]]:
        """The same of several groups, in one request."""
        return self._groups().committed(groups)

    def commit(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Sets offsets of a group that has no members."""
        self._groups().commit(group, offsets)

    def _groups(self) -> Groups:
        if self._offsets is None:
            self._offsets = Groups(self.properties("admin"), self.name)
        return self._offsets

    def close(self) -> None:
        if self._offsets is not None:
            self._offsets.close()


class TopicReader:
    """Reads a topic of one partition from its beginning, again and again up to its end at that time."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        from confluent_kafka import OFFSET_BEGINNING
        from confluent_kafka import TopicPartition as Place

        self._cluster = cluster
        self._place = Place(topic, 0, OFFSET_BEGINNING)
        self._reached = 0
        self._consumer = cluster.consumer(
            **{"auto.offset.reset": "earliest", "isolation.level": "read_committed", "enable.partition.eof": True}
        )
        self._consumer.assign([self._place])

    def to_end(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[Message]:
        """What is new. Where nothing is heard for a minute it raises."""
        from confluent_kafka import KafkaError

        doing = f"Reading {self._place.topic}"
        end = self._cluster.ask(doing, lambda: self._end(stopped))
        deadline = time.monotonic() + READ_SECONDS
        while self._reached < end and not stopped():
            for message in self._consumer.consume(1000, 0.05) or ():
                deadline = time.monotonic() + READ_SECONDS
                error = message.error()
                if error is None:
                    self._reached = message.offset() + 1
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:  # behind the last marker, where records end before
                    self._reached = max(self._reached, message.offset())
                elif error.code() not in silence():
                    self._cluster.ask(doing, lambda error=error: _raise(error))  # type: ignore[misc]
            if time.monotonic() > deadline:
                self._cluster.ask(doing, lambda: _raise(None))

    def _end(self, stopped: Callable[[], bool]) -> int:
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                found = self._consumer.get_watermark_offsets(self._place, timeout=2 * SLICE_SECONDS)
                if found is None:
                    raise TimeoutError
                return int(found[1])
            except (KafkaException, TimeoutError) as error:
                passing = isinstance(error, TimeoutError) or error.args[0].code() in silence()
                if not passing or stopped() or time.monotonic() > deadline:
                    raise

    def close(self) -> None:
        self._consumer.close()


def _raise(error: Any) -> None:
    from confluent_kafka import KafkaException

    raise TimeoutError if error is None else KafkaException(error)
