"""The topics of the elections: their names, how they keep records, and what a record is in Avro or JSON."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from caudal.demos.elections.country import COMMUNITIES, PARTIES
from caudal.demos.elections.simulation import Count, Election, Turnout, by_party
from caudal.demos.hosting import create_topics
from caudal.serde import Json, Serde

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

COUNTS = "elections.counts"  # reports of polling stations, by station
TURNOUT = "elections.turnout"  # who came, by night and community
PREVIOUS = "elections.previous"  # the election before, by station
PLACES = "elections.communities"  # what is known of a community before the first vote
MODEL = "elections.model"
RESULTS = "elections.results"  # the standings of a community, by its code
TURNOUT_BY_HOUR = "elections.turnout-by-hour"
SAMPLES = "elections.samples"  # partial counts of past nights: what the model learns from
STATUS = "elections.status"  # what the demonstration is doing

PARTITIONS = 2  # of what is keyed by station; both sides of a join need the same number
# It may run for days: small segments, so that what is old or replaced goes soon.
SEGMENT = {"segment.bytes": str(4 << 20)}
COMPACTED = {**SEGMENT, "cleanup.policy": "compact"}
SOME_NIGHTS = {**SEGMENT, "retention.ms": str(2 * 86_400_000), "retention.bytes": str(32 << 20)}

TOPICS: dict[str, tuple[int, dict[str, str]]] = {
    COUNTS: (PARTITIONS, SOME_NIGHTS),
    PREVIOUS: (PARTITIONS, COMPACTED),
    TURNOUT: (1, SOME_NIGHTS),
    PLACES: (1, COMPACTED),
    MODEL: (1, COMPACTED),
    RESULTS: (1, COMPACTED),
    TURNOUT_BY_HOUR: (1, {**SOME_NIGHTS, "cleanup.policy": "compact,delete"}),
    # The newest teach as much as the oldest, and Spark reads them all.
    SAMPLES: (1, {**SEGMENT, "retention.ms": "-1", "retention.bytes": str(12 << 20)}),
    STATUS: (1, COMPACTED),
}

MAP_OF_VOTES = {"type": "map", "values": "long"}
COUNT_SCHEMA = {
    "type": "record",
    "name": "Count",
    "namespace": "caudal.demos.elections",
    "fields": [
        {"name": "night", "type": "int"},
        {"name": "station", "type": "string"},
        {"name": "community", "type": "string"},
        {"name": "version", "type": "int"},
        {"name": "electors", "type": "int"},
        {"name": "votes", "type": MAP_OF_VOTES},
        {"name": "at", "type": "long", "doc": "milliseconds since 1970, of the simulated night"},
    ],
}
TURNOUT_SCHEMA = {
    "type": "record",
    "name": "Turnout",
    "namespace": "caudal.demos.elections",
    "fields": [
        {"name": "night", "type": "int"},
        {"name": "community", "type": "string"},
        {"name": "district", "type": "int"},
        {"name": "voters", "type": "int"},
        {"name": "at", "type": "long", "doc": "milliseconds since 1970, of the simulated day"},
    ],
}


def value_serdes(registry: str | None) -> dict[str, Serde]:
    """Of the two topics of events: Avro where there is a registry, else JSON."""
    if registry is None:
        return {COUNTS: Json(), TURNOUT: Json()}
    from caudal.serde import Avro

    return {COUNTS: Avro(COUNT_SCHEMA, registry=registry), TURNOUT: Avro(TURNOUT_SCHEMA, registry=registry)}


def create(admin: AdminClient) -> None:
    """Makes the topics that are not there."""
    create_topics(admin, TOPICS)


def midnight() -> int:
    """The beginning of yesterday, UTC, in milliseconds: the election's day. Event times stay behind the clock (Kafka
    refuses later ones) and near it (changelogs of windows forget the distant past)."""
    now = int(time.time())
    return (now - now % 86_400 - 86_400) * 1000


def count_value(night: int, day: int, count: Count) -> dict[str, Any]:
    return {
        "night": night,
        "station": count.station.id,
        "community": count.station.community,
        "version": count.version,
        "electors": count.station.electors,
        "votes": by_party(count.votes),
        "at": day + int(count.minute * 60_000),
    }


def turnout_value(night: int, day: int, report: Turnout) -> dict[str, Any]:
    return {
        "night": night,
        "community": report.community,
        "district": report.district,
        "voters": report.voters,
        # The report comes at the end of the hour, and is about the hour.
        "at": day + report.hour * 3_600_000 + 1_800_000,
    }


def places(election: Election, before: Election) -> Iterable[tuple[str, dict[str, Any]]]:
    """By code: what the night begins with."""
    last = before.totals()
    for community in COMMUNITIES:
        stations = election.country.in_community(community.code)
        yield (
            community.code,
            {
                "night": election.night,
                "name": community.name,
                "stations": len(stations),
                "electors": sum(station.electors for station in stations),
                "seats": community.seats,
                "previous": by_party(last[community.code]),
                "parties": [party.id for party in PARTIES],
            },
        )
