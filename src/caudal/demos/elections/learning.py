"""Learns the projection with Spark's MLlib from partial counts of past nights, and publishes it as a record.

Two linear regressions without intercept: one for how far the final share is from the share counted so far, one for the
square of what the first leaves unexplained, which gives the interval. The samples are a topic: simulated past elections
at first, and the counts of each night that the application itself has written since.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from caudal.demos.elections import topics
from caudal.demos.elections.application import counted_in, is_sample, standing, taken_out
from caudal.demos.elections.country import PARTY_IDS
from caudal.demos.elections.projection import FEATURES, KEY, SPREAD, features, share, spread
from caudal.demos.elections.simulation import Country, Election, by_party, counts

PAST_ELECTIONS = 10
PAST_VOTES = 250_000  # of a smaller country: shares are what is learnt


def past_samples(seed: int, elections: int = PAST_ELECTIONS, votes: int = PAST_VOTES) -> Iterator[tuple[str, Any]]:
    """Partial and final counts of elections before the first night, by community, as the application writes them."""
    country = Country.of(seed, votes)
    before = Election.of(country, -elections - 1)
    for night in range(-elections, 0):
        election = Election.of(country, night)
        places = dict(topics.places(election, before))
        rows: dict[str, Any] = {}
        known: dict[str, Any] = {}
        for count in counts(election):
            station, code = count.station.id, count.station.community
            report = {**topics.count_value(night, 0, count), "previous": by_party(before.results[station])}
            if station in known:
                if report["version"] <= known[station]["version"]:
                    continue
                rows[code] = taken_out(code, known[station], rows[code])
            known[station] = report
            rows[code] = counted_in(code, report, rows.get(code, {}))
            row = standing(rows[code], places[code])
            if is_sample(code, row):
                yield code, row
        before = election


def learn(session: Any, bootstrap: str, client: dict[str, str] | None = None) -> dict[str, Any]:
    """The model of all samples that are in the topic now."""
    import pandas
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression
    from pyspark.sql import functions as sql

    security = {f"kafka.{name}": value for name, value in (client or {}).items()}
    records = (
        session.read.format("kafka")
        .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": topics.SAMPLES, **security})
        .load()
        .select(sql.col("key").cast("string"), sql.col("value").cast("string"))
        .collect()
    )
    rows = _training_rows([(record[0], json.loads(record[1])) for record in records])
    frame = session.createDataFrame(pandas.DataFrame(rows, columns=[*FEATURES, *SPREAD, "target"]))
    assembled = VectorAssembler(inputCols=list(FEATURES), outputCol="features").transform(frame)
    mean = LinearRegression(labelCol="target", fitIntercept=False, solver="normal").fit(assembled)
    left = mean.transform(assembled).select(*SPREAD, ((sql.col("target") - sql.col("prediction")) ** 2).alias("square"))
    parts = VectorAssembler(inputCols=list(SPREAD), outputCol="parts").transform(left)
    width = LinearRegression(labelCol="square", featuresCol="parts", fitIntercept=False, solver="normal").fit(parts)
    return {
        "version": len(records),  # how many partial counts it was learnt from
        "weights": [float(weight) for weight in mean.coefficients],
        "spread": [float(weight) for weight in width.coefficients],
        "rows": len(rows),
        "nights": len({json.loads(record[1])["night"] for record in records}),
    }


def _training_rows(samples: list[tuple[str, Any]]) -> list[tuple[float, ...]]:
    """One per partial count and party: what was known, and how far the final share was away from the counted one."""
    finals = {(row["night"], code): row for code, row in samples if row["stations"] == row["stations_total"]}
    rows: list[tuple[float, ...]] = []
    for code, row in samples:
        final = finals.get((row["night"], code))
        if final is None or row["stations"] == row["stations_total"] or not row["stations"]:
            continue
        for party in PARTY_IDS:
            missed = share(final["votes"], party) - share(row["votes"], party)
            rows.append((*features(row, party), *spread(row, party), missed))
    return rows


def model_record(model: dict[str, Any]) -> tuple[str, str, bytes]:
    """Topic, key and value."""
    return topics.MODEL, KEY, json.dumps(model).encode()
