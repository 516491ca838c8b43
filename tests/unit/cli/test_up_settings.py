"""What `caudal up` tells its servers about each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.broker.config import BrokerConfig
from caudal.cli.commands import up
from caudal.cli.commands.up import Service, _addressed, _Running, _schema_check


@pytest.mark.parametrize(
    ("host", "reached"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "[::1]"),
        ("::1", "[::1]"),
        ("broker.example", "broker.example"),
    ],
)
def test_the_broker_is_told_where_the_registry_will_be(host: str, reached: str) -> None:
    (setting,) = _schema_check(host, 8081)
    name, _, value = setting.partition("=")
    assert BrokerConfig({name: value})["confluent.schema.registry.url"] == [f"http://{reached}:8081"]


def test_a_port_that_is_yet_to_be_chosen_is_not_told() -> None:
    assert _schema_check("127.0.0.1", 0) == []


def test_connect_and_ksql_are_told_of_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[Service] = []
    for name in ("registry_is_installed", "connect_is_installed", "ksql_is_installed"):
        monkeypatch.setattr(up, name, lambda: True)
    monkeypatch.setattr(up, "missing_java", lambda: None)
    monkeypatch.setattr(up, "supervise", lambda services, notes, data: started.extend(services))
    ports = {"kafka_port": 0, "registry_port": 0, "connect_port": 0, "ksql_port": 0}
    up.up(data=tmp_path, host="0.0.0.0", master="local[3]", allow_folder=[tmp_path], **ports)  # type: ignore[arg-type]
    assert [service.name for service in started] == ["Kafka broker", "Schema Registry", "Connect", "KSQL"]
    addresses = ["0.0.0.0:9092", "http://0.0.0.0:8081", "http://0.0.0.0:8083"]
    running = [
        _Running(service, None, {"address": address})  # type: ignore[arg-type]
        for service, address in zip(started[:3], addresses, strict=True)
    ]
    connect, ksql = (" ".join(_addressed(service, running).arguments) for service in started[2:])
    for told in (connect, ksql):
        assert "--bootstrap 127.0.0.1:9092" in told and "--registry http://127.0.0.1:8081" in told
        assert "--master local[3]" in told
    assert f"--allow-folder {tmp_path}" in connect
    assert "--connect http://127.0.0.1:8083" in ksql
