"""One of a mirror's two clusters: topics, settings and groups by the admin client, its errors in one sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from caudal.connect.connectors.mirror.settings import Role, Side, client_properties
from caudal.connect.errors import ConfigError, ConnectError
from caudal.connect.records import TopicPartition

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, Producer

ANSWER_SECONDS = 30.0
READ_SECONDS = 60.0
T = TypeVar("T")


class Cluster:
    """Made from all properties of the connector; connects when it is first asked."""

    def __init__(self, given: Mapping[str, Any], side: Side) -> None:
        self._given = given
        self.side = side
        self.name = str(given.get(f"{side}.cluster.alias") or side)
        self._admin: Any = None

    def properties(self, role: Role, **more: Any) -> dict[str, Any]:
        found = {**more, **client_properties(self._given, self.side, role)}
        if not found.get("bootstrap.servers"):
            raise ConfigError(
                f"the address of the {self.side} cluster is missing", f"{self.side}.cluster.bootstrap.servers"
            )
        return {"log_level": 3, **found}

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

        try:
            return request()
        except KafkaException as error:
            reason = error.args[0].str() if error.args else str(error)
        except TimeoutError:
            reason = f"no answer in {ANSWER_SECONDS:.0f} s"
        address = self._given.get(f"{self.side}.cluster.bootstrap.servers")
        raise ConnectError(f"{doing} failed on the {self.side} cluster '{self.name}' ({address}): {reason}.")

    # ------------------------------------------------------------------ topics

    def topics(self) -> dict[str, int]:
        """All, with their numbers of partitions."""
        found = self.ask("Listing topics", lambda: self.admin.list_topics(timeout=ANSWER_SECONDS))
        return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}

    def settings(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """What is set for these topics, and is neither a default nor read-only nor secret."""
        from confluent_kafka.admin import ConfigResource

        resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
        if not resources:
            return {}
        futures = self.admin.describe_configs(resources, request_timeout=ANSWER_SECONDS)
        result = {}
        for resource, future in futures.items():
            entries = self.ask("Describing settings", lambda future=future: future.result(ANSWER_SECONDS))  # type: ignore[misc]
            result[resource.name] = {
                name: entry.value
                for name, entry in entries.items()
                if not (entry.is_default or entry.is_read_only or entry.is_sensitive) and entry.value is not None
            }
        return result

    def create_topic(self, name: str, partitions: int, replicas: int, settings: Mapping[str, str]) -> bool:
        """Whether it was made now; one that is there is left as it is."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import NewTopic

        topic = NewTopic(name, num_partitions=partitions, replication_factor=replicas, config=dict(settings))

        def create() -> bool:
            (future,) = self.admin.create_topics([topic], request_timeout=ANSWER_SECONDS).values()
            try:
                future.result(ANSWER_SECONDS)
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
            future.result(ANSWER_SECONDS)

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
            future.result(ANSWER_SECONDS)

        self.ask(f"Changing settings of the topic {name}", change)

    # ------------------------------------------------------------------ groups

    def groups(self) -> list[str]:
        found = self.ask(
            "Listing groups",
            lambda: self.admin.list_consumer_groups(request_timeout=ANSWER_SECONDS).result(ANSWER_SECONDS),
        )
        return sorted(group.group_id for group in found.valid)

    def is_active(self, group: str) -> bool:
        """Whether it has members, or may have some in a moment. One that does not exist has none."""
        from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException

        def describe() -> bool:
            (future,) = self.admin.describe_consumer_groups([group], request_timeout=ANSWER_SECONDS).values()
            try:
                state = future.result(ANSWER_SECONDS).state
            except KafkaException as error:
                if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                    return False
                raise
            return state not in (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)

        return self.ask(f"Describing the group {group}", describe)

    def committed(self, group: str) -> dict[TopicPartition, tuple[int, str]]:
        """The offsets and metadata that the group has committed."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        def read() -> Any:
            request = [ConsumerGroupTopicPartitions(group)]
            (future,) = self.admin.list_consumer_group_offsets(request, request_timeout=ANSWER_SECONDS).values()
            return future.result(ANSWER_SECONDS).topic_partitions

        found = self.ask(f"Reading the offsets of the group {group}", read)
        return {
            TopicPartition(one.topic, one.partition): (one.offset, one.metadata or "")
            for one in found
            if one.offset >= 0 and one.error is None
        }

    def commit(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Sets offsets of a group that has no members."""
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException
        from confluent_kafka import TopicPartition as Place

        places = [Place(at.topic, at.partition, offset, metadata) for at, (offset, metadata) in offsets.items()]

        def write() -> None:
            request = [ConsumerGroupTopicPartitions(group, places)]
            (future,) = self.admin.alter_consumer_group_offsets(request, request_timeout=ANSWER_SECONDS).values()
            for place in future.result(ANSWER_SECONDS).topic_partitions:
                if place.error is not None:
                    raise KafkaException(place.error)

        self.ask(f"Setting offsets of the group {group}", write)


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
        _, end = self._cluster.ask(
            doing, lambda: self._consumer.get_watermark_offsets(self._place, timeout=ANSWER_SECONDS)
        )
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
                elif error.code() not in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
                    self._cluster.ask(doing, lambda error=error: _raise(error))  # type: ignore[misc]
            if time.monotonic() > deadline:
                self._cluster.ask(doing, lambda: _raise(None))

    def close(self) -> None:
        self._consumer.close()


def _raise(error: Any) -> None:
    from confluent_kafka import KafkaException

    raise TimeoutError if error is None else KafkaException(error)
