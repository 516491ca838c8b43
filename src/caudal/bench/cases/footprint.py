"""What a broker costs before it does anything and after some work: start to first answer, memory."""

from __future__ import annotations

import time

from caudal.bench.case import Figure, Session, Values, case, ratio_at_most, value_at_most

SETTLE = 2.0


@case(
    "footprint",
    {
        "start": Figure("start to first answer", "s", False, (ratio_at_most(0.15), value_at_most(0.5, "s"))),
        "idle": Figure("memory idle", "MB", False, (value_at_most(60, "MB"),)),
        "loaded": Figure("memory after load", "MB", False, (value_at_most(100, "MB"),)),
    },
    own_server=True,
    max_rounds=3,
)
def footprint(session: Session) -> Values:
    """The load is 250 MB in and out over 4 partitions, in messages of both sizes, and some transactions."""
    start = session.server.start()
    time.sleep(session.seconds(SETTLE))
    idle = session.server.memory_mb()
    for size, full in ((100, 500_000), (1024, 200_000)):
        count, topic = session.count(full), session.topic(4)
        session.run("produce", topics=[topic], count=count, size=size)
        session.run("consume", topic=topic, partitions=4, count=count)
    session.run("transactions", topic=session.topic(4), seconds=session.seconds(1))
    time.sleep(session.seconds(SETTLE))
    return {"start": start, "idle": idle, "loaded": session.server.memory_mb()}
