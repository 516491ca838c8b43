"""Many topics: 2,000 partitions must cost neither start time, memory, produce throughput nor request time."""

from __future__ import annotations

import time

from caudal.bench.case import Figure, Session, Values, case, ratio_at_least, value_at_least, value_at_most

FEW, MANY = 10, 2000
# Two measurements of one thing differ by some per cent on a machine with 2 cores: less is not a degradation.
NOISE = 0.1


@case(
    "partitions-2000",
    {
        "start": Figure("start with 2,000 partitions", "s", False, (value_at_most(2.0, "s"),)),
        "idle": Figure("memory idle with 2,000 partitions", "MB", False, (value_at_most(150, "MB"),)),
        "produce": Figure(
            "produce with 2,000 partitions / with 10, same topic", "", True, (value_at_least(1.0 - NOISE),)
        ),
        "spread": Figure("produce 100 B over 2,000 partitions", "msg/s", True, (ratio_at_least(1.0),)),
        "metadata": Figure("Metadata of 1 topic among 2,000 / among 10", "", False, (value_at_most(1.0 + 2 * NOISE),)),
        "request": Figure("Metadata of 1 topic among 2,000", "µs", False),
        "create": Figure("creating 1,990 topics", "s", False),
    },
    own_server=True,
    max_rounds=1,
)
def partitions(session: Session) -> Values:
    server = session.server
    server.start()
    topics = session.topics(FEW)
    best_produce(session, topics[0])  # not counted: warms the JVM up
    few_produce, few_metadata = best_produce(session, topics[0]), metadata_seconds(session, topics[0])
    begin = time.perf_counter()
    topics += session.topics(session.count(MANY - FEW))
    create = time.perf_counter() - begin
    time.sleep(session.seconds(2))
    many_produce, many_metadata = best_produce(session, topics[0]), metadata_seconds(session, topics[0])
    spread = session.run("produce", topics=topics, count=session.count(400_000), size=100)["per_second"]
    server.stop()
    start = server.start(topics)
    time.sleep(session.seconds(2))
    return {
        "start": start,
        "idle": server.memory_mb(),
        "produce": many_produce / few_produce,
        "spread": spread,
        "metadata": many_metadata / few_metadata,
        "request": many_metadata * 1e6,
        "create": create,
    }


def best_produce(session: Session, topic: str) -> float:
    """The best of three: the question is what the broker can do, not what else the machine was doing."""
    count = session.count(400_000)
    return max(float(session.run("produce", topics=[topic], count=count, size=100)["per_second"]) for _ in range(3))


def metadata_seconds(session: Session, topic: str) -> float:
    return min(float(session.run("metadata_cost", topic=topic, count=session.count(3000))["seconds"]) for _ in range(3))
