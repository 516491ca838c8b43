"""Addresses where nobody is, and where somebody is who is no Kafka broker."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from caudal.cli.doctor import brokers as checks
from caudal.cli.doctor import cluster
from caudal.cli.doctor.check import Situation

from ..web_server import web_server
from .conftest import free_port

NOWHERE = Path("/nowhere")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(checks, "CONNECT_SECONDS", 0.5)


@contextmanager
def answering(words: bytes | None) -> Iterator[str]:
    """Somebody who accepts, reads, says this and hangs up; or, with None, waits in silence."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def talk(connection: socket.socket) -> None:
        with connection:
            connection.recv(1024)
            if words is None:
                over.wait(30)
            else:
                connection.sendall(words)

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.mark.parametrize(("given", "status"), [(True, "trouble"), (False, "note")])
def test_nobody_there_is_a_trouble_only_for_who_said_there_is(given: bool, status: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    (found,) = checks.check_broker(Situation(address, given, NOWHERE))
    assert (found.status, found.text) == (status, f"nothing answers at {address} (the connection is refused)")
    assert "caudal broker" in found.fix


def test_a_host_name_that_is_not_known() -> None:
    (found,) = checks.check_broker(Situation("no-such-host.invalid:9092", True, NOWHERE))
    assert (found.status, found.text) == ("trouble", "the host name 'no-such-host.invalid' is not known")


@pytest.mark.parametrize(
    ("said", "words", "fix"),
    [
        (b"\x15\x03\x01\x00\x02\x02\x0a", "speaks TLS", "-X security.protocol=ssl"),
        (b"", "closes the connection", "security.protocol=ssl"),
        (b"220 mail.example.org ESMTP\r\n", "does not speak Kafka's protocol", "another address"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x01\x00\x23", "is a Kafka broker and does not let you in", "sasl.username"),
        (None, "accepts connections and says nothing", "another address"),
    ],
)
def test_somebody_who_is_no_broker_for_us(said: bytes | None, words: str, fix: str) -> None:
    with answering(said) as address:
        (found,) = checks.check_broker(Situation(address, True, NOWHERE))
    assert found.status == "trouble"
    assert found.text.startswith(address) and words in found.text
    assert fix in found.fix


def test_a_web_server_is_recognised() -> None:
    with web_server({}) as url:
        (found,) = checks.check_broker(Situation(url.removeprefix("http://"), True, NOWHERE))
    assert "is a web server, not a Kafka broker" in found.text


def test_several_addresses_of_which_one_is_wrong() -> None:
    dead = f"127.0.0.1:{free_port()}"
    with answering(None) as silent:
        texts = [found.text for found in checks.check_broker(Situation(f"{dead},{silent}", True, NOWHERE))]
    assert any(dead in text and "refused" in text for text in texts)
    assert any(silent in text and "says nothing" in text for text in texts)
