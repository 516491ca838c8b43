"""Consumer groups that do not get on: in a rebalance without end, or with members and a lag that nobody works off."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from caudal.cli.doctor.check import Answer, Situation, check, note, ok, trouble

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

REQUEST_SECONDS = 5.0
# Longer than a client's auto.commit.interval.ms (5 s): who reads has committed once in that time.
WATCH_SECONDS = 6.0
MOST_GROUPS = 50

Place = tuple[str, int]


@check("groups", seconds=WATCH_SECONDS + 15)
def check_groups(situation: Situation) -> Iterator[Answer]:
    admin = situation.cluster.admin
    if admin is None:
        return
    listed = admin.list_consumer_groups(request_timeout=REQUEST_SECONDS).result(REQUEST_SECONDS + 1).valid
    active = {str(each.group_id): _state(each.state) for each in listed if _state(each.state) not in ("empty", "dead")}
    watched = dict(sorted(active.items())[:MOST_GROUPS])
    before = {name: _committed(admin, name) for name in watched}
    behind = {name: lag for name, places in before.items() if (lag := _lag(admin, places)) > 0}
    rebalancing = {name for name, state in watched.items() if "rebalanc" in state}
    if behind or rebalancing:
        time.sleep(WATCH_SECONDS)
        yield from _stuck(admin, watched, before, behind, rebalancing)
    else:
        yield ok(f"{len(listed)} groups, {len(active)} with members")


def _stuck(
    admin: AdminClient,
    watched: dict[str, str],
    before: dict[str, dict[Place, int]],
    behind: dict[str, int],
    rebalancing: set[str],
) -> Iterator[Answer]:
    described = admin.describe_consumer_groups(list(watched), request_timeout=REQUEST_SECONDS)
    fine = True
    for name in watched:
        state = _state(described[name].result(REQUEST_SECONDS + 1).state)
        if name in rebalancing and "rebalanc" in state:
            fine = False
            yield trouble(
                f"group {name} has been rebalancing for {WATCH_SECONDS:.0f} s and more",
                f"caudal group describe {name} shows its members: restart the one that does not answer",
            )
        elif name in behind and _committed(admin, name) == before[name]:
            fine = False
            yield note(
                f"group {name} is {behind[name]} records behind and has committed nothing for {WATCH_SECONDS:.0f} s",
                f"caudal group describe {name} shows who has the partitions: look at that consumer's log",
            )
    if fine:
        yield ok(f"{len(watched)} groups with members get on")


def _committed(admin: AdminClient, name: str) -> dict[Place, int]:
    from confluent_kafka import ConsumerGroupTopicPartitions

    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)], request_timeout=REQUEST_SECONDS)
    answer = asked[name].result(REQUEST_SECONDS + 1)
    return {(each.topic, each.partition): each.offset for each in answer.topic_partitions if each.offset >= 0}


def _lag(admin: AdminClient, committed: dict[Place, int]) -> int:
    from confluent_kafka import KafkaException, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    lag = 0
    wanted: dict[Any, Any] = {TopicPartition(*place): OffsetSpec.latest() for place in committed}
    for place, future in admin.list_offsets(wanted, request_timeout=REQUEST_SECONDS).items() if wanted else ():
        try:
            lag += max(0, future.result(REQUEST_SECONDS + 1).offset - committed[place.topic, place.partition])
        except KafkaException:  # the topic was deleted
            continue
    return lag


def _state(value: Any) -> str:
    return str(getattr(value, "name", value)).lower().replace("_", " ")
