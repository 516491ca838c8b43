"""The reset of a group's offsets as a form: what was typed becomes a target and partitions, then a plan, then a change.

The plan itself is `caudal.cli.offset_reset`, which the command line uses too. Everything wrong is said for the field
that it stands in (`FieldError`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from caudal.cli.errors import UsageError
from caudal.cli.offset_reset import Move, Place, Target, plan_moves
from caudal.cli.times import parse_time
from caudal.ui.services import groups
from caudal.ui.services.errors import UiError, sentence
from caudal.ui.services.kafka import ANSWER_SECONDS, Kafka
from caudal.ui.words import t, tn

KINDS = ("earliest", "latest", "offset", "time", "duration", "shift")
LARGEST = 2**63 - 1
_UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_DURATION = re.compile(r"(\d{1,9})\s*([smhdw])")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


class FieldError(UiError):
    """What is wrong with one field of the form."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would happen. `missing` could not be placed: their topic is gone or its leader does not answer."""

    group: str
    moves: tuple[Move, ...]
    missing: tuple[Place, ...] = ()

    @property
    def changed(self) -> int:
        return sum(1 for move in self.moves if move.change != 0)

    @property
    def again(self) -> int:
        """Records that will be read a second time."""
        return sum(-move.change for move in self.moves if move.change is not None and move.change < 0)

    @property
    def skipped(self) -> int:
        """Records that will not be read."""
        return sum(move.change for move in self.moves if move.change is not None and move.change > 0)


def target_of(kind: str, value: str, now_ms: int | None = None) -> Target:
    """Of what was chosen and typed; raises FieldError."""
    value = value.strip()
    match kind:
        case "earliest":
            return Target("earliest")
        case "latest":
            return Target("latest")
        case "offset":
            if not (value.isascii() and value.isdigit() and int(value) <= LARGEST):
                raise FieldError(t("An offset is a whole number from 0 on, such as 1500."))
            return Target("offset", int(value))
        case "shift":
            if not re.fullmatch(r"[+-]?[0-9]{1,18}", value) or int(value) == 0:
                raise FieldError(t("Give by how many records: 100 goes on, -100 goes back."))
            return Target("shift", int(value))
        case "time":
            return Target("time", _moment(value, now_ms))
        case "duration":
            now = int(time.time() * 1000) if now_ms is None else now_ms
            return Target("time", max(0, now - _milliseconds(value)))
    raise FieldError(t("Choose where the group goes on."))


def _moment(value: str, now_ms: int | None) -> int:
    try:
        moment = parse_time(value, now_ms)
    except UsageError:
        moment = -1
    # Kafka takes -1 and -2 for the two ends of the log; nobody means that here.
    if not 0 <= moment <= LARGEST:
        raise FieldError(t("Not a time: try 2026-01-31T12:00:00Z, 2026-01-31 12:00, or milliseconds since 1970."))
    return moment


def _milliseconds(value: str) -> int:
    """'1h 30m' → 5400000."""
    parts = _DURATION.findall(value.lower())
    if not parts or _DURATION.sub("", value.lower()).strip():
        raise FieldError(t("Not a length of time: try 10m, 2h, 1h 30m or 3d."))
    return sum(int(count) * _UNITS[unit] for count, unit in parts)


def partitions_of(text: str, known: Iterable[int]) -> list[int]:
    """'0-2, 5' of the partitions a topic has; nothing means all. Raises FieldError.

    >>> partitions_of("0-2, 5", range(8))
    [0, 1, 2, 5]
    """
    there = set(known)
    if not text.strip():
        return sorted(there)
    chosen: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip().replace(" ", ""))
        if found is None:
            raise FieldError(t("Give partitions as 0, 3 or 0-5; leave it empty for all."))
        first = int(found[1])
        last = first if found[2] is None else int(found[2])
        absent = next((number for number in (first, last) if number not in there), None)
        if absent is not None:
            highest = max(there, default=-1)
            raise FieldError(t("There is no partition {number}; the last one is {last}.", number=absent, last=highest))
        chosen.update(number for number in range(first, last + 1) if number in there)
    if not chosen:
        raise FieldError(t("Give partitions as 0, 3 or 0-5; leave it empty for all."))
    return sorted(chosen)


async def plan(kafka: Kafka, name: str, places: Sequence[Place], target: Target) -> Plan:
    """What the reset would do; nothing is changed."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    committed = await groups.committed_offsets(kafka, name)
    at_time: Mapping[Place, int] = {}
    if target.kind == "time":
        spec = OffsetSpec.for_timestamp(target.value)
        at_time = await kafka.offsets({TopicPartition(*place): spec for place in places})
    moves = plan_moves(
        target,
        sorted(places),
        committed=committed,
        earliest=await kafka.first_offsets(places),
        latest=await kafka.end_offsets(places),
        at_time=at_time,
    )
    placed = {(move.topic, move.partition) for move in moves}
    return Plan(name, tuple(moves), tuple(sorted(set(places) - placed)))


async def apply(kafka: Kafka, chosen: Plan) -> None:
    """Commit the plan's offsets, which the broker refuses while the group has members."""
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    if members := await groups.member_count(kafka, chosen.group):
        raise UiError(active_sentence(members))
    request = ConsumerGroupTopicPartitions(
        chosen.group, [TopicPartition(move.topic, move.partition, move.new) for move in chosen.moves]
    )
    future = kafka.admin.alter_consumer_group_offsets([request], request_timeout=ANSWER_SECONDS)[chosen.group]
    for place in (await kafka.ask(future)).topic_partitions:
        if place.error is not None:
            raise UiError(f"{place.topic}-{place.partition}: {sentence(place.error.str())}")


def active_sentence(members: int) -> str:
    """Why an active group is not reset."""
    return tn(
        "The group has {n} active member, which owns its offsets. Stop it first; then the reset can be applied.",
        "The group has {n} active members, which own its offsets. Stop them first; then the reset can be applied.",
        members,
    )
