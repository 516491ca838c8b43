"""End-to-end latency at a steady rate, alone and with a thousand connections; transactions one after the other."""

from __future__ import annotations

import time

from caudal.bench.case import Figure, Session, Values, case, ratio_at_least, ratio_at_most

RATE = 1000


@case(
    "latency",
    {
        "p50": Figure("end to end p50 at 1,000 msg/s", "ms", False, (ratio_at_most(0.7),)),
        "p99": Figure("end to end p99 at 1,000 msg/s", "ms", False),
    },
)
def latency(session: Session) -> Values:
    measured = session.run("end_to_end", topic=session.topic(), rate=RATE, seconds=session.seconds(6))
    return {"p50": measured["p50_ms"], "p99": measured["p99_ms"]}


@case("transactions", {"rate": Figure("transactions of 10 messages", "tx/s", True, (ratio_at_least(1.0),))})
def transactions(session: Session) -> Values:
    measured = session.run("transactions", topic=session.topic(4), seconds=session.seconds(3))
    return {"rate": measured["per_second"]}


@case(
    "connections",
    {
        "memory": Figure("memory with 1,000 connections", "MB", False),
        "p50": Figure("end to end p50 with 1,000 connections", "ms", False, (ratio_at_most(0.7),)),
        "p99": Figure("end to end p99 with 1,000 connections", "ms", False),
    },
    own_server=True,
    max_rounds=2,
)
def connections(session: Session) -> Values:
    """The connections are in use (1,000 requests a second over all of them), or an event loop's cost per connection
    would not show.
    """
    count = session.count(1000)
    session.server.start()
    topic = session.topic()
    session.run("end_to_end", topic=topic, rate=RATE, seconds=session.seconds(3))  # not counted: warms the JVM up
    others = session.begin("hold_connections", 1, count=count, rate=RATE, seconds=600)
    time.sleep(session.seconds(3))
    measured = session.run("end_to_end", topic=session.topic(), rate=RATE, seconds=session.seconds(5))
    memory = session.server.memory_mb()
    others.finish()
    return {"memory": memory, "p50": measured["p50_ms"], "p99": measured["p99_ms"]}
