"""End-to-end latency at a steady rate, Kafka Streams with its defaults beside it (its producers linger 100 ms)."""

from __future__ import annotations

from collections.abc import Sequence

from caudal.bench.case import Figure, Target, Values, ratio_at_most
from caudal.bench.streams_case import Comparison, StreamsSession, streams_case
from caudal.bench.streams_engines import Engine

CAUDAL, DEFAULTS = "caudal", "kafka-streams-defaults"
SECONDS, WARM_UP = 20.0, 5.0


def comparisons(
    case: str, title: str, p50: Sequence[Target], peers: Sequence[str], own: str = CAUDAL
) -> list[Comparison]:
    figures = {
        "p50": Figure(f"{title}: p50", "ms", False, tuple(p50)),
        "p99": Figure(f"{title}: p99", "ms", False),
        "max": Figure(f"{title}: max", "ms", False),
    }
    return [
        Comparison(
            Figure(figure.title, figure.unit, False, figure.targets if peer == DEFAULTS else ()),
            (case, own, key),
            (case, peer, key),
        )
        for peer in peers
        for key, figure in figures.items()
    ]


def latency(session: StreamsSession, engine: Engine, topology: str, guarantee: str, rate: int) -> Values:
    job = session.job(engine, topology, guarantee)
    return session.latency(engine, job, rate, session.seconds(SECONDS), session.seconds(WARM_UP))


def register(rate: int, guarantee: str, topology: str, peers: tuple[str, ...], targets: Sequence[Target]) -> None:
    short = "-exactly-once" if guarantee == "exactly_once" else ""
    name = f"latency-{rate}{short}"
    title = f"{topology} end to end at {rate:,} msg/s{', exactly once' if short else ''}"

    @streams_case(name, title, ("caudal", *peers), comparisons=comparisons(name, title, targets, peers))
    def run(session: StreamsSession, engine: Engine) -> Values:
        return latency(session, engine, topology, guarantee, rate)


register(100, "at_least_once", "map", (DEFAULTS, "pyspark", "quix"), [ratio_at_most(4.0)])
register(1000, "at_least_once", "map", (DEFAULTS, "pyspark", "quix"), [])
register(100, "exactly_once", "count", (DEFAULTS,), [ratio_at_most(6.0)])
register(1000, "exactly_once", "count", (DEFAULTS,), [])
