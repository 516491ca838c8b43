"""From where to where a batch reads: what users say, and the offsets that it means.

A bound is "earliest", "latest", a time (datetime, or epoch milliseconds), or offsets by topic and partition:

    {"orders": {0: 5, 1: 7}, "customers": "earliest"}

Topics and partitions that are not named are read whole. The end is exclusive. A time stands for the first record that
is as late or later, so records behind it in the log may be older (as with every tool that seeks by time).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from caudal.runtime.errors import StreamsError

CALL_SECONDS = 20.0

Moment = str | int | datetime
Bound = Moment | Mapping[str, Moment | Mapping[int, int]]
Place = tuple[str, int]
Range = tuple[int, int]  # first offset, end

EARLIEST, LATEST = "earliest", "latest"


def parse(text: str) -> Bound:
    """A bound as the command line takes it: earliest, latest, a time, or TOPIC:PARTITION=OFFSET,…

    >>> parse("orders:0=5,orders:1=7")
    {'orders': {0: 5, 1: 7}}
    """
    text = text.strip()
    if text in (EARLIEST, LATEST):
        return text
    if text.isdigit():
        return int(text)
    if "=" in text:
        offsets: dict[str, dict[int, int]] = {}
        for part in text.split(","):
            place, _, offset = part.partition("=")
            topic, _, partition = place.rpartition(":")
            if not (topic and partition.isdigit() and offset.isdigit()):
                raise StreamsError(f"'{part}' names no offset: write TOPIC:PARTITION=OFFSET, such as orders:0=5.")
            offsets.setdefault(topic.strip(), {})[int(partition)] = int(offset)
        return offsets
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise StreamsError(
            f"'{text}' is no place to begin or end: use earliest, latest, a time such as 2026-01-31T08:00, epoch "
            "milliseconds, or offsets such as orders:0=5,orders:1=7."
        ) from None


def check(bound: Any, what: str, topics: Iterable[str]) -> None:
    """Raises StreamsError where a bound cannot be understood."""
    if not isinstance(bound, Mapping):
        _check_moment(bound, what)
        return
    known = sorted(topics)
    for topic, of_topic in bound.items():
        if topic not in known:
            raise StreamsError(f"{what} names topic '{topic}', which the topology does not read (it reads: {known}).")
        if not isinstance(of_topic, Mapping):
            if isinstance(of_topic, int):
                raise StreamsError(
                    f"{what} gives topic '{topic}' the number {of_topic}: offsets are by partition ({{0: {of_topic}}})."
                )
            _check_moment(of_topic, what)
            continue
        for partition, offset in of_topic.items():
            if not (isinstance(partition, int) and isinstance(offset, int) and offset >= 0):
                raise StreamsError(
                    f"{what} of topic '{topic}' takes partitions and offsets as numbers, not {partition!r}: {offset!r}."
                )


def _check_moment(moment: Any, what: str) -> None:
    if isinstance(moment, datetime) or moment in (EARLIEST, LATEST):
        return
    if isinstance(moment, int) and not isinstance(moment, bool) and moment >= 0:
        return
    raise StreamsError(f"{what} takes 'earliest', 'latest', a time or offsets by topic and partition, not {moment!r}.")


class Offsets:
    """What the cluster says about its logs."""

    def __init__(self, admin: Any) -> None:
        self._admin = admin

    def ranges(self, places: Iterable[Place], starting: Bound, ending: Bound) -> dict[Place, Range]:
        """The offsets to read of each partition; those with nothing in between are left out.

        Only what is committed: the last stable offset is the end of a log.
        """
        from confluent_kafka.admin import OffsetSpec

        asked = list(places)
        lows = self._ask(dict.fromkeys(asked, OffsetSpec.earliest()))
        highs = self._ask(dict.fromkeys(asked, OffsetSpec.latest()))
        first = self._resolve(asked, starting, EARLIEST, lows, highs)
        end = self._resolve(asked, ending, LATEST, lows, highs)
        result = {}
        for place in asked:
            begin, stop = max(first[place], lows[place]), min(end[place], highs[place])
            if begin < stop:
                result[place] = (begin, stop)
        return result

    def _resolve(
        self, places: list[Place], bound: Bound, default: str, lows: Mapping[Place, int], highs: Mapping[Place, int]
    ) -> dict[Place, int]:
        from confluent_kafka.admin import OffsetSpec

        found: dict[Place, int] = {}
        times: dict[Place, Any] = {}
        for place in places:
            said = _of_place(bound, place, default)
            if isinstance(said, datetime):
                times[place] = OffsetSpec.for_timestamp(round(said.timestamp() * 1000))
            elif said in (EARLIEST, LATEST):
                found[place] = lows[place] if said == EARLIEST else highs[place]
            elif isinstance(bound, int):
                times[place] = OffsetSpec.for_timestamp(bound)
            else:
                found[place] = int(said)
        for place, offset in self._ask(times).items():
            found[place] = highs[place] if offset < 0 else offset  # nothing as late as that: the end
        return found

    def _ask(self, wanted: Mapping[Place, Any]) -> dict[Place, int]:
        from confluent_kafka import IsolationLevel, KafkaException, TopicPartition

        if not wanted:
            return {}
        specs = {TopicPartition(topic, partition): spec for (topic, partition), spec in wanted.items()}
        try:
            futures = self._admin.list_offsets(
                specs, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=CALL_SECONDS
            )
            return {
                (place.topic, place.partition): future.result(CALL_SECONDS).offset for place, future in futures.items()
            }
        except KafkaException as error:
            raise StreamsError(f"The offsets of the topics cannot be had: {error.args[0].str()}.") from None


def _of_place(bound: Bound, place: Place, default: str) -> Moment:
    """What a bound says about one partition: an offset is an int here."""
    if not isinstance(bound, Mapping):
        return bound
    of_topic = bound.get(place[0], default)
    return of_topic.get(place[1], default) if isinstance(of_topic, Mapping) else of_topic
