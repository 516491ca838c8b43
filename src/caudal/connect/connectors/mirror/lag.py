"""How far a copy is behind: the source's committed records that have no offset sync yet, by partition.

Offsets alone do not say: transaction markers, aborted and compacted records have some, too. So what lies between the
last copied record and the end is read and counted; where that is too much, the offsets are told. An offset sync comes
up to a second after its record, so that a mirror at work seems to be that much behind; one that was stopped does not.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from caudal.connect.connectors.mirror.cluster import READ_SECONDS, Cluster, silence
from caudal.connect.errors import ConnectError
from caudal.connect.records import TopicPartition

MOST_COUNTED = 100_000


def records_behind(
    source: Cluster, places: list[TopicPartition], copied: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """`copied` has the offsets behind the last copied records. Partitions that are not behind are left out."""
    ends = source.ends(places)
    open_: dict[TopicPartition, int] = {
        place: copied.get(place, 0) for place in ends if ends[place] > copied.get(place, 0)
    }
    if sum(ends[place] - start for place, start in open_.items()) > MOST_COUNTED:
        return {place: ends[place] - start for place, start in open_.items()}
    return _count(source, open_, ends) if open_ else {}


def _count(
    source: Cluster, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    from confluent_kafka import KafkaError
    from confluent_kafka import TopicPartition as Place

    consumer = source.consumer(
        **{"auto.offset.reset": "earliest", "isolation.level": "read_committed", "enable.partition.eof": True}
    )
    counts: dict[TopicPartition, int] = {}
    waiting = set(starts)
    deadline = time.monotonic() + READ_SECONDS
    try:
        consumer.assign([Place(*place, start) for place, start in starts.items()])
        while waiting:
            for message in consumer.consume(1000, 0.2):
                place = TopicPartition(str(message.topic()), int(message.partition() or 0))
                error = message.error()
                if error is None:
                    if (message.offset() or 0) < ends[place]:
                        counts[place] = counts.get(place, 0) + 1
                    else:
                        waiting.discard(place)
                elif error.code() == KafkaError._PARTITION_EOF:
                    waiting.discard(place)
                elif error.code() not in silence():
                    raise ConnectError(f"Reading from the source cluster '{source.name}' failed: {error.str()}.")
            if time.monotonic() > deadline:
                raise ConnectError(f"The source cluster '{source.name}' did not answer in {READ_SECONDS:.0f} s.")
    finally:
        consumer.close()
    return counts
