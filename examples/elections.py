r"""An election night: votes by autonomous community and party, compared with last time; turnout by the hour.

Shows: a stream summed up into a table, a table joined with a table (previous results), a table grouped anew (rows leave
their old group when they change, so the standings are right), event time from the record itself, and windows that speak
once, when they are final.

Run it, with a broker at localhost:9092 (`caudal broker`):

    caudal topic create turnout -p 1
    caudal topic create votes -p 2
    caudal topic create previous-results -p 2 -c cleanup.policy=compact
    caudal topic create turnout-by-hour -c retention.ms=-1
    caudal run examples/elections.py

(Results by the hour carry the time of the election. It is years ago, so an ordinary topic would soon forget them.)

Feed it from another terminal. First the results of last time, keyed by community and party:

    echo 'Aragón/Tejo={"votes": 900}' | caudal produce previous-results -K =

During the day polling stations say how many came; each report has its own time:

    echo 'z-1={"community": "Aragón", "voters": 120, "at": "2023-05-28T09:30:00+02:00"}' | caudal produce turnout -K =
    echo 'z-2={"community": "Aragón", "voters": 80, "at": "2023-05-28T09:50:00+02:00"}' | caudal produce turnout -K =
    echo 'z-1={"community": "Aragón", "voters": 60, "at": "2023-05-28T10:20:00+02:00"}' | caudal produce turnout -K =

At night they count:

    echo 'z-1={"community": "Aragón", "party": "Tejo", "votes": 700}' | caudal produce votes -K =
    echo 'z-2={"community": "Aragón", "party": "Encina", "votes": 650}' | caudal produce votes -K =
    echo 'z-2={"community": "Aragón", "party": "Tejo", "votes": 300}' | caudal produce votes -K =

And look:

    caudal consume results standings turnout-by-hour -f '%t %k %s\n'

The turnout of an hour is written once, when a report comes from 15 minutes or more past its end: here the third
report closes the hour from 9 to 10. Windows close by the time in the records, in each partition for itself, so nothing
closes while no report comes.
"""

from datetime import UTC, datetime

from caudal.serde import Json, Long, String
from caudal.streams import StreamsBuilder, tumbling

builder = StreamsBuilder("elections")

# -- votes: totals per community and party, beside those of last time ------------------------------------------------


def place_and_party(station, report):
    return f"{report['community']}/{report['party']}"


def compared(total, before):
    """Both sides of the join as one row; `before` is None for a party that is new."""
    last_time = before["votes"] if before else None
    return {"votes": total, "before": last_time, "change": None if last_time is None else total - last_time}


votes = builder.stream("votes", key=String(), value=Json())
previous = builder.table("previous-results", key=String(), value=Json())

totals = votes.group_by(place_and_party).aggregate(
    lambda: 0, lambda key, report, total: total + report["votes"], value=Long(), store="totals"
)
totals.left_join(previous, compared, value=Json()).to("results")

# -- standings: one row per community with all its parties -----------------------------------------------------------


def by_community(place, total):
    community, _, party = place.rpartition("/")
    return community, {"party": party, "votes": total}


def put_in(community, row, parties):
    return {**parties, row["party"]: row["votes"]}


def take_out(community, row, parties):
    return {party: votes for party, votes in parties.items() if party != row["party"]}


def ranked(parties):
    return dict(sorted(parties.items(), key=lambda party: -party[1]))


standings = totals.group_by(by_community, value=Json()).aggregate(dict, put_in, take_out, store="standings")
standings.map_values(ranked).to("standings")

# -- turnout: one final number per community and hour ----------------------------------------------------------------


def moment(report):
    return int(datetime.fromisoformat(report["at"]).timestamp() * 1000)


def with_its_hour(window, voters):
    return window.key, {"from": datetime.fromtimestamp(window.start / 1000, UTC).isoformat(), "voters": voters}


turnout = builder.stream("turnout", key=String(), value=Json(), timestamp=moment)
by_hour = turnout.group_by(lambda station, report: report["community"]).windowed_by(
    tumbling("1 hour", grace="15 minutes"), emit="on_close"
)
voters = by_hour.aggregate(lambda: 0, lambda key, report, total: total + report["voters"], value=Long())
voters.to_stream().map(with_its_hour, key=String(), value=Json()).to("turnout-by-hour")

if __name__ == "__main__":
    builder.run()
