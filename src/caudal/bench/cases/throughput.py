"""Produce and consume as fast as one client goes, and the broker's CPU for it."""

from __future__ import annotations

from functools import partial
from itertools import product

from caudal.bench.case import Figure, Session, Values, case, ratio_at_least, ratio_at_most

# Enough for one to two seconds each: shorter ones measure the start, longer ones make the run too long to be repeated.
MESSAGES = {100: 600_000, 1024: 150_000}
SIZE_NAMES = {100: "100 B", 1024: "1 KiB"}


def throughput(session: Session, size: int, partitions: int, acks: str) -> Values:
    count = session.count(MESSAGES[size])
    topic = session.topic(partitions)
    with session.broker_cpu() as produce_cpu:
        produced = session.run("produce", topics=[topic], count=count, size=size, acks=acks)
    values = {"produce": produced["per_second"]}
    if acks == "all":
        with session.broker_cpu() as consume_cpu:
            consumed = session.run("consume", topic=topic, partitions=partitions, count=count)
        values["consume"] = consumed["per_second"]
        values["produce_cpu"] = produce_cpu[0] * 1e3 / produced["mb"]
        values["consume_cpu"] = consume_cpu[0] * 1e3 / consumed["mb"]
    return values


def figures(size: int, partitions: int, acks: str) -> dict[str, Figure]:
    what = f"{SIZE_NAMES[size]}, {partitions} partition{'s' if partitions > 1 else ''}"
    found = {"produce": Figure(f"produce {what}, acks={acks}", "msg/s", True, (ratio_at_least(1.0),))}
    if acks == "all":  # reading does not depend on how the records were acknowledged: once is enough
        found["consume"] = Figure(f"consume {what}", "msg/s", True, (ratio_at_least(1.0),))
        found["produce_cpu"] = Figure(f"broker CPU per MB, produce {what}", "ms/MB", False, (ratio_at_most(1.0),))
        found["consume_cpu"] = Figure(f"broker CPU per MB, consume {what}", "ms/MB", False, (ratio_at_most(1.0),))
    return found


for _size, _partitions, _acks in product(MESSAGES, (1, 4), ("1", "all")):
    case(f"throughput-{_size}b-{_partitions}p-acks-{_acks}", figures(_size, _partitions, _acks))(
        partial(throughput, size=_size, partitions=_partitions, acks=_acks)
    )
