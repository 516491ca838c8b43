"""Listener addresses: what is understood and what is refused, in one sentence."""

from __future__ import annotations

import pytest

from caudal.broker.config.definition import ConfigError
from caudal.broker.config.listeners import Listener, check_advertised, parse_listeners, protocol_map

PROTOCOLS = protocol_map("PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,SSL:SSL")


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("PLAINTEXT://127.0.0.1:9092", Listener("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092)),
        ("plaintext://kafka-1.example:0", Listener("PLAINTEXT", "PLAINTEXT", "kafka-1.example", 0)),
        ("INTERNAL://:19092", Listener("INTERNAL", "PLAINTEXT", "", 19092)),
        ("PLAINTEXT://[::1]:9092", Listener("PLAINTEXT", "PLAINTEXT", "::1", 9092)),
    ],
)
def test_understood(text: str, listener: Listener) -> None:
    assert parse_listeners([text], PROTOCOLS) == [listener]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["localhost:9092"], "write NAME://host:port"),
        (["PLAINTEXT://localhost"], "write NAME://host:port"),
        (["PLAINTEXT://localhost:70000"], "between 0 and 65535"),
        (["OTHER://localhost:1"], "add OTHER:PLAINTEXT to listener.security.protocol.map"),
        (["SSL://localhost:1"], "serves PLAINTEXT only"),
        (["PLAINTEXT://a:1", "PLAINTEXT://a:2"], "listener name twice"),
        (["PLAINTEXT://a:1", "INTERNAL://a:1"], "port twice"),
    ],
)
def test_refused(texts: list[str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_listeners(texts, PROTOCOLS)


def test_one_port_for_both_families_and_free_ports() -> None:
    assert len(parse_listeners(["PLAINTEXT://127.0.0.1:9", "INTERNAL://[::1]:9"], PROTOCOLS)) == 2
    assert len(parse_listeners(["PLAINTEXT://:0", "INTERNAL://:0"], PROTOCOLS)) == 2


def test_protocol_map_refuses_nonsense() -> None:
    with pytest.raises(ConfigError, match="NAME:PROTOCOL"):
        protocol_map("PLAINTEXT")
    with pytest.raises(ConfigError, match="NAME:PROTOCOL"):
        protocol_map("A:TLS")


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
def test_every_address_cannot_be_advertised(host: str) -> None:
    listener = Listener("PLAINTEXT", "PLAINTEXT", host, 1)
    with pytest.raises(ConfigError, match=r"cannot be 0\.0\.0\.0"):
        check_advertised([listener], [listener])


def test_only_listeners_can_be_advertised() -> None:
    with pytest.raises(ConfigError, match="not in listeners"):
        check_advertised([Listener("A", "PLAINTEXT", "h", 1)], [Listener("B", "PLAINTEXT", "h", 1)])


def test_address_of_ipv6_has_brackets() -> None:
    assert Listener("A", "PLAINTEXT", "::1", 5).address == "[::1]:5"
