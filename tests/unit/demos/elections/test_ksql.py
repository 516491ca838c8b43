"""`results.sql` in process: KSQL finds the totals that the Streams application finds, from the same records."""

from __future__ import annotations

import json
from importlib import resources

from tests.ksql.harness import Harness

from caudal.demos.elections import topics
from caudal.demos.elections.country import PARTY_IDS
from caudal.demos.elections.simulation import Country, Election, by_party, counts, turnout
from caudal.ksql.syntax.script import split, substitute

DAY = 1_700_006_400_000
COUNTRY = Country.of(seed=5, votes=30_000)


def test_ksql_gives_the_same_totals_and_turnout() -> None:
    election, before = Election.of(COUNTRY, 1), Election.of(COUNTRY, 0)
    harness = Harness()
    for station, votes in before.results.items():
        harness.produce(topics.PREVIOUS, station.encode(), json.dumps({"votes": by_party(votes)}).encode(), at=DAY)
    script = resources.files("caudal.demos.elections").joinpath("results.sql").read_text(encoding="utf-8")
    for statement, _ in split(script):
        if statement.startswith("CREATE"):
            harness.execute(substitute(statement, {"format": "JSON"}) + ";")
    for count in counts(election):
        value = topics.count_value(1, DAY, count)
        harness.produce(topics.COUNTS, count.station.id.encode(), json.dumps(value).encode(), at=value["at"])
    for came in turnout(election):
        value = topics.turnout_value(1, DAY, came)
        harness.produce(topics.TURNOUT, f"1/{came.community}".encode(), json.dumps(value).encode(), at=DAY)
    totals = {row["COMMUNITY"]: row for row in harness.rows("TOTALS") if "ENCINA" in row}
    truth, last = election.totals(), before.totals()
    assert {code: [row[name.upper()] for name in PARTY_IDS] for code, row in totals.items()} == {
        code: list(votes) for code, votes in truth.items()
    }
    assert {code: [row[f"{name.upper()}_BEFORE"] for name in PARTY_IDS] for code, row in totals.items()} == {
        code: list(votes) for code, votes in last.items()
    }
    hours = {(row["PLACE"], row["WINDOWSTART"]): row["VOTERS"] for row in harness.rows("TURNOUT_BY_HOUR")}
    assert sum(hours.values()) == sum(map(sum, truth.values()))
