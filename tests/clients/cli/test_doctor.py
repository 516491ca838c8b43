"""`caudal doctor`: what is right, what is wrong, the fix, and the exit code."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from caudal.cli import checks
from caudal.cli.ports import port_holder
from caudal.testing import EmbeddedBroker

from .conftest import Caudal


def findings(document: Any, check: str) -> list[dict[str, str]]:
    return [finding for finding in document["findings"] if finding["check"] == check]


def test_a_healthy_machine_with_a_broker(caudal: Caudal, broker: EmbeddedBroker, tmp_path: Path) -> None:
    outcome = caudal("doctor", "--json", "--bootstrap", broker.bootstrap, "--data", str(tmp_path))
    document = outcome.json
    assert (outcome.code, document["healthy"]) == (0, True), outcome.out
    assert "1 brokers" in findings(document, "broker")[0]["text"]
    assert broker.bootstrap in findings(document, "advertised")[0]["text"]
    for name in ("python", "packages", "java", "ports", "data", "disk", "clock", "open files"):
        assert findings(document, name), name


def test_a_broker_that_does_not_answer_is_a_trouble_with_its_fix(caudal: Caudal, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        outcome = caudal("doctor", "--bootstrap", f"127.0.0.1:{unused.getsockname()[1]}", "--data", str(tmp_path))
    assert outcome.code == 1
    assert "BAD  broker: nothing answers" in outcome.out
    assert "→ start one with `caudal broker`" in outcome.out


def test_an_advertised_address_that_leads_nowhere_is_found(caudal: Caudal, tmp_path: Path) -> None:
    from caudal.testing import embedded_broker

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{unused.getsockname()[1]}"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with embedded_broker({"advertised.listeners": f"PLAINTEXT://{dead}"}, port=port):
            outcome = caudal("doctor", "--json", "--bootstrap", f"127.0.0.1:{port}", "--data", str(tmp_path))
    assert outcome.code == 1
    found = findings(outcome.json, "advertised")[0]
    assert dead in found["text"]
    assert "--advertised" in found["fix"]


def test_a_folder_in_use_and_a_folder_that_is_none(caudal: Caudal, broker: EmbeddedBroker, tmp_path: Path) -> None:
    document = caudal("doctor", "--json", "--data", str(broker.data)).json
    assert "in use by a running broker" in findings(document, "lock")[0]["text"]
    (tmp_path / "file").write_text("")
    outcome = caudal("doctor", "--json", "--data", str(tmp_path / "file"))
    assert outcome.code == 1
    assert findings(outcome.json, "data")[0]["fix"]


def test_little_disk_space_is_a_trouble(caudal: Caudal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LOW_SPACE", 2**62)
    outcome = caudal("doctor", "--json", "--data", str(tmp_path))
    assert outcome.code == 1
    assert findings(outcome.json, "disk")[0]["status"] == "trouble"


def test_a_missing_package_is_a_trouble(caudal: Caudal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "BASE_PACKAGES", ("no-such-package",))
    outcome = caudal("doctor", "--json", "--data", str(tmp_path))
    assert findings(outcome.json, "packages")[0]["fix"] == "pip install no-such-package"


def test_a_check_that_fails_does_not_stop_the_others(
    caudal: Caudal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("caudal.cli.checks.subprocess.run", lambda *_, **__: 1 / 0)
    document = caudal("doctor", "--json", "--data", str(tmp_path)).json
    assert "could not be checked" in findings(document, "java")[0]["text"]
    assert findings(document, "open files")


def test_the_holder_of_a_port_is_named() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        found = port_holder(holder.getsockname()[1])
    assert found is not None
    assert found.pid == os.getpid()
    assert found.program.startswith("py")
