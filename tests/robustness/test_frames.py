"""Requests that are broken as such: the connection is closed with one line in the log, and nobody else notices."""

from __future__ import annotations

import random
import struct
import time
from itertools import pairwise

import pytest

from caudal.broker.errors import ErrorCode
from caudal.broker.wire import messages
from caudal.broker.wire.api_keys import ApiKey
from tests.chaos.process import BrokerProcess

from .raw import PATIENCE_SECONDS, Closed, Raw, blank_request, framed, header, serves

METADATA = header(ApiKey.METADATA, 1)
NO_TOPICS = struct.pack(">i", 0)

REFUSED = {
    "negative length": struct.pack(">i", -1),
    "smallest length": struct.pack(">i", -(2**31)),
    "zero length": struct.pack(">i", 0),
    "shorter than a header": framed(b"\0" * 7),
    "header without its client id": framed(header(ApiKey.METADATA, 1)[:8]),
    "larger than allowed": struct.pack(">i", 100 * 1024 * 1024 + 1),
    "largest length": struct.pack(">i", 2**31 - 1),
    "unknown API": framed(struct.pack(">hhih", 999, 0, 1, -1)),
    "negative API": framed(struct.pack(">hhih", -1, 0, 1, -1)),
    "unknown version": framed(struct.pack(">hhih", ApiKey.METADATA, 99, 1, -1)),
    "negative version": framed(struct.pack(">hhih", ApiKey.METADATA, -1, 1, -1)),
    "version that Kafka 4 dropped": framed(struct.pack(">hhih", ApiKey.PRODUCE, 0, 1, -1)),
    "client id longer than the request": framed(struct.pack(">hhih", ApiKey.METADATA, 1, 1, 3000) + b"x"),
    "client id that is no text": framed(header(ApiKey.METADATA, 1, client_id=b"\xff\xfe\xfd") + NO_TOPICS),
    "no body": framed(METADATA),
    "cut-off body": framed(METADATA + NO_TOPICS[:2]),
    "array of two thousand million": framed(METADATA + struct.pack(">i", 2**31 - 1)),
    "negative array": framed(METADATA + struct.pack(">i", -7)),
    "header tags without end": framed(header(ApiKey.METADATA, 12)[:-1] + b"\xff" * 12),
    "header tag longer than the request": framed(header(ApiKey.METADATA, 12)[:-1] + b"\x01\x00\xff\x7f"),
    "cut-off Produce": framed(header(ApiKey.PRODUCE, 9) + b"\x00\xff\xff\x00\x00\x27\x10\x02"),
    "cut-off Fetch": framed(header(ApiKey.FETCH, 12) + b"\0" * 9),
    "web browser": b"GET / HTTP/1.1\r\nHost: localhost:9092\r\n\r\n",
    "TLS client": bytes.fromhex("1603010200010001fc0303") + b"\x55" * 64,
    "garbage": random.Random(7).randbytes(5000),
}


def complaints_about(broker: BrokerProcess, host: str) -> list[str]:
    return [line for line in broker.complaints() if f"{host}:" in line]


@pytest.mark.parametrize("name", REFUSED)
def test_closed_with_one_line(broker: BrokerProcess, name: str) -> None:
    # From an address of its own: what one address does again and again is not told again and again.
    address = f"127.0.1.{1 + list(REFUSED).index(name)}"
    with Raw(broker.port, source=address) as client, Raw(broker.port) as other:
        client.send(REFUSED[name])
        assert client.is_closed()
        assert other.request(ApiKey.API_VERSIONS, 0, {}).error_code == ErrorCode.none
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not complaints_about(broker, address) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(complaints_about(broker, address)) == 1


@pytest.mark.parametrize("version", [5, 99, -1, 32767])
def test_api_versions_steps_down_to_version_0(broker: BrokerProcess, version: int) -> None:
    with Raw(broker.port) as client:
        client.send(framed(struct.pack(">hhih", ApiKey.API_VERSIONS, version, 7, -1) + b"what a newer client says"))
        answer = client.receive()
        assert struct.unpack_from(">i", answer)[0] == 7
        body = messages.decode_response(ApiKey.API_VERSIONS, 0, answer, 4)
        assert body.error_code == ErrorCode.unsupported_version
        assert any(entry.api_key == ApiKey.API_VERSIONS for entry in body.api_keys)
        assert client.request(ApiKey.API_VERSIONS, 0, {}).error_code == ErrorCode.none  # and the connection lives on


