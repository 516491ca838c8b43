"""`caudal ui` as a process: ready with only a broker, and one sentence when it cannot start."""

from __future__ import annotations

import json
import os
import socket
import urllib.request
from pathlib import Path

from caudal.testing import embedded_broker
from tests.server_process import ServerProcess

from .conftest import Caudal


def test_a_broker_is_all_it_needs(tmp_path: Path) -> None:
    with embedded_broker() as broker:
        server = ServerProcess("ui", broker.bootstrap, "--log-level", "warning").wait()
        with urllib.request.urlopen(f"{server.url}/health") as answer:
            assert json.load(answer)["status"] == "ok"
        with urllib.request.urlopen(server.url) as answer:
            page = answer.read().decode()
        assert server.stop() == 0
    assert broker.bootstrap in page
    assert 'aria-current="page"' in page
    # Nothing in it comes from elsewhere.
    assert "https://" not in page and "//cdn" not in page


def test_without_a_broker_it_says_so(caudal: Caudal) -> None:
    outcome = caudal("ui", "--port", "0", "--bootstrap", "127.0.0.1:1")
    assert outcome.code == 1
    assert "no broker at 127.0.0.1:1" in outcome.err


def test_a_taken_port_is_said_with_who_holds_it(caudal: Caudal) -> None:
    with embedded_broker() as broker, socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        outcome = caudal("ui", "--port", str(holder.getsockname()[1]), "--bootstrap", broker.bootstrap)
    assert outcome.code == 1
    assert f"(pid {os.getpid()})" in outcome.err
    assert "--port" in outcome.err


def test_a_killed_parent_is_not_outlived() -> None:
    with embedded_broker() as broker:
        server = ServerProcess("ui", broker.bootstrap, "--log-level", "warning").wait()
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(30) == 0
        server.stop()
