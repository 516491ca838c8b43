"""What `caudal up` tells its servers about each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caudal.broker.config import BrokerConfig
from caudal.cli.commands import up
from caudal.cli.commands.up import _schema_check
from caudal.cli.supervision import Service


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


def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **given: Any) -> tuple[list[Service], list[str]]:
    """What `caudal up` would start, with every part installed and free ports unless told otherwise."""
    seen: list[tuple[list[Service], list[str]]] = []
    for name in ("registry_is_installed", "connect_is_installed", "ksql_is_installed", "ui_is_installed"):
        monkeypatch.setattr(up, name, lambda: True)
    monkeypatch.setattr(up, "missing_java", lambda: None)
    monkeypatch.setattr(up, "supervise", lambda services, notes, data: seen.append((services, notes)))
    ports = dict.fromkeys(("kafka_port", "registry_port", "connect_port", "ksql_port", "ui_port"), 0)
    up.up(data=tmp_path, **{**ports, **given})
    return seen[0]


def words(services: list[Service], name: str) -> str:
    (service,) = (service for service in services if service.name == name)
    return " ".join(service.arguments)


def test_the_servers_are_told_of_each_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    services, _ = started(monkeypatch, tmp_path, host="0.0.0.0", master="local[3]", allow_folder=[tmp_path])
    names = [service.name for service in services]
    assert names == ["Kafka broker", "Schema Registry", "Connect", "KSQL", "Control center"]
    for name in ("Connect", "KSQL"):
        told = words(services, name)
        assert "--bootstrap {address:Kafka broker}" in told and "--registry {address:Schema Registry}" in told
        assert "--master local[3]" in told
    assert f"--allow-folder {tmp_path}" in words(services, "Connect")
    assert "--connect {address:Connect}" in words(services, "KSQL")
    told = words(services, "Control center")
    for flag in ("--registry {address:Schema Registry}", "--connect {address:Connect}", "--ksql {address:KSQL}"):
        assert flag in told
    assert "--metrics {metrics:Kafka broker}" in told


def test_a_given_port_is_known_before_its_server_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    services, _ = started(monkeypatch, tmp_path, host="0.0.0.0", ui_port=9021)
    expected = {service.name: service.expected for service in services}
    assert expected["Control center"] == "http://127.0.0.1:9021"
    assert expected["Connect"] == ""


def test_the_demonstration_is_no_server_and_its_page_is_the_control_centers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(up, "_demo_is_installed", lambda: True)
    services, _ = started(monkeypatch, tmp_path, demo=True)
    demo = services[-1]
    assert not demo.is_server
    assert demo.expected == "{address:Control center}/demos/elections"
    told = " ".join(demo.arguments)
    assert told.startswith("demo elections --serve ")
    assert "--bootstrap {address:Kafka broker} --registry {address:Schema Registry}" in told


def test_without_a_demonstration_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(up, "_demo_is_installed", lambda: False)
    services, notes = started(monkeypatch, tmp_path, demo=True)
    assert services[-1].name == "Control center"
    assert any("--demo has no effect" in note for note in notes)
