"""A transactional producer by hand: each request can be sent when a test wants it, and as often as it wants.

Both protocols: version 1 (AddPartitionsToTxn, Produce v11, EndTxn v4) and version 2 of KIP-890 (Produce v12 adds the
partition by itself, EndTxn v5 gives a new epoch).
"""

from __future__ import annotations

from typing import Any

from caudal.broker.errors import ErrorCode
from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.batch import iter_batches, records

from .raw import Raw, batch_of


class RawTransactions:
    def __init__(self, client: Raw, transactional_id: str, version: int = 1) -> None:
        self.client = client
        self.id = transactional_id
        self.version = version
        self.sequences: dict[tuple[str, int], int] = {}
        self.producer_id = self.epoch = -1
        self.initialise()

    @property
    def produce_version(self) -> int:
        return 12 if self.version == 2 else 11

    def initialise(self, *, keep_identity: bool = False) -> None:
        """InitProducerId; with `keep_identity` a client's own bump of its epoch after an error (KIP-360)."""
        answer = self.client.request(
            ApiKey.INIT_PRODUCER_ID,
            4,
            {
                "transactional_id": self.id,
                "transaction_timeout": 60_000,
                "producer_id": self.producer_id if keep_identity else -1,
                "producer_epoch": self.epoch if keep_identity else -1,
            },
        )
        assert answer.error_code == ErrorCode.none, answer
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self.sequences = {}

    def add(self, topic: str, partition: int = 0) -> ErrorCode:
        answer = self.client.request(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            {
                "v3_and_below_transactional_id": self.id,
                "v3_and_below_producer_id": self.producer_id,
                "v3_and_below_producer_epoch": self.epoch,
                "v3_and_below_topics": [{"name": topic, "partitions": [partition]}],
            },
        )
        return ErrorCode(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    def batch(self, topic: str, value: bytes, partition: int = 0) -> bytearray:
        """The next batch of this producer for the partition."""
        sequence = self.sequences.get((topic, partition), 0)
        self.sequences[topic, partition] = sequence + 1
        return batch_of(
            value, producer_id=self.producer_id, producer_epoch=self.epoch, base_sequence=sequence, transactional=True
        )

    def produce(self, topic: str, batch: bytearray, client: Raw | None = None) -> Any:
        return (client or self.client).produce(topic, batch, version=self.produce_version, transactional_id=self.id)

    def send_produce(self, topic: str, batch: bytearray, client: Raw) -> int:
        return client.send_produce(topic, batch, version=self.produce_version, transactional_id=self.id)

    def end(self, *, commit: bool) -> ErrorCode:
        answer = self.client.request(
            ApiKey.END_TXN,
            5 if self.version == 2 else 3,
            {
                "transactional_id": self.id,
                "producer_id": self.producer_id,
                "producer_epoch": self.epoch,
                "committed": commit,
            },
        )
        if self.version == 2 and answer.error_code == ErrorCode.none and answer.producer_epoch >= 0:
            if (answer.producer_id, answer.producer_epoch) != (self.producer_id, self.epoch):
                self.sequences = {}
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        return ErrorCode(answer.error_code)

    def run(self, topic: str, value: bytes, *, commit: bool) -> None:
        """A whole transaction of one record."""
        if self.version == 1:
            assert self.add(topic) == ErrorCode.none
        answer = self.produce(topic, self.batch(topic, value))
        assert answer.error_code == ErrorCode.none, answer
        code = self.end(commit=commit)
        assert code == ErrorCode.none, code

    @staticmethod
    def visible(answer: Any) -> tuple[list[bytes], int]:
        """The values of a read_committed fetch that a client would show, and the offset to go on from."""
        aborted = sorted((entry.first_offset, entry.producer_id) for entry in answer.aborted_transactions or ())
        values: list[bytes] = []
        hidden: set[int] = set()
        offset = 0
        for position, header in iter_batches(answer.records):
            while aborted and aborted[0][0] <= header.last_offset:
                hidden.add(aborted.pop(0)[1])
            if header.is_control:
                hidden.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in hidden):
                values += [(record.value or b"").rstrip(b".") for record in records(answer.records, position, header)]
            offset = header.last_offset + 1
        return values, offset
