"""Counters, the Prometheus page, and the HTTP responder that serves it."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from caudal.broker.errors import ErrorCode
from caudal.broker.metrics import LATENCY_BOUNDS, Metrics
from caudal.broker.metrics_server import MetricsServer
from caudal.broker.wire.api_keys import ApiKey


def fake_broker() -> Any:
    """As much of a broker as a scrape reads."""
    partition = SimpleNamespace(
        log=SimpleNamespace(size=4096),
        log_start_offset=10,
        log_end_offset=110,
        high_watermark=100,
        last_stable_offset=90,
        messages_in=7,
        bytes_in=700,
        bytes_out=1400,
    )
    topics = {'or"ders': SimpleNamespace(partitions=[0])}
    groups = SimpleNamespace(
        states=lambda: {"Stable": 2, "Empty": 1},
        groups={"g": SimpleNamespace(members={"a": 1, "b": 2})},
        committed=lambda: iter([("g", 'or"ders', 0, 60), ("g", "deleted", 0, 5)]),
    )
    return SimpleNamespace(
        metrics=Metrics(),
        node_id=1,
        cluster_id="abc",
        host="broker.example",
        is_running=True,
        metadata=SimpleNamespace(topics=topics),
        partition=lambda topic, index: partition if topic in topics and index == 0 else None,
        groups=groups,
        transactions=SimpleNamespace(count_by_state=lambda: {"Ongoing": 3}),
    )


def samples(page: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }


def test_requests_are_counted_by_api_with_latency_bytes_and_errors() -> None:
    broker = fake_broker()
    broker.metrics.observe(ApiKey.PRODUCE, 0.0003, 100, 20)
    broker.metrics.observe(ApiKey.PRODUCE, 99.0, 100, 20, ErrorCode.not_leader_or_follower)
    found = samples(broker.metrics.render(broker))
    api = ("api", "Produce")
    assert found["caudal_requests_total", (api,)] == 2
    assert found["caudal_request_bytes_total", (api,)] == 200
    assert found["caudal_response_bytes_total", (api,)] == 40
    assert found["caudal_request_errors_total", (api, ("error", "NOT_LEADER_OR_FOLLOWER"))] == 1
    name = "caudal_request_duration_seconds"
    assert found[f"{name}_bucket", (api, ("le", "0.00025"))] == 0
    assert found[f"{name}_bucket", (api, ("le", "0.0005"))] == 1
    assert found[f"{name}_bucket", (api, ("le", "10.0"))] == 1
    assert found[f"{name}_bucket", (api, ("le", "+Inf"))] == 2
    assert found[f"{name}_count", (api,)] == 2
    assert found[f"{name}_sum", (api,)] == pytest.approx(99.0003)


def test_a_latency_on_a_bound_falls_into_its_bucket() -> None:
    metrics = Metrics()
    for bound in LATENCY_BOUNDS:
        metrics.observe(ApiKey.FETCH, bound, 0, 0)
    found = samples(metrics.render(None))
    for position, bound in enumerate(LATENCY_BOUNDS, 1):
        assert found["caudal_request_duration_seconds_bucket", (("api", "Fetch"), ("le", str(bound)))] == position


def test_state_of_logs_groups_and_transactions_is_shown() -> None:
    broker = fake_broker()
    broker.metrics.connections = 4
    found = samples(broker.metrics.render(broker))
    place = (("partition", "0"), ("topic", 'or"ders'))
    assert found["caudal_connections", ()] == 4
    assert found["caudal_log_size_bytes", place] == 4096
    assert found["caudal_log_end_offset", place] == 110
    assert found["caudal_last_stable_offset", place] == 90
    assert found["caudal_messages_in_total", place] == 7
    assert found["caudal_groups", (("state", "Stable"),)] == 2
    assert found["caudal_group_members", (("group", "g"),)] == 2
    assert found["caudal_group_lag", (("group", "g"), *place)] == 40
    assert found["caudal_transactions", (("state", "Ongoing"),)] == 3
    assert not any("deleted" in str(labels) for name, labels in found if name == "caudal_group_lag")


def test_an_unknown_api_or_error_does_not_break_the_page() -> None:
    metrics = Metrics()
    metrics.observe(12345, 0.1, 1, 1, 9999)
    assert samples(metrics.render(None))["caudal_requests_total", (("api", "Unknown12345"),)] == 1


def test_observing_costs_less_than_a_microsecond() -> None:
    import timeit

    metrics = Metrics()
    number = 20_000
    best = min(timeit.repeat(lambda: metrics.observe(0, 0.0003, 1000, 2000), number=number, repeat=7)) / number
    # The lambda is part of the measure; the limit leaves room for a busy machine.
    assert best < 2e-6


class Client:
    """Raw HTTP, so that wrong requests can be sent too."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def send(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        return int(lines[0].split()[1]), {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}, body

    async def get(
        self, path: str, host: str = "localhost:9404", method: str = "GET"
    ) -> tuple[int, dict[str, str], bytes]:
        return await self.send(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())


async def test_the_page_and_the_health_are_served() -> None:
    broker = fake_broker()
    server = MetricsServer(broker, port=0)
    await server.start()
    client = Client(server.port)
    try:
        status, headers, body = await client.get("/metrics")
        assert status == 200
        assert headers["content-type"].startswith("text/plain; version=0.0.4")
        assert int(headers["content-length"]) == len(body)
        assert samples(body)["caudal_topics", ()] == 1
        status, _, body = await client.get("/health")
        assert (status, b'"running"' in body) == (200, True)
        broker.is_running = False
        assert (await client.get("/health"))[0] == 503
        status, headers, body = await client.get("/metrics", method="HEAD")
        assert (status, body) == (200, b"")
        assert int(headers["content-length"]) > 0
    finally:
        await server.stop()


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 405),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400),
        (b"GET /metrics HTTP/2\r\nHost: localhost\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", 431),
    ],
)
async def test_wrong_requests_are_refused(request_bytes: bytes, status: int) -> None:
    server = MetricsServer(fake_broker(), port=0)
    await server.start()
    try:
        assert (await Client(server.port).send(request_bytes))[0] == status
    finally:
        await server.stop()


@pytest.mark.parametrize(
    ("bound", "host", "allowed"),
    [
        ("127.0.0.1", "127.0.0.1:9404", True),
        ("127.0.0.1", "[::1]:9404", True),
        ("127.0.0.1", "10.0.0.7:9404", False),
        ("0.0.0.0", "10.0.0.7:9404", True),
        ("0.0.0.0", "broker.example:9404", True),
        ("0.0.0.0", "evil.example", False),
    ],
)
async def test_the_host_header_must_name_this_machine(bound: str, host: str, allowed: bool) -> None:
    server = MetricsServer(fake_broker(), host=bound, port=0)
    assert server._is_us(host) is allowed


async def test_a_failing_page_is_logged_and_the_server_lives_on(caplog: pytest.LogCaptureFixture) -> None:
    broker = fake_broker()
    broker.groups.states = lambda: 1 / 0
    server = MetricsServer(broker, port=0)
    await server.start()
    try:
        with caplog.at_level(logging.ERROR):
            assert (await Client(server.port).get("/metrics"))[0] == 500
        assert "the metrics page failed" in caplog.text
        assert (await Client(server.port).get("/health"))[0] == 200
    finally:
        await server.stop()
