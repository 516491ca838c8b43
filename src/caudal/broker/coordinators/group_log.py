"""The coordinator's pen: which partition of ``__consumer_offsets`` a group lives in, and appending to it.

Appends happen on the event loop, in the order of the decisions they record. What a failed append means to a group's
client is said by `for_client`: the client must look for the coordinator again, not think that its topic is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from caudal.broker.coordinators.java_hash import partition_for
from caudal.broker.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from caudal.broker.broker import Broker
    from caudal.broker.partition import Partition

__all__ = ["OFFSETS_TOPIC", "GroupLog", "KeyValue", "for_client"]

log = logging.getLogger("caudal.broker.groups")

OFFSETS_TOPIC = "__consumer_offsets"

KeyValue = tuple[bytes | None, bytes | None]

_FOR_CLIENT = {
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
    ErrorCode.invalid_fetch_size: ErrorCode.unknown_server_error,
}


def for_client(code: ErrorCode) -> ErrorCode:
    """An error of appending to the internal topic as the group's client should see it."""
    return _FOR_CLIENT.get(code, code)


class GroupLog:
    """Appends a group's records to its partition."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    async def ensure(self) -> None:
        """Creates the topic on first use."""
        if OFFSETS_TOPIC not in self.broker.metadata.topics:
            await self.broker.ensure_internal_topic(OFFSETS_TOPIC)

    def partition_of(self, group_id: str) -> int:
        topic = self.broker.metadata.topics.get(OFFSETS_TOPIC)
        count = int(self.broker.config["offsets.topic.num.partitions"]) if topic is None else len(topic.partitions)
        return partition_for(group_id, count)

    def append(
        self,
        group_id: str,
        records: Sequence[KeyValue],
        *,
        producer_id: int = -1,
        producer_epoch: int = -1,
        transactional: bool = False,
    ) -> tuple[Partition, int, int]:
        """Writes the records as one batch; the partition with the first and last offset. Errors are already the
        client's."""
        partition = self.broker.partition(OFFSETS_TOPIC, self.partition_of(group_id))
        if partition is None:
            raise KafkaError(ErrorCode.coordinator_not_available, f"{OFFSETS_TOPIC} is not available")
        try:
            appended = partition.append_records(
                records, producer_id=producer_id, producer_epoch=producer_epoch, transactional=transactional
            )
        except KafkaError as error:
            raise KafkaError(for_client(error.code), error.message) from error
        except Exception as error:
            # A group whose requests are parked must go on whatever the disk does.
            log.exception("group %s could not be written to %s-%d", group_id, OFFSETS_TOPIC, partition.index)
            raise KafkaError(ErrorCode.unknown_server_error) from error
        return partition, appended.base_offset, appended.last_offset
