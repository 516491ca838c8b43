"""State: throughput over a million keys beside a thousand, and how quickly a lost state is restored."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from caudal.bench.case import Figure, Values, ratio_at_most, value_at_least
from caudal.bench.streams_case import KEYS, Comparison, StreamsSession, streams_case
from caudal.bench.streams_data import Batch
from caudal.bench.streams_engines import Engine

STREAMS = "kafka-streams"
FULL_KEYS = 1_000_000


def counted(session: StreamsSession, engine: Engine, keys: int) -> Values:
    """The state holds every key before the clock begins: the warm-up is as long as the measured part."""
    warm_up = Batch(session.records, keys, begins_at=session.begins_at)
    measured = Batch(session.records, keys, first=session.records, begins_at=session.begins_at)
    return session.catch_up(engine, session.job(engine, "count"), warm_up, measured)


@streams_case("keys-thousand", "count over a thousand keys", ("caudal", STREAMS))
def thousand_keys(session: StreamsSession, engine: Engine) -> Values:
    return counted(session, engine, KEYS)


@streams_case(
    "keys-million",
    "count over a million keys",
    ("caudal", STREAMS),
    comparisons=[
        Comparison(
            Figure("count: a thousand keys / a million", "rec/s", True, (ratio_at_most(1.5),)),
            ("keys-thousand", "caudal", "rate"),
            ("keys-million", "caudal", "rate"),
        ),
        Comparison(
            Figure("count over a million keys", "rec/s", True),
            ("keys-million", "caudal", "rate"),
            ("keys-million", STREAMS, "rate"),
        ),
    ],
)
def million_keys(session: StreamsSession, engine: Engine) -> Values:
    return counted(session, engine, min(FULL_KEYS, session.records))


@streams_case(
    "restore",
    "state restore",
    ("caudal", STREAMS),
    max_rounds=2,
    comparisons=[
        Comparison(
            Figure("state restore", "rec/s", True, (value_at_least(100_000, "rec/s"),)),
            ("restore", "caudal", "rate"),
            ("restore", STREAMS, "rate"),
        )
    ],
)
def restore(session: StreamsSession, engine: Engine) -> Values:
    """From a start without local state to the first result, less the same with the state in place."""
    keys = session.records
    job = session.job(engine, "count")
    first = Batch(session.records, keys, begins_at=session.begins_at)
    session.fill(job, first)
    engine.begin(job)
    session.wait(engine, job, first.count)
    engine.end()
    done = first.count
    seconds: dict[str, float] = {}
    for turn in ("intact", "lost", "intact", "lost"):
        if turn == "lost":
            shutil.rmtree(Path(job.state), ignore_errors=True)
        session.fill(job, Batch(10, 10, prefix="warm", begins_at=session.begins_at))
        begin = time.perf_counter()
        engine.begin(job)
        done += 10
        session.wait(engine, job, done)
        seconds[turn] = min(seconds.get(turn, 1e9), time.perf_counter() - begin)
        engine.end()
    took = seconds["lost"] - seconds["intact"]
    if took <= 0:  # too few records to tell: with the start counted in, it is a rate that was surely reached
        took = seconds["lost"]
    return {"rate": first.count / took, "seconds": took}
