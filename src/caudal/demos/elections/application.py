"""The Streams application: reports of polling stations become the standings of each community, as they come.

    counts ──join──▶ newest version of each station ──regrouped──▶ communities ──join──▶ results
             │ previous (table)      (table)              (table)        │ communities, model (global tables)

A station's table keeps the newest version of its report, whatever order they come in: what was sent twice changes
nothing, and what was corrected leaves the community's sum before the correction enters it. A new night begins with the
first report that carries its number. `results.sql` says the same in KSQL.
"""

from __future__ import annotations

from typing import Any

from caudal.demos.elections import topics
from caudal.demos.elections.country import PARTY_IDS
from caudal.demos.elections.projection import KEY, projected
from caudal.demos.elections.seats import seats_by_dhondt
from caudal.serde import Json, Long, String
from caudal.streams import KStream, StreamsBuilder, persistent, tumbling

APPLICATION_ID = "elections-demo"
MARKS = 10  # samples that a community gives in a night
HOUR = 3_600_000

Row = dict[str, Any]
NO_VOTES = dict.fromkeys(PARTY_IDS, 0)


def elections(registry: str | None = None, application_id: str = APPLICATION_ID) -> StreamsBuilder:
    """The whole application. With a registry its events are Avro."""
    builder = StreamsBuilder(application_id, key=String(), value=Json())
    serdes = topics.value_serdes(registry)
    _count(builder, builder.stream(topics.COUNTS, value=serdes[topics.COUNTS]))
    _turnout(builder.stream(topics.TURNOUT, value=serdes[topics.TURNOUT], timestamp=event_time))
    return builder


def _count(builder: StreamsBuilder, counts: KStream) -> None:
    previous = builder.table(topics.PREVIOUS)
    places = builder.global_table(topics.PLACES)
    models = builder.global_table(topics.MODEL)

    stations = (
        counts.left_join(previous, with_previous, value=Json())
        .group_by_key()
        .aggregate(dict, newest, value=Json(), store="stations")
    )
    communities = stations.group_by(by_community, value=Json()).aggregate(
        dict, counted_in, taken_out, value=Json(), store="communities"
    )
    standings = communities.to_stream().join(places, standing, key_selector=lambda code, row: code)
    results = standings.left_join(models, with_projection, key_selector=lambda code, row: KEY)
    results.to(topics.RESULTS)
    results.filter(is_sample).to(topics.SAMPLES)


def _turnout(reports: KStream) -> None:
    # All nights are the same day, so the grace is long: a night's morning comes after the evening of the one before.
    hours = reports.group_by_key().windowed_by(tumbling("1 hour", grace="2 days"))
    voters = hours.aggregate(lambda: 0, add_voters, value=Long(), store=persistent("turnout", retention="3 days"))
    voters.to_stream().map(by_hour, key=String(), value=Json()).to(topics.TURNOUT_BY_HOUR)


# -- stations ----------------------------------------------------------------------------------------------------------


def with_previous(report: Row, before: Row | None) -> Row:
    return {**report, "previous": before["votes"] if before else NO_VOTES}


def newest(station: str, report: Row, known: Row) -> Row:
    """A late copy of what was corrected since is not taken."""
    is_older = known and (report["night"], report["version"]) <= (known["night"], known["version"])
    return known if is_older else report


def by_community(station: str, report: Row) -> tuple[str, Row]:
    return report["community"], report


# -- communities -------------------------------------------------------------------------------------------------------


def counted_in(code: str, report: Row, row: Row) -> Row:
    """A station's report enters the sum. The first of a new night begins a new sum."""
    if not row or report["night"] > row["night"]:
        row = {"night": report["night"], "stations": 0, "electors_counted": 0, "votes": NO_VOTES, "before": NO_VOTES}
    return _summed(row, report, 1) if report["night"] == row["night"] else row


def taken_out(code: str, report: Row, row: Row) -> Row:
    """A station's former report leaves the sum, if it is of the same night."""
    return _summed(row, report, -1) if row and report["night"] == row["night"] else row


def _summed(row: Row, report: Row, sign: int) -> Row:
    return {
        "night": row["night"],
        "stations": row["stations"] + sign,
        "electors_counted": row["electors_counted"] + sign * report["electors"],
        "votes": {party: votes + sign * report["votes"][party] for party, votes in row["votes"].items()},
        "before": {party: votes + sign * report["previous"][party] for party, votes in row["before"].items()},
        "at": report["at"],
    }


# -- results -----------------------------------------------------------------------------------------------------------


def standing(row: Row, place: Row) -> Row:
    """Beside what is known of the place: how much is counted, who leads, seats, the change since last time."""
    votes, before = row["votes"], row["before"]
    order = sorted(votes, key=lambda party: -votes[party])
    total, total_before = sum(votes.values()), sum(before.values())
    first, second = votes[order[0]], votes[order[1]]
    return {
        **row,
        "name": place["name"],
        "counted": row["electors_counted"] / place["electors"],
        "stations_total": place["stations"],
        "previous": place["previous"],
        "winner": order[0] if total else None,
        "lead": (first - second) / total if total else 0.0,
        # Points of a hundred, against the same stations last time: a fair comparison while the count is partial.
        "change": {
            party: round(100 * (count / total - before[party] / total_before), 2) if total and total_before else None
            for party, count in votes.items()
        },
        "seats": seats_by_dhondt(votes, place["seats"]),
    }


def with_projection(row: Row, model: Row | None) -> Row:
    if model is None or not sum(row["votes"].values()):
        return {**row, "projection": None, "model": None}
    return {**row, "projection": projected(row, model), "model": model["version"]}


def is_sample(code: str, row: Row) -> bool:
    """One count in so many, and the last: what the next model learns from."""
    every = max(1, row["stations_total"] // MARKS)
    return bool(row["stations"] == row["stations_total"] or row["stations"] % every == 0)


# -- turnout -----------------------------------------------------------------------------------------------------------


def event_time(report: Row) -> int:
    return int(report["at"])


def add_voters(key: str, report: Row, total: int) -> int:
    return total + int(report["voters"])


def by_hour(window: Any, voters: int) -> tuple[str, Row]:
    night, _, community = window.key.partition("/")
    hour = window.start // HOUR % 24
    return f"{window.key}/{hour:02d}", {
        "night": int(night),
        "community": community,
        "hour": hour,
        "voters": voters,
    }
