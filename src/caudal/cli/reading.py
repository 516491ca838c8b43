"""The engine of `caudal consume`: which partitions, from where, until when; yields the records that are to be shown.

A partition is *done* at its end bound: the offset that e@TIME stands for, its end with -e, or (an end in the future)
the first record or moment past it. The reading ends when every partition is done. With a group, partitions come and
go with the group's rebalances and the same rules hold for those that we have. Formatting and counting are the
command's business.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from caudal.cli.clients import ANSWER_SECONDS, cluster_metadata, explain, make_consumer, no_topic, request_failed
from caudal.cli.errors import CliError, NotFound
from caudal.cli.offset_spec import BEGINNING, END, STORED, OffsetSpec

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

# A bounded reading gives up when no broker answers for so long; an unbounded one waits as `tail -f` does.
LOST_SECONDS = 10.0
_POLL_SECONDS = 0.2
_DRAIN = 1000

Place = tuple[str, int]


@dataclass(slots=True)
class _Progress:
    """What is known of one partition: the offset to stop before (None: no such bound) and whether its end was
    reached.
    """

    stop_offset: int | None = None
    at_end: bool = False
    done: bool = False
    start: int | None = None
    position: int = 0


class Reading:
    """One run over topics. Iterate over it; `close` commits a group's offsets."""

    def __init__(
        self,
        config: dict[str, Any],
        topics: list[str],
        partitions: list[int],
        spec: OffsetSpec,
        *,
        group: str | None,
        stop_at_end: bool,
        quiet: bool,
    ) -> None:
        self._bootstrap: str = config["bootstrap.servers"]
        self._config = config
        self._topics = topics
        self._wanted = partitions
        self._spec = spec
        self._group = group
        self._stop_at_end = stop_at_end
        self._quiet = quiet or not sys.stderr.isatty()
        self._progress: dict[Place, _Progress] = {}
        self._placed: set[Place] = set()
        self._lost_since: float | None = None
        self._assigned = False
        self._failure: CliError | None = None
        config["error_cb"] = self._on_error
        self._consumer: Consumer = make_consumer(config)

    def close(self) -> None:
        """Leave the group (committing what was shown) or just disconnect."""
        self._consumer.close()

    def shown(self, message: Message) -> None:
        """The record has been written: with a group, its offset may be committed."""
        if self._group is not None:
            self._consumer.store_offsets(message)

    @property
    def is_bounded(self) -> bool:
        """Whether it ends by itself."""
        return self._stop_at_end or self._spec.end_ms is not None

    def amount(self) -> tuple[int, int]:
        """Offsets read, and those that there were to read, as far as is known by now."""
        from confluent_kafka import TopicPartition

        done = total = 0
        for place, state in self._progress.items():
            end = state.stop_offset
            if end is None:
                bounds = self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True)
                end = int(bounds[1]) if bounds else -1
            if state.start is not None and end >= state.start:
                done += min(state.position, end) - state.start
                total += end - state.start
        return done, total

    def __iter__(self) -> Iterator[list[Message]]:
        """Batches of records to show; an empty batch passes when nothing came, so that the caller can look around."""
        places = self._existing_places()
        if self._group is None:
            self._consumer.assign(self._place(places))
            self._assigned = True
        else:
            self._consumer.subscribe(self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke)
        announced = False
        while not self._finished():
            yield self._next_batch()
            if (
                not announced
                and self._progress
                and all(state.at_end or state.done for state in self._progress.values())
            ):
                announced = True
                if not (self._quiet or self._stop_at_end or self._spec.end_is_past()):
                    print("reached the end; waiting for more records (Ctrl-C stops)", file=sys.stderr)

    # ------------------------------------------------------------------ where to begin and to stop

    def _existing_places(self) -> list[Place]:
        """The partitions asked for, all of which exist."""
        places = []
        for topic in self._topics:
            found = cluster_metadata(self._consumer, self._bootstrap, topic).topics[topic]
            if found.error is not None or not found.partitions:
                from confluent_kafka import KafkaError

                if found.error is None or found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise no_topic(topic, self._consumer, self._bootstrap)
                raise CliError(f"topic '{topic}': {explain(found.error, self._bootstrap)}")
            for index in self._wanted or sorted(found.partitions):
                if index not in found.partitions:
                    raise NotFound(f"topic '{topic}' has no partition {index}; the last one is {max(found.partitions)}")
                places.append((topic, index))
        return places

    def _place(self, places: list[Place]) -> list[TopicPartition]:
        """The partitions with their starting offsets; their end bounds are noted."""
        from confluent_kafka import KafkaException, TopicPartition

        try:
            starts = self._starts(places)
            ends = self._at_time(places, self._spec.end_ms) if self._spec.end_ms is not None else {}
        except KafkaException as error:
            raise request_failed(error, self._bootstrap, "the offsets could not be found") from None
        for place in places:
            end = ends.get(place)
            state = self._progress[place] = _Progress(stop_offset=end)
            start = state.start = starts.get(place)
            state.position = start or 0
            state.done = end is not None and start is not None and start >= end
        self._placed.update(places)
        return [
            TopicPartition(*place, starts[place]) if place in starts else TopicPartition(*place) for place in places
        ]

    def _starts(self, places: list[Place]) -> dict[Place, int]:
        """Explicit starting offsets; empty for a group that goes on where it was."""
        spec = self._spec
        if spec.place == STORED or (self._group is not None and not spec.has_start):
            return {}
        if spec.start_ms is not None:
            found = self._at_time(places, spec.start_ms)
            # No record that late yet: whatever comes next is.
            return {place: found[place] if place in found else self._bounds(place)[1] for place in places}
        starts = {}
        for place in places:
            low, high = self._bounds(place)
            if spec.place == END:
                starts[place] = high
            elif spec.tail is not None:
                starts[place] = max(low, high - spec.tail)
            elif spec.offset is not None:
                starts[place] = min(max(low, spec.offset), high)
                if starts[place] != spec.offset and not self._quiet:
                    print(
                        f"{place[0]} [{place[1]}] has offsets {low} to {high}; starting at {starts[place]}",
                        file=sys.stderr,
                    )
            else:
                assert spec.place in (BEGINNING, None)
                starts[place] = low
        return starts

    def _bounds(self, place: Place) -> tuple[int, int]:
        from confluent_kafka import KafkaException, TopicPartition

        bounds = self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=ANSWER_SECONDS)
        if bounds is None:
            raise KafkaException(f"{place[0]} [{place[1]}] did not say its offsets in time")
        return int(bounds[0]), int(bounds[1])

    def _at_time(self, places: list[Place], moment: int) -> dict[Place, int]:
        """The first offset at or after `moment` of every partition that has one."""
        from confluent_kafka import KafkaException, TopicPartition

        answer = self._consumer.offsets_for_times(
            [TopicPartition(*place, moment) for place in places], timeout=ANSWER_SECONDS
        )
        for place in answer:
            if place.error is not None:
                raise KafkaException(place.error)
        return {(place.topic, place.partition): place.offset for place in answer if place.offset >= 0}

    # ------------------------------------------------------------------ groups

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        fresh = [
            (place.topic, place.partition) for place in partitions if (place.topic, place.partition) not in self._placed
        ]
        try:
            placed = {(place.topic, place.partition): place for place in self._place(fresh)}
        except CliError as error:
            # An exception does not cross librdkafka's callback; it is raised at the next step.
            self._failure = error
            return
        for place in partitions:
            self._progress.setdefault((place.topic, place.partition), _Progress())
        chosen = [placed.get((place.topic, place.partition), place) for place in partitions]
        self._assigned = True
        if self._is_incremental():
            consumer.incremental_assign(chosen)
        else:
            consumer.assign(chosen)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for place in partitions:
            self._progress.pop((place.topic, place.partition), None)

    def _is_incremental(self) -> bool:
        strategy = str(self._config.get("partition.assignment.strategy", ""))
        return "cooperative" in strategy or self._config.get("group.protocol") == "consumer"

    # ------------------------------------------------------------------ reading

    def _next_batch(self) -> list[Message]:
        first = self._consumer.poll(_POLL_SECONDS)
        if self._failure is not None:
            raise self._failure
        if first is None:
            self._check_connection()
            return []
        self._lost_since = None
        return [message for message in [first, *self._consumer.consume(_DRAIN, 0)] if self._accept(message)]

    def _accept(self, message: Message) -> bool:
        """Whether this record is to be shown; keeps the partition's progress."""
        error = message.error()
        state = self._progress.get((message.topic(), message.partition()))
        if error is not None:
            from confluent_kafka import KafkaError

            if error.code() != KafkaError._PARTITION_EOF:
                raise CliError(f"{message.topic() or 'reading'}: {explain(error, self._bootstrap)}")
            if state is not None:
                state.at_end = True
                # With -e, or when the end lies in the past, nothing more can come before the bound.
                state.done = state.done or self._stop_at_end or self._spec.end_is_past()
            return False
        if state is None or state.done:
            return False
        state.at_end = False
        state.start = message.offset() if state.start is None else state.start
        state.position = message.offset() + 1
        timestamp = message.timestamp()[1]
        end_ms = self._spec.end_ms
        if state.stop_offset is not None:
            if message.offset() >= state.stop_offset:
                self._finish(message, state)
                return False
            if message.offset() == state.stop_offset - 1:
                self._finish(message, state)
        elif end_ms is not None and timestamp >= end_ms:
            self._finish(message, state)
            return False
        return self._spec.shows(timestamp)

    def _finish(self, message: Message, state: _Progress) -> None:
        from confluent_kafka import TopicPartition

        state.done = True
        self._consumer.pause([TopicPartition(message.topic(), message.partition())])

    def _finished(self) -> bool:
        if not self.is_bounded or not self._assigned or not self._progress:
            return False
        past = self._spec.end_is_past()
        return all(state.done or (past and state.at_end) for state in self._progress.values())

    # ------------------------------------------------------------------ the connection

    def _on_error(self, error: KafkaError) -> None:
        from confluent_kafka import KafkaError as Code

        if error.code() == Code._ALL_BROKERS_DOWN:
            if self._lost_since is None:
                self._lost_since = time.monotonic()
                if not self._quiet:
                    print(f"the broker at {self._bootstrap} went away; waiting for it", file=sys.stderr)
        elif error.fatal() or error.code() in (Code._AUTHENTICATION, Code._SSL):
            self._failure = CliError(explain(error, self._bootstrap))

    def _check_connection(self) -> None:
        if self.is_bounded and self._lost_since is not None and time.monotonic() - self._lost_since > LOST_SECONDS:
            raise CliError(f"the broker at {self._bootstrap} went away and did not come back in {LOST_SECONDS:.0f} s")
