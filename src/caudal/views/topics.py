"""What the follower and waiting queries ask the cluster about topics. Any thread may ask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from caudal.runtime.spark.kafka_errors import kafka_error
from caudal.runtime.spark.settings import Settings

CALL_SECONDS = 5.0
_MISSING = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_ID})

Place = tuple[str, int]


class Found(NamedTuple):
    partitions: int
    id: str


class Topics:
    def __init__(self, settings: Settings) -> None:
        self._admin: Any = AdminClient(settings.librdkafka(**{"client.id": "caudal-views"}))

    def find(self, names: Iterable[str]) -> dict[str, Found]:
        """Those that are there. Raises KafkaException where the cluster does not answer, or does not let us look."""
        found = {}
        wanted = TopicCollection(sorted(set(names)))
        for name, future in self._admin.describe_topics(wanted, request_timeout=CALL_SECONDS).items():
            try:
                topic = _result(future, CALL_SECONDS)
                found[name] = Found(len(topic.partitions), str(topic.topic_id))
            except KafkaException as error:
                cause = kafka_error(error)
                if cause is None or cause.code() not in _MISSING:
                    raise
        return found

    def begins(self, places: Iterable[Place]) -> dict[Place, int]:
        return self._offsets(places, OffsetSpec.earliest(), CALL_SECONDS)

    def ends(self, places: Iterable[Place], seconds: float = CALL_SECONDS) -> dict[Place, int]:
        """Where what is committed ends."""
        return self._offsets(places, OffsetSpec.latest(), seconds)

    def _offsets(self, places: Iterable[Place], spec: Any, seconds: float) -> dict[Place, int]:
        wanted = {TopicPartition(topic, partition): spec for topic, partition in places}
        if not wanted:
            return {}
        futures = self._admin.list_offsets(
            wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=seconds
        )
        found = {(place.topic, place.partition): _result(future, seconds).offset for place, future in futures.items()}
        if min(found.values()) < 0:  # librdkafka's answer where no broker answered in time
            raise _silence()
        return found


def _result(future: Any, seconds: float) -> Any:
    try:
        return future.result(seconds + 5)
    except TimeoutError:
        raise _silence() from None


def _silence() -> KafkaException:
    return KafkaException(KafkaError(KafkaError._TIMED_OUT, "no broker answers"))
