"""Real-time mode: end-to-end latency at 100 msg/s, the pauses at the ends of Spark's batches, CPU without records.

Kafka Streams stands beside it with its defaults and tuned for latency. Targets are on the defaults.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from caudal.bench.case import Figure, Target, Values, ratio_at_most, value_at_most
from caudal.bench.streams_case import Comparison, StreamsSession, streams_case
from caudal.bench.streams_cases.latency import DEFAULTS, comparisons, latency
from caudal.bench.streams_data import Batch
from caudal.bench.streams_engines import Engine

OWN, TUNED = "caudal-real-time", "kafka-streams-tuned"
RATE = 100
BATCH_SECONDS, BATCH_ENDS = 10, 5
IDLE_SECONDS = 30.0
SETTLE_SECONDS = 60.0  # compilers and collectors finish what the start left to them


def register(topology: str, guarantee: str, targets: Sequence[Target]) -> None:
    exactly_once = guarantee == "exactly_once"
    name = f"real-time-{topology}{'-exactly-once' if exactly_once else ''}"
    title = f"{topology} in real time at {RATE} msg/s{', exactly once' if exactly_once else ''}"
    peers = (DEFAULTS, TUNED)

    @streams_case(name, title, (OWN, *peers), comparisons=comparisons(name, title, targets, peers, OWN))
    def run(session: StreamsSession, engine: Engine) -> Values:
        return latency(session, engine, topology, guarantee, RATE)


register("map", "at_least_once", [ratio_at_most(0.5)])
register("regroup", "at_least_once", [ratio_at_most(1.0)])
register("count", "exactly_once", [ratio_at_most(1.5)])
register("regroup", "exactly_once", [])


@streams_case(
    "real-time-batch-ends",
    f"longest pause over {BATCH_ENDS} ends of Spark's batches",
    (OWN,),
    comparisons=[
        Comparison(
            Figure("longest pause at the ends of Spark's batches", "ms", False, (value_at_most(500, "ms"),)),
            ("real-time-batch-ends", OWN, "max"),
        )
    ],
)
def batch_ends(session: StreamsSession, engine: Engine) -> Values:
    job = session.job(engine, "map", batch_duration=f"{BATCH_SECONDS} seconds")
    return session.latency(engine, job, RATE, BATCH_SECONDS * (BATCH_ENDS + 0.5), 5.0)


@streams_case(
    "real-time-idle",
    "CPU of an application without records",
    (OWN, "kafka-streams"),
    comparisons=[
        Comparison(
            Figure("CPU without records", "% of a core", False, (value_at_most(5, "% of a core"),)),
            ("real-time-idle", OWN, "idle"),
            ("real-time-idle", "kafka-streams", "idle"),
        )
    ],
)
def idle(session: StreamsSession, engine: Engine) -> Values:
    """Of all its processes; the broker's is not counted."""
    job = session.job(engine, "map")
    batch = Batch(session.count(2_000), 100, prefix="warm", begins_at=session.begins_at)
    session.fill(job, batch)
    engine.begin(job)
    session.wait(engine, job, batch.count)
    time.sleep(session.seconds(SETTLE_SECONDS))
    seconds = session.seconds(IDLE_SECONDS)
    used = engine.cpu_seconds()
    time.sleep(seconds)
    used = engine.cpu_seconds() - used
    engine.end()
    return {"idle": used / seconds * 100}
