"""A group's committed offsets and the ends of its partitions, asked and set through confluent-kafka's admin client.

Blocking; errors are one sentence (CliError). Shared by `caudal group` and the control center, which calls it in
threads. What a reset comes to is worked out in `offset_reset.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Literal

from caudal.cli.clients import REQUEST_SECONDS, request_failed, result_of
from caudal.cli.errors import CliError
from caudal.cli.offset_reset import Move, Place, Target, plan_moves

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient


def committed_offsets(admin: AdminClient, bootstrap: str, name: str) -> dict[Place, int]:
    from confluent_kafka import ConsumerGroupTopicPartitions

    request = [ConsumerGroupTopicPartitions(name)]
    answer = result_of(
        admin.list_consumer_group_offsets(request, request_timeout=REQUEST_SECONDS)[name], bootstrap, f"group '{name}'"
    )
    return {(place.topic, place.partition): place.offset for place in answer.topic_partitions if place.offset >= 0}


def partition_offsets(
    admin: AdminClient, bootstrap: str, places: Collection[Place], where: Literal["earliest", "latest"] | int
) -> dict[Place, int]:
    """earliest, latest or by-time offsets; a partition that no longer exists is left out (its topic was deleted)."""
    from confluent_kafka import KafkaError, KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    if not places:
        return {}
    if isinstance(where, int):
        spec = OffsetSpec.for_timestamp(where)
    else:
        spec = OffsetSpec.earliest() if where == "earliest" else OffsetSpec.latest()
    wanted: dict[TopicPartition, Any] = {TopicPartition(*place): spec for place in places}
    found: dict[Place, int] = {}
    gone = {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._NOENT,
    }
    for place, future in admin.list_offsets(wanted, request_timeout=REQUEST_SECONDS).items():
        try:
            found[place.topic, place.partition] = future.result(REQUEST_SECONDS + 1).offset
        except KafkaException as error:
            if error.args[0].code() not in gone:
                raise request_failed(error, bootstrap, f"{place.topic}-{place.partition}") from None
    return found


def planned_moves(
    admin: AdminClient, bootstrap: str, places: Collection[Place], committed: dict[Place, int], target: Target
) -> list[Move]:
    """What the reset would do to these partitions; nothing is changed."""
    by_time = target.kind == "time"
    return plan_moves(
        target,
        places,
        committed=committed,
        earliest=partition_offsets(admin, bootstrap, places, "earliest"),
        latest=partition_offsets(admin, bootstrap, places, "latest"),
        at_time=partition_offsets(admin, bootstrap, places, target.value) if by_time else {},
    )


def apply_moves(admin: AdminClient, bootstrap: str, name: str, moves: Iterable[Move]) -> None:
    """Commit the plan's offsets. The broker refuses it while the group has members."""
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    request = ConsumerGroupTopicPartitions(
        name, [TopicPartition(move.topic, move.partition, move.new) for move in moves]
    )
    done = result_of(
        admin.alter_consumer_group_offsets([request], request_timeout=REQUEST_SECONDS)[name],
        bootstrap,
        f"group '{name}' was not changed",
    )
    for place in done.topic_partitions:
        if place.error is not None:
            raise CliError(f"{place.topic}-{place.partition} of group '{name}' was not changed: {place.error.str()}")
