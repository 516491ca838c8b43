"""Sends the reports of a night to Kafka, at its pace, so that a kill at any moment loses and doubles none.

Reports and how far the night is go out in one transaction. Whoever starts again reads that record (`position`) and
continues behind it: the events of a night follow from the seed, so they need not be kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from caudal.demos.elections import topics
from caudal.demos.elections.simulation import (
    CLOSING,
    OPENING,
    Count,
    Country,
    Election,
    Turnout,
    by_party,
    clock,
    counts,
    turnout,
)
from caudal.serde import Serde
from caudal.serde.serde import bound

TRANSACTIONAL_ID = "elections-demo-feeder"
STATUS_KEY = b"night"
TICK_SECONDS = 0.25
CHUNK = 1000  # events of a transaction when nothing is paced
VOTING_SECONDS, COUNTING_SECONDS = 12.0, 140.0  # of a night at speed 1
ANSWER_SECONDS = 30.0

Event = Turnout | Count


@dataclass(frozen=True, slots=True)
class Position:
    """How far the nights are. `sent` counts the events of the night that are committed."""

    night: int = 0
    sent: int = 0
    total: int = 0
    day: int = 0
    seed: int = 0
    votes: int = 0

    @property
    def is_over(self) -> bool:
        return self.sent >= self.total

    def is_of(self, country: Country) -> bool:
        return (self.seed, self.votes) == (country.seed, country.votes)


class Paced(NamedTuple):
    due: float  # seconds from the beginning of its phase, at speed 1
    event: Event


def schedule(election: Election) -> list[Paced]:
    """All events of a night in order. The long tail of the count is drawn together: people watch it."""
    voted, counted = turnout(election), counts(election)
    day = (CLOSING - OPENING) * 60
    events = [Paced((one.minute - OPENING * 60) / day * VOTING_SECONDS, one) for one in voted]
    first, last = counted[0].minute, counted[-1].minute
    for index, one in enumerate(counted):
        place = ((one.minute - first) / (last - first) + index / len(counted)) / 2
        events.append(Paced(place * COUNTING_SECONDS, one))
    return events


class Feeder:
    """One at a time: a second one takes the place of the first, which then fails."""

    def __init__(self, config: Mapping[str, Any], country: Country, serdes: Mapping[str, Serde]) -> None:
        from confluent_kafka import Producer

        self.country = country
        self._serdes = {name: bound(serde, name, False) for name, serde in serdes.items()}
        self._producer = Producer(
            {
                "log_level": 0,
                **config,
                "transactional.id": TRANSACTIONAL_ID,
                "partitioner": "murmur2_random",
                "linger.ms": 5,
            }
        )
        self._producer.init_transactions(ANSWER_SECONDS)

    def open(self, night: int, day: int | None = None) -> Position:
        """A new night: what is known of each community, and the results of last time by station."""
        election, before = Election.of(self.country, night), Election.of(self.country, night - 1)
        total = len(turnout(election)) + len(counts(election))
        position = Position(night, 0, total, day or topics.midnight(), self.country.seed, self.country.votes)
        self._producer.begin_transaction()
        for code, place in topics.places(election, before):
            self._send(topics.PLACES, code, place)
        for station, votes in before.results.items():
            self._send(topics.PREVIOUS, station, {"votes": by_party(votes)})
        self._tell(position, OPENING * 60, "voting")
        self._producer.commit_transaction(ANSWER_SECONDS)
        return position

    def publish(self, records: Iterator[tuple[str, Any]], topic: str) -> None:
        """Records of another kind, all or none."""
        self._producer.begin_transaction()
        for key, value in records:
            self._send(topic, key, value)
        self._producer.commit_transaction(ANSWER_SECONDS)

    def play(self, position: Position, speed: float, go_on: Callable[[str], bool]) -> Iterator[Position]:
        """The rest of a night from a position on; yields after each commit. `go_on(phase)` is asked at each step, may
        wait, and ends it by False. Speed 0 means without pauses."""
        events = schedule(Election.of(self.country, position.night))
        phase, began = "", 0.0
        while position.sent < len(events):
            now = _phase(events[position.sent].event)
            if not go_on(now):
                return
            if now != phase:
                phase, began = now, time.monotonic() - (events[position.sent].due / speed if speed else 0)
            due = _due(events, position.sent, phase, (time.monotonic() - began) * speed if speed else None)
            if due == position.sent:
                time.sleep(TICK_SECONDS)
                continue
            position = self._commit(position, events[position.sent : due], phase)
            yield position
            if speed:
                time.sleep(TICK_SECONDS)

    def _commit(self, position: Position, events: list[Paced], phase: str) -> Position:
        night, day = position.night, position.day
        self._producer.begin_transaction()
        for _, event in events:
            if isinstance(event, Turnout):
                value = topics.turnout_value(night, day, event)
                self._send(topics.TURNOUT, f"{night}/{event.community}", value)
            else:
                self._send(topics.COUNTS, event.station.id, topics.count_value(night, day, event))
        sent = position.sent + len(events)
        reached = Position(night, sent, position.total, day, position.seed, position.votes)
        self._tell(reached, events[-1].event.minute, "over" if reached.is_over else phase)
        self._producer.commit_transaction(ANSWER_SECONDS)
        return reached

    def _tell(self, position: Position, minute: float, phase: str) -> None:
        status = {
            "night": position.night,
            "sent": position.sent,
            "total": position.total,
            "day": position.day,
            "seed": position.seed,
            "votes": position.votes,
            "clock": clock(minute),
            "phase": phase,
        }
        self._producer.produce(topics.STATUS, json.dumps(status), STATUS_KEY)

    def _send(self, topic: str, key: str, value: Any) -> None:
        serde = self._serdes.get(topic)
        data = json.dumps(value) if serde is None else serde.serialize(value)
        while True:
            try:
                self._producer.produce(topic, data, key.encode())
                return
            except BufferError:
                self._producer.poll(0.05)


def _phase(event: Event) -> str:
    return "voting" if isinstance(event, Turnout) else "counting"


def _due(events: list[Paced], start: int, phase: str, elapsed: float | None) -> int:
    """The end of what goes out now: events of one phase only."""
    end = start
    while end < len(events) and _phase(events[end].event) == phase:
        if end - start >= CHUNK or (elapsed is not None and events[end].due > elapsed):
            break
        end += 1
    return end


def read_position(status: Mapping[str, Any]) -> Position:
    """From the rows of the status topic; the beginning where there is none."""
    told = status.get(STATUS_KEY.decode())
    return Position(**{name: told[name] for name in Position.__slots__}) if told else Position()