def test_bytes_after_the_body_are_ignored(client: Raw) -> None:
    """As Kafka does: librdkafka pads some requests, and clients rely on it."""
    client.send(framed(METADATA + NO_TOPICS + b"padding"))
    assert messages.decode_response(ApiKey.METADATA, 1, client.receive(), 4).brokers


def test_requests_in_one_packet_are_answered_in_order(client: Raw, topic: str) -> None:
    sent: list[tuple[ApiKey, int, int]] = []
    for _ in range(20):
        sent.append((ApiKey.METADATA, 1, client.send_request(ApiKey.METADATA, 1, {"topics": []})))
        sent.append((ApiKey.FETCH, 11, client.send_fetch(topic, max_wait_ms=20)))  # waits: the next must not overtake
        sent.append((ApiKey.API_VERSIONS, 0, client.send_request(ApiKey.API_VERSIONS, 0, {})))
    for api_key, version, correlation_id in sent:
        client.receive_response(api_key, version, correlation_id)


def test_a_request_that_comes_byte_by_byte_is_answered(broker: BrokerProcess) -> None:
    with Raw(broker.port) as slow, Raw(broker.port) as other:
        for byte in framed(header(ApiKey.API_VERSIONS, 0)):
            slow.send(bytes([byte]))
            time.sleep(0.005)
            assert other.request(ApiKey.API_VERSIONS, 0, {}).error_code == ErrorCode.none
        assert messages.decode_response(ApiKey.API_VERSIONS, 0, slow.receive(), 4).api_keys


@pytest.mark.parametrize("size", [8 * 1024 - 4, 8 * 1024, 64 * 1024 + 1, 300_000])
def test_requests_of_any_size_against_the_edges_of_the_buffer(client: Raw, size: int) -> None:
    """Frames that end before, at and after the buffer's end, several to a packet, cut anywhere."""
    names = ["n" * 200] * (size // 202)
    values = {**blank_request(ApiKey.METADATA, 1), "topics": [{"name": name} for name in names]}
    body = messages.encode_request(ApiKey.METADATA, 1, values)
    frames = b"".join(framed(header(ApiKey.METADATA, 1, number) + body) for number in range(4))
    cuts = [0, 3, len(frames) // 3, len(frames) - 1, len(frames)]
    for start, end in pairwise(cuts):
        client.send(frames[start:end])
        time.sleep(0.01)
    for number in range(4):
        assert struct.unpack_from(">i", client.receive())[0] == number


def test_a_client_that_leaves_in_the_middle(broker: BrokerProcess) -> None:
    """Half a request, an answer not waited for, a long poll abandoned: descriptors come back."""
    request = framed(header(ApiKey.API_VERSIONS, 0))
    with Raw(broker.port) as first:
        first.send(request)
        first.receive()
        before = broker.open_files()
        for number in range(60):
            client = Raw(broker.port)
            client.send(request[: number % len(request)] if number % 3 else request)
            client.socket.close()
        with Raw(broker.port) as last:  # connections are accepted in turn: the others have been when this one is served
            last.send(request)
            last.receive()
            deadline = time.monotonic() + PATIENCE_SECONDS
            while broker.open_files() > before + 1 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert broker.open_files() <= before + 1


def test_a_stream_of_garbage_does_not_fill_the_log(broker: BrokerProcess) -> None:
    dice = random.Random(11)
    for _ in range(100):
        with Raw(broker.port, source="127.0.2.1") as client:
            try:
                client.send(framed(dice.randbytes(dice.randrange(8, 400))))
                client.socket.settimeout(0.2)
                client.receive()
            except (Closed, TimeoutError):
                pass
    assert serves(broker.port)
    assert 1 <= len(complaints_about(broker, "127.0.2.1")) < 10
