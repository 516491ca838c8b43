"""A connection that sends exactly the request a test wants, in the version it wants, one at a time."""

from __future__ import annotations

import socket
import struct
from typing import Any

from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.batch import Record, build_batch

READ_COMMITTED = 1


class RawConnection:
    def __init__(self, bootstrap: str) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=20)
        self._correlation_id = 0

    def close(self) -> None:
        self._socket.close()

    def call(self, key: ApiKey, version: int, **values: Any) -> Any:
        self._correlation_id += 1
        header = struct.pack(">hhih", key, version, self._correlation_id, 3) + b"raw"
        flexible = messages.is_flexible(key, version)
        frame = header + (b"\0" if flexible else b"") + messages.encode_request(key, version, values)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        (length,) = struct.unpack(">i", self._exactly(4))
        answer = self._exactly(length)
        assert struct.unpack(">i", answer[:4]) == (self._correlation_id,)
        return messages.decode_response(key, version, answer, 5 if flexible else 4)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            assert more, "the broker closed the connection"
            data += more
        return data

    # ------------------------------------------------------------------ the requests of a transactional producer

    def init(self, transactional_id: str, version: int = 5, timeout_ms: int = 60_000) -> tuple[int, int]:
        got = self.call(
            ApiKey.INIT_PRODUCER_ID,
            version,
            transactional_id=transactional_id,
            transaction_timeout=timeout_ms,
            producer_id=-1,
            producer_epoch=-1,
        )
        assert got.error_code == 0, got.error_code
        return got.producer_id, got.producer_epoch

    def add(self, transactional_id: str, producer: tuple[int, int], topic: str, index: int = 0) -> Any:
        got = self.call(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=[{"name": topic, "partitions": [index]}],
        )
        return got.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code

    def produce(
        self,
        version: int,
        transactional_id: str,
        producer: tuple[int, int],
        topic: str,
        value: bytes,
        sequence: int = 0,
    ) -> Any:
        """The error code of one transactional record for partition 0."""
        batch = build_batch(
            [Record(0, 1_700_000_000_000, None, value, ())],
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
            transactional=True,
        )
        got = self.call(
            ApiKey.PRODUCE,
            version,
            transactional_id=transactional_id,
            acks=-1,
            timeout=1000,
            topic_data=[{"name": topic, "partition_data": [{"index": 0, "records": bytes(batch)}]}],
        )
        return got.responses[0].partition_responses[0].error_code

    def end(self, transactional_id: str, producer: tuple[int, int], commit: bool, version: int) -> Any:
        return self.call(
            ApiKey.END_TXN,
            version,
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=commit,
        )

    def latest(self, topic: str, isolation_level: int = 0) -> int:
        got = self.call(
            ApiKey.LIST_OFFSETS,
            7,
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -1}]}],
        )
        partition = got.topics[0].partitions[0]
        assert partition.error_code == 0, partition.error_code
        return int(partition.offset)

    def hangs(self, topic: str) -> bool:
        """Whether an open transaction holds the last stable offset back."""
        return self.latest(topic, READ_COMMITTED) < self.latest(topic)
