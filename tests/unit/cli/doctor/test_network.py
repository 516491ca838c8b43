"""Ports that are taken, names that mean nothing, and proxies that catch localhost."""

from __future__ import annotations

import os
import socket

import pytest

from caudal.cli.doctor import network as checks
from caudal.cli.doctor.check import Situation
from caudal.cli.ports import PortHolder


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names mean; those that are not there are not known."""
    known: dict[str, list[str]] = {}

    def look_up(host: str, port: object, **_: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        if host not in known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(0, 0, 0, "", (address, 0)) for address in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


def test_a_port_that_is_taken_is_said_with_who_has_it(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        monkeypatch.setattr(checks, "PORTS", {port: ("broker", "--kafka-port")})
        (found,) = checks.check_ports(situation)
    assert found.status == "note"
    assert found.text.startswith(f"{port} (broker) is held by py") and f"(pid {os.getpid()})" in found.text
    assert found.fix == f"kill {os.getpid()}, or start with another port: --kafka-port N"


def test_a_port_that_caudal_has_is_in_order(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "port_holder", lambda port: PortHolder(7, "python caudal broker"))
    assert {found.status for found in checks.check_ports(situation)} == {"ok"}


def test_localhost_is_ipv6_only(situation: Situation, names: dict[str, list[str]]) -> None:
    names["localhost"] = ["::1"]
    (found,) = checks.check_localhost(situation)
    assert (found.status, found.text) == ("trouble", "localhost is ::1 only, and servers listen on 127.0.0.1")
    assert "/etc/hosts" in found.fix
    names["localhost"] = ["::1", "127.0.0.1"]
    assert [each.status for each in checks.check_localhost(situation)] == ["ok"]


def test_localhost_means_nothing_or_another_machine(situation: Situation, names: dict[str, list[str]]) -> None:
    assert "means nothing here" in next(iter(checks.check_localhost(situation))).text
    names["localhost"] = ["10.0.0.7"]
    assert "which is not this machine" in next(iter(checks.check_localhost(situation))).text


def test_this_machines_name_cannot_be_resolved(situation: Situation, names: dict[str, list[str]]) -> None:
    (found,) = checks.check_host_name(situation)
    assert found.status == "trouble" and socket.gethostname() in found.text
    assert found.fix == f"echo '127.0.1.1 {socket.gethostname()}' | sudo tee -a /etc/hosts"


def test_a_proxy_that_catches_localhost(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*checks.PROXIES, "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert list(checks.check_proxies(situation)) == []
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "example.org,localhost")
    (found,) = checks.check_proxies(situation)
    assert found.status == "note" and "127.0.0.1 not excepted" in found.text
    assert found.fix == "export NO_PROXY=example.org,localhost,127.0.0.1"
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    assert [each.status for each in checks.check_proxies(situation)] == ["ok"]
