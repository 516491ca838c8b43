"""Clients that send slowly, stop reading, announce much and send nothing, or fall silent: memory stays bounded.

The `broker` fixture checks memory after each test; here it is also watched while the client misbehaves.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from caudal.broker.errors import ErrorCode
from caudal.broker.server import Server
from caudal.broker.wire.api_keys import ApiKey
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.chaos.process import BrokerProcess

from .raw import PATIENCE_SECONDS, Closed, Raw, batch_of, framed, header, serves

MEGABYTE = 1 << 20


@pytest.fixture
def full_topic(client: Raw, topic: str) -> str:
    """Four megabytes in one partition."""
    for _ in range(8):
        assert client.produce(topic, batch_of(b"x" * (MEGABYTE // 2))).error_code == ErrorCode.none
    return topic


def test_a_client_that_asks_for_much_and_does_not_read(broker: BrokerProcess, full_topic: str) -> None:
    before = broker.resident_bytes()
    with ExitStack() as stack:
        for _ in range(10):
            client = stack.enter_context(Raw(broker.port))
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.socket.settimeout(0.2)
            try:
                for _ in range(50):
                    client.send_fetch(full_topic, max_bytes=4 * MEGABYTE)
            except TimeoutError:
                pass  # the broker has stopped to read: just what it should do
        time.sleep(0.5)
        # One answer per connection may be under way: 10 × 4 MB, where all that was asked for is 2 GB.
        assert broker.resident_bytes() - before < 80 * MEGABYTE
        assert serves(broker.port)


def test_a_producer_that_does_not_read_its_answers(broker: BrokerProcess, topic: str) -> None:
    with Raw(broker.port) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.socket.settimeout(0.3)
        flood(client, framed(header(ApiKey.METADATA, 1) + struct.pack(">i", -1)))
        assert serves(broker.port)


def flood(client: Raw, request: bytes) -> None:
    """Sends requests until the broker no longer takes them in; the kernel's own buffers hold some megabytes."""
    many = request * 1000
    for _ in range(64 * MEGABYTE // len(many)):
        try:
            client.socket.sendall(many)
        except TimeoutError:
            return
    pytest.fail("the broker took in every request although nobody reads the answers")


def test_large_requests_that_are_announced_and_never_sent(broker: BrokerProcess) -> None:
    """The length alone must not cost memory: four bytes each would buy 100 MB."""
    before = broker.resident_bytes()
    with ExitStack() as stack:
        for _ in range(20):
            client = stack.enter_context(Raw(broker.port))
            client.send(struct.pack(">i", 100 * MEGABYTE) + b"\0" * 20_000)
        time.sleep(0.5)
        assert broker.resident_bytes() - before < 80 * MEGABYTE
        assert serves(broker.port)


def test_a_request_near_the_limit_is_taken_and_its_buffer_given_back(broker: BrokerProcess, topic: str) -> None:
    with Raw(broker.port) as client:
        answer = client.produce(topic, b"\0" * (60 * MEGABYTE))
        assert answer.error_code in (ErrorCode.message_too_large, ErrorCode.corrupt_message, ErrorCode.invalid_record)
        deadline = time.monotonic() + PATIENCE_SECONDS
        before = broker.resident_bytes()
        while broker.resident_bytes() > before - 30 * MEGABYTE and time.monotonic() < deadline:
            time.sleep(0.2)
        assert broker.resident_bytes() <= before - 30 * MEGABYTE, "the receive buffer is kept by an idle connection"
        assert client.produce(topic, batch_of(b"still served")).error_code == ErrorCode.none


def test_many_connections(broker: BrokerProcess) -> None:
    before = broker.resident_bytes()
    with ExitStack() as stack:
        clients = [stack.enter_context(Raw(broker.port)) for _ in range(300)]
        for client in clients:
            assert client.request(ApiKey.API_VERSIONS, 0, {}).error_code == ErrorCode.none
        assert broker.resident_bytes() - before < 300 * 64 * 1024


class TestIdle:
    """connections.max.idle.ms, on a broker of this process whose sweeper looks more often than every five seconds."""

    @pytest.fixture
    def idle(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedBroker]:
        monkeypatch.setattr(Server, "SWEEP_SECONDS", 0.1)
        with embedded_broker({"connections.max.idle.ms": "700"}) as broker:
            yield broker

    @pytest.fixture
    def port(self, idle: EmbeddedBroker) -> int:
        return idle.port

    def test_silent(self, port: int) -> None:
        started = time.monotonic()
        with Raw(port) as client:
            assert client.is_closed()
            assert time.monotonic() - started > 0.5

    def test_half_a_request(self, port: int) -> None:
        with Raw(port) as client:
            client.send(framed(header(ApiKey.API_VERSIONS, 0))[:9])
            assert client.is_closed()

    def test_drop_by_drop(self, port: int) -> None:
        """Sending now and then a byte does not keep a connection that never completes a request."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with Raw(port) as client, pytest.raises((Closed, ConnectionError)):
            client.send(struct.pack(">i", 1000))
            while time.monotonic() < deadline:
                client.send(b"\0")
                time.sleep(0.05)

    def test_a_client_that_does_not_read(self, idle: EmbeddedBroker) -> None:
        with Raw(idle.port) as client:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.socket.settimeout(0.3)
            flood(client, framed(header(ApiKey.API_VERSIONS, 0)))
            # Asked of the broker: with a closed window the client's own kernel may hear of the end much later.
            deadline = time.monotonic() + PATIENCE_SECONDS
            while idle.broker.metrics.connections and time.monotonic() < deadline:
                time.sleep(0.05)
            assert idle.broker.metrics.connections == 0

    def test_one_that_waits_for_records_is_not_idle(self, port: int) -> None:
        with Raw(port) as client:
            client.create_topic("quiet")
            started = time.monotonic()
            assert client.fetch("quiet", max_wait_ms=1500).error_code == ErrorCode.none
            assert time.monotonic() - started > 1.4
