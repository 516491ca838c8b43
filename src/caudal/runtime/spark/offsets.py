"""Where an application begins: fence every task's producer, read the committed offsets, settle those that are missing.

The fence aborts what a killed run left open; else committed offsets would be unstable, and the logs' stable ends
stuck, until the transactions time out. A partition without a committed offset begins where its source says (earliest
or latest), and that is committed before the first record is read: no offset means a first start, never a silent
return to the beginning. Where there is state but no offset, somebody removed the offsets: that stops the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from caudal.plan.naming import changelog_topic
from caudal.plan.topology import SourceNode
from caudal.runtime.errors import StreamsError
from caudal.runtime.spark.kafka_errors import Meaning, kafka_error, meaning, reason
from caudal.runtime.spark.keeper import Keeper
from caudal.runtime.spark.outputs import take_over
from caudal.runtime.spark.settings import Cargo, keeper_topic, transactional_id

CALL_SECONDS = 30.0
FENCE_THREADS = 16

Place = tuple[str, int]


def fence(cargo: Cargo) -> None:
    """Takes every task's transactional id over."""

    def take(task: tuple[int, int]) -> None:
        settings = cargo.settings
        producer = Producer(
            settings.librdkafka(
                **{
                    "transactional.id": transactional_id(cargo.application_id, *task),
                    "transaction.timeout.ms": settings.transaction_timeout,
                    "retry.backoff.ms": 20,
                }
            )
        )
        take_over(producer, keeper_topic(cargo.application_id), CALL_SECONDS)

    if not cargo.settings.exactly_once:
        return
    with ThreadPoolExecutor(FENCE_THREADS) as pool:
        try:
            list(pool.map(take, cargo.tasks()))
        except KafkaException as error:
            if meaning(error) is not Meaning.PERMANENT:
                raise  # the broker is away: the host comes back to it
            found = kafka_error(error)
            words = reason(found) if found is not None else str(error)
            raise StreamsError(f"The tasks of '{cargo.application_id}' cannot be taken over: {words}.") from error


def starting_offsets(cargo: Cargo, keeper: Keeper, admin: Any) -> dict[Place, int]:
    """The position of every source partition; missing ones are settled and committed."""
    places = source_places(cargo)
    committed = {place: offset for place, (offset, _) in keeper.committed(places).items()}
    missing = [place for place in places if committed[place] < 0]
    if missing:
        _check_no_state(cargo, missing, admin)
        resets = {
            topic: node.reset for node in cargo.topology.nodes if isinstance(node, SourceNode) for topic in node.topics
        }
        internal = cargo.topology.internal_topics
        latest = [place for place in missing if resets[place[0]] == "latest" and place[0] not in internal]
        first = [place for place in missing if place not in latest]
        found = {**ends(admin, first, OffsetSpec.earliest()), **ends(admin, latest, OffsetSpec.latest())}
        keeper.commit([TopicPartition(topic, partition, found[topic, partition]) for topic, partition in missing])
        committed.update(found)
    _check_still_there(cargo, committed, admin)
    return committed


def source_places(cargo: Cargo) -> list[Place]:
    return [
        (topic, partition) for sub, partition in cargo.tasks() for topic in cargo.topics_of(cargo.sub(sub), partition)
    ]


def ends(admin: Any, places: Iterable[Place], spec: Any) -> dict[Place, int]:
    wanted = {TopicPartition(topic, partition): spec for topic, partition in places}
    if not wanted:
        return {}
    futures = admin.list_offsets(wanted, request_timeout=CALL_SECONDS)
    return {(place.topic, place.partition): future.result(CALL_SECONDS).offset for place, future in futures.items()}


def _check_no_state(cargo: Cargo, missing: Sequence[Place], admin: Any) -> None:
    lost = set(missing)
    logs: dict[Place, Place] = {}
    for number, partition in cargo.tasks():
        sub = cargo.sub(number)
        gone = [(topic, partition) for topic in cargo.topics_of(sub, partition) if (topic, partition) in lost]
        if len(gone) < len(cargo.topics_of(sub, partition)):
            continue  # a topic was added to the sub-topology: the others still say where the state is
        for store in sub.stores:
            if store.logged and store.changelog is None:
                logs[changelog_topic(cargo.application_id, store.name), partition] = gone[0]
    for log, end in ends(admin, logs, OffsetSpec.latest()).items():
        if end > 0:
            topic, partition = logs[log]
            raise StreamsError(
                f"'{cargo.application_id}' has state (changelog '{log[0]}', partition {log[1]}, ends at {end}) but "
                f"no committed offset for topic '{topic}', partition {partition}: set one (caudal group reset), or "
                "delete the application's internal topics to begin anew."
            )


def _check_still_there(cargo: Cargo, committed: dict[Place, int], admin: Any) -> None:
    """Records that retention removed before they were read are lost: that is said, not skipped."""
    for place, first in ends(admin, committed, OffsetSpec.earliest()).items():
        if committed[place] < first:
            raise StreamsError(
                f"Topic '{place[0]}', partition {place[1]}, begins at offset {first}, but '{cargo.application_id}' has "
                f"only read up to {committed[place]}: {first - committed[place]} records were deleted before they were "
                "read; accept that with caudal group reset, then start again."
            )
