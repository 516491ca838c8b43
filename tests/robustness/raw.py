"""A socket and the bytes of Kafka's protocol, with nothing in between that would correct a mistake.

Requests are encoded by the broker's own schemas (their encoder is tested against other clients in tests/conformance);
every part can be bent before it is sent.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

from caudal.broker.errors import ErrorCode
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey
from caudal.broker.wire.batch import Record, build_batch

Batch = bytes | bytearray
PATIENCE_SECONDS = 60.0  # longer is a hang, on the slowest machine


class Closed(Exception):
    """The broker closed the connection."""


def header(api_key: int, version: int, correlation_id: int = 1, client_id: bytes | None = b"raw") -> bytes:
    """A request header; flexible where the version has one."""
    client = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id
    tags = b"\0" if messages.is_flexible(api_key, version) else b""
    return struct.pack(">hhi", api_key, version, correlation_id) + client + tags


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


class Raw:
    """One connection."""

    def __init__(self, port: int, timeout: float = PATIENCE_SECONDS, source: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout, (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    # -- bytes

    def send(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed from error

    def receive(self) -> bytes:
        """The next response without its length: correlation id, tags, body."""
        (length,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        parts = []
        while count:
            try:
                part = self.socket.recv(min(count, 1 << 20))
            except ConnectionResetError as error:
                raise Closed from error
            if not part:
                raise Closed
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def is_closed(self, seconds: float = PATIENCE_SECONDS) -> bool:
        """Whether the broker closes the connection within that time, without a further answer."""
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(1)
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False
        assert not data, f"an answer where none was expected: {data!r}"
        return True

    # -- requests

    def send_request(self, api_key: ApiKey, version: int, values: Mapping[str, Any]) -> int:
        self._correlation_id += 1
        body = messages.encode_request(api_key, version, {**blank_request(api_key, version), **values})
        self.send(framed(header(api_key, version, self._correlation_id) + body))
        return self._correlation_id

    def receive_response(self, api_key: ApiKey, version: int, correlation_id: int) -> Any:
        answer = self.receive()
        assert struct.unpack_from(">i", answer)[0] == correlation_id
        tagged = messages.is_flexible(api_key, version) and api_key != ApiKey.API_VERSIONS
        return messages.decode_response(api_key, version, answer, 5 if tagged else 4)

    def request(self, api_key: ApiKey, version: int, values: Mapping[str, Any]) -> Any:
        return self.receive_response(api_key, version, self.send_request(api_key, version, values))

    def create_topic(self, name: str, configs: Mapping[str, str] | None = None, partitions: int = 1) -> ErrorCode:
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "assignments": [],
            "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
        }
        answer = self.request(ApiKey.CREATE_TOPICS, 5, {"topics": [topic], "timeout": 10_000, "validate_only": False})
        return ErrorCode(answer.topics[0].error_code)

    def produce(self, topic: str, batch: Batch | None, partition: int = 0, **options: Any) -> Any:
        """The answer for the one partition (`error_code`, `base_offset`)."""
        version = options.pop("version", 9)
        sent = self.send_produce(topic, batch, partition, version=version, **options)
        answer = self.receive_response(ApiKey.PRODUCE, version, sent)
        return answer.responses[0].partition_responses[0]

    def send_produce(
        self,
        topic: str,
        batch: Batch | None,
        partition: int = 0,
        *,
        version: int = 9,
        acks: int = -1,
        transactional_id: str | None = None,
    ) -> int:
        data = {"index": partition, "records": batch}
        topics = [{"name": topic, "partition_data": [data]}]
        values = {"transactional_id": transactional_id, "acks": acks, "timeout": 10_000, "topic_data": topics}
        return self.send_request(ApiKey.PRODUCE, version, values)

    def fetch(self, topic: str, offset: int = 0, partition: int = 0, **options: Any) -> Any:
        """The answer for the one partition (`error_code`, `high_watermark`, `last_stable_offset`, `records`)."""
        sent = self.send_fetch(topic, offset, partition, **options)
        return self.receive_response(ApiKey.FETCH, 11, sent).responses[0].partitions[0]

    def send_fetch(
        self,
        topic: str,
        offset: int = 0,
        partition: int = 0,
        *,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        committed: bool = False,
    ) -> int:
        asked = {
            "partition": partition,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "log_start_offset": -1,
            "partition_max_bytes": max_bytes,
        }
        values = {
            "replica_id": -1,
            "max_wait": max_wait_ms,
            "min_bytes": min_bytes,
            "max_bytes": max_bytes,
            "isolation_level": int(committed),
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": topic, "partitions": [asked]}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        return self.send_request(ApiKey.FETCH, 11, values)


def blank_request(api_key: int, version: int) -> dict[str, Any]:
    """Every field of a request at its default, empty or zero."""
    from kio.index import load_request_schema

    return messages.blank(load_request_schema(api_key, version))


def batch_of(*values: bytes, keys: Sequence[bytes | None] | None = None, **options: Any) -> bytearray:
    """A sealed batch with a record for each value, timestamped now."""
    now = int(time.time() * 1000)
    items = [Record(number, now, keys[number] if keys else None, value) for number, value in enumerate(values)]
    return build_batch(items, **options)


def serves(port: int) -> bool:
    """Whether the broker answers a client that behaves."""
    with Raw(port) as client:
        answer = client.request(ApiKey.API_VERSIONS, 0, {})
        return bool(ErrorCode(answer.error_code) is ErrorCode.none and answer.api_keys)
