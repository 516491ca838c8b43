"""Throughput: a million records that lie in the input, through each topology on each engine that can express it."""

from __future__ import annotations

from caudal.bench.case import Figure, Values, ratio_at_least, ratio_at_most
from caudal.bench.streams_case import KEYS, Comparison, StreamsSession, streams_case
from caudal.bench.streams_data import SPAN_MS, Batch
from caudal.bench.streams_engines import Engine

STREAMS = "kafka-streams"
DEFAULTS = "kafka-streams-defaults"


def rate(title: str, *targets: object) -> Figure:
    return Figure(title, "rec/s", True, tuple(targets))  # type: ignore[arg-type]


def beside(case: str, title: str, peer: str, *targets: object) -> Comparison:
    return Comparison(rate(title, *targets), (case, "caudal", "rate"), (case, peer, "rate"))


def catch_up(session: StreamsSession, engine: Engine, topology: str, guarantee: str = "at_least_once") -> Values:
    job = session.job(engine, topology, guarantee)
    if topology == "join":
        session.fill_table(job, KEYS)
    measured = Batch(session.records, KEYS, begins_at=session.begins_at)
    # Before the measured hour: stream time must not have passed their windows when the measured records come.
    warm_up = Batch(max(400, session.records // 20), KEYS, prefix="warm", begins_at=session.begins_at - SPAN_MS)
    return session.catch_up(engine, job, warm_up, measured)


@streams_case(
    "map",
    "JSON map",
    ("caudal", "pyspark", STREAMS, "quix"),
    comparisons=[
        beside("map", "JSON map", "quix", ratio_at_least(3.0)),
        beside("map", "JSON map", "pyspark", ratio_at_least(0.9)),
        beside("map", "JSON map", STREAMS),
    ],
)
def json_map(session: StreamsSession, engine: Engine) -> Values:
    return catch_up(session, engine, "map")


@streams_case(
    "native-map",
    "JSON map, native lane",
    ("caudal", "pyspark"),
    comparisons=[
        beside("native-map", "JSON map, native lane / Spark SQL by hand", "pyspark", ratio_at_least(1.0)),
        Comparison(
            rate("JSON map: native lane / task lane"), ("native-map", "caudal", "rate"), ("map", "caudal", "rate")
        ),
    ],
)
def native_map(session: StreamsSession, engine: Engine) -> Values:
    return catch_up(session, engine, "sql-map")


@streams_case(
    "count",
    "count per key",
    ("caudal", "pyspark", "pyspark-native", STREAMS, DEFAULTS, "quix"),
    comparisons=[
        beside("count", "count per key", "quix", ratio_at_least(3.0)),
        beside("count", "count per key", "pyspark", ratio_at_least(0.9)),
        beside("count", "count per key", "pyspark-native"),
        beside("count", "count per key", STREAMS, ratio_at_least(1.0)),
        beside("count", "count per key", DEFAULTS),
    ],
)
def count(session: StreamsSession, engine: Engine) -> Values:
    return catch_up(session, engine, "count")


@streams_case(
    "sum",
    "windowed sum",
    ("caudal", STREAMS, "quix"),
    comparisons=[beside("sum", "windowed sum", "quix"), beside("sum", "windowed sum", STREAMS)],
)
def windowed_sum(session: StreamsSession, engine: Engine) -> Values:
    return catch_up(session, engine, "sum")


@streams_case(
    "join",
    "stream-table join",
    ("caudal", STREAMS, "quix"),
    comparisons=[
        Comparison(
            rate("JSON map / stream-table join", ratio_at_most(2.0)),
            ("map", "caudal", "rate"),
            ("join", "caudal", "rate"),
        ),
        beside("join", "stream-table join", "quix"),
        beside("join", "stream-table join", STREAMS),
    ],
)
def join(session: StreamsSession, engine: Engine) -> Values:
    return catch_up(session, engine, "join")


@streams_case(
    "exactly-once",
    "exactly-once count",
    ("caudal", STREAMS, "quix"),
    comparisons=[
        Comparison(
            rate("count: at least once / exactly once", ratio_at_most(1.5)),
            ("count", "caudal", "rate"),
            ("exactly-once", "caudal", "rate"),
        ),
        beside("exactly-once", "exactly-once count", "quix"),
        beside("exactly-once", "exactly-once count", STREAMS),
    ],
)
def exactly_once(session: StreamsSession, engine: Engine) -> Values:
    return catch_up(session, engine, "count", "exactly_once")
