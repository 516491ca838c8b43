"""Topics and groups on the cluster, for statements: created, looked at, deleted. Every method blocks and raises
KsqlError with one sentence."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from caudal.ksql.engine.settings import EngineSettings
from caudal.ksql.errors import KsqlError

SECONDS = 15.0
APPEAR_SECONDS = 10.0


class FoundTopic(NamedTuple):
    name: str
    replicas: list[int]  # of each partition, how many

    @property
    def partitions(self) -> int:
        return len(self.replicas)

    @property
    def replication(self) -> int:
        return self.replicas[0] if self.replicas else 0


class Topics:
    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self.admin = AdminClient(settings.librdkafka(client_id="caudal-ksql"))

    def find(self, name: str) -> FoundTopic | None:
        return self.find_all([name]).get(name)

    def find_all(self, names: Iterable[str]) -> dict[str, FoundTopic]:
        wanted = sorted(set(names))
        found: dict[str, FoundTopic] = {}
        if not wanted:
            return found
        for name, future in self.admin.describe_topics(TopicCollection(wanted), request_timeout=SECONDS).items():
            try:
                topic = future.result(SECONDS + 1)
                found[name] = FoundTopic(name, [len(part.replicas) for part in topic.partitions])
            except KafkaException as error:
                if error.args[0].code() < 0:
                    raise _away(self._settings, error) from None
        return found

    def all(self) -> dict[str, FoundTopic]:
        try:
            listed = self.admin.list_topics(timeout=SECONDS).topics
        except KafkaException as error:
            raise _away(self._settings, error) from None
        return {
            name: FoundTopic(name, [len(part.replicas) for part in topic.partitions.values()])
            for name, topic in sorted(listed.items())
            if topic.error is None
        }

    def configs(self, name: str) -> dict[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, name)
        try:
            found = self.admin.describe_configs([resource], request_timeout=SECONDS)[resource].result(SECONDS + 1)
        except KafkaException:
            return {}
        return {key: entry.value for key, entry in found.items()}

    def create(self, name: str, partitions: int, replicas: int | None, configs: Mapping[str, str]) -> bool:
        """Whether it was made just now; where it is there already, it stays as it is."""
        new = NewTopic(
            name,
            num_partitions=partitions,
            replication_factor=replicas if replicas else self._settings.replication_factor,
            config=dict(configs),
        )
        try:
            self.admin.create_topics([new], operation_timeout=SECONDS, request_timeout=SECONDS)[name].result(
                SECONDS + 1
            )
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            if error.args[0].code() < 0:
                raise _away(self._settings, error) from None
            raise KsqlError(f"Could not create topic {name}: {error.args[0].str()}") from None
        deadline = time.monotonic() + APPEAR_SECONDS
        while self.find(name) is None:  # made, and not yet known everywhere
            if time.monotonic() > deadline:
                raise KsqlError(f"The topic {name} was created, but does not appear.")
            time.sleep(0.02)
        return True

    def delete(self, names: Iterable[str]) -> None:
        """Those that are there; what cannot be deleted is told."""
        wanted = sorted(set(names))
        if not wanted:
            return
        refused = []
        for name, future in self.admin.delete_topics(wanted, operation_timeout=SECONDS).items():
            try:
                future.result(SECONDS + 1)
            except KafkaException as error:
                if error.args[0].code() not in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
                    refused.append(f"{name} ({error.args[0].str()})")
        if refused:
            raise KsqlError(f"Could not delete: {', '.join(refused)}.")

    def delete_group(self, group: str) -> None:
        """Tries; a group with members stays until the last of them leaves and tries as well."""
        try:
            self.admin.delete_consumer_groups([group], request_timeout=SECONDS)[group].result(SECONDS + 1)
        except (KafkaException, TimeoutError):
            pass

    def names_with_prefix(self, prefix: str) -> list[str]:
        return [name for name in self.all() if name.startswith(prefix)]

    def consumers(self) -> dict[str, tuple[int, int]]:
        """Topic → (consumers, groups) that read it, for SHOW TOPICS EXTENDED."""
        try:
            listed = self.admin.list_consumer_groups(request_timeout=SECONDS).result(SECONDS + 1).valid
            groups = [group.group_id for group in listed if group.state != ConsumerGroupState.DEAD]
            futures = self.admin.describe_consumer_groups(groups, request_timeout=SECONDS) if groups else {}
        except (KafkaException, TimeoutError) as error:
            raise _away(self._settings, error) from None
        members: dict[str, int] = {}
        readers: dict[str, int] = {}
        for future in futures.values():
            try:
                described = future.result(SECONDS + 1)
            except KafkaException:
                continue
            read: set[str] = set()
            for member in described.members:
                assigned = member.assignment.topic_partitions if member.assignment else []
                topics = {part.topic for part in assigned}
                read |= topics
                for topic in topics:
                    members[topic] = members.get(topic, 0) + 1
            for topic in read:
                readers[topic] = readers.get(topic, 0) + 1
        return {topic: (members[topic], readers.get(topic, 0)) for topic in members}

    def delete_all_of(self, application_id: str) -> None:
        """What a query made for itself: its internal topics, the keeper's topic, its group."""
        names = self.names_with_prefix(f"{application_id}-")
        with ThreadPoolExecutor(2) as pool:
            deleting = pool.submit(self.delete, names)
            pool.submit(self.delete_group, application_id)
            deleting.result()


def _away(settings: EngineSettings, error: Exception) -> KsqlError:
    words = error.args[0].str() if error.args and isinstance(error.args[0], KafkaError) else str(error)
    return KsqlError(f"No broker answers at {settings.bootstrap} ({words}).")
