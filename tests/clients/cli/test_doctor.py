"""`caudal doctor` beside running brokers: what is right, what is wrong, the fix, and the exit code."""

from __future__ import annotations

import os
import socket
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from caudal.cli.doctor import groups
from caudal.cli.ports import port_holder
from caudal.testing import EmbeddedBroker, embedded_broker

from .conftest import Caudal


def findings(document: Any, check: str) -> list[dict[str, str]]:
    return [finding for finding in document["findings"] if finding["check"] == check]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_healthy_machine_with_a_broker(caudal: Caudal, broker: EmbeddedBroker, tmp_path: Path) -> None:
    outcome = caudal("doctor", "--json", "--bootstrap", broker.bootstrap, "--data", str(tmp_path))
    document = outcome.json
    assert (outcome.code, document["healthy"]) == (0, True), outcome.out
    assert "answers: 1 broker," in findings(document, "broker")[0]["text"]
    assert broker.bootstrap in findings(document, "advertised")[0]["text"]
    for name in ("python", "packages", "java", "ports", "data folder", "disk", "clock", "open files", "partitions"):
        assert findings(document, name), name


def test_lines_with_signs_and_fixes_where_there_is_no_terminal(caudal: Caudal, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    outcome = caudal("doctor", "-q", "--bootstrap", address, "--data", str(tmp_path))
    assert outcome.code == 1
    assert f"✗ broker: nothing answers at {address} (the connection is refused)" in outcome.lines
    assert "    → start one with `caudal up` or `caudal broker`, or give its address with --bootstrap" in outcome.lines
    assert not any(line.startswith("✓") for line in outcome.lines), "-q leaves out what is in order"
    assert outcome.lines[-1].startswith("1 thing to fix")


def test_an_address_that_is_none_is_a_usage_error(caudal: Caudal) -> None:
    assert caudal("doctor", "--bootstrap", "a:b").code == 2


@pytest.mark.parametrize("name", ["registry", "connect", "ksql", "ui"])
def test_a_server_that_was_named_must_answer(caudal: Caudal, tmp_path: Path, name: str) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    outcome = caudal("doctor", "--json", "--data", str(tmp_path), f"--{name}", url)
    assert outcome.code == 1
    check = "control center" if name == "ui" else name
    assert url in findings(outcome.json, check)[0]["text"]


def test_an_advertised_address_that_leads_nowhere(caudal: Caudal, tmp_path: Path) -> None:
    dead, port = f"127.0.0.1:{free_port()}", free_port()
    with embedded_broker({"advertised.listeners": f"PLAINTEXT://{dead}"}, port=port):
        outcome = caudal("doctor", "--json", "--bootstrap", f"127.0.0.1:{port}", "--data", str(tmp_path))
    assert outcome.code == 1
    found = findings(outcome.json, "advertised")[0]
    assert f"{dead}, which cannot be reached" in found["text"]
    assert "--advertised" in found["fix"]


def test_an_advertised_name_that_nobody_knows(caudal: Caudal, tmp_path: Path) -> None:
    port = free_port()
    with embedded_broker({"advertised.listeners": f"PLAINTEXT://no-such-host.invalid:{port}"}, port=port):
        outcome = caudal("doctor", "--json", "--bootstrap", f"127.0.0.1:{port}", "--data", str(tmp_path))
    found = findings(outcome.json, "advertised")[0]
    assert "that name is not known here" in found["text"]


def test_an_advertised_address_of_another_cluster(caudal: Caudal, broker: EmbeddedBroker, tmp_path: Path) -> None:
    port = free_port()
    with embedded_broker({"advertised.listeners": f"PLAINTEXT://{broker.bootstrap}"}, port=port):
        outcome = caudal("doctor", "--json", "--bootstrap", f"127.0.0.1:{port}", "--data", str(tmp_path))
    found = findings(outcome.json, "advertised")[0]
    assert f"{broker.bootstrap}, where another cluster answers" in found["text"]


def test_a_folder_in_use_and_one_of_another_cluster(caudal: Caudal, broker: EmbeddedBroker) -> None:
    document = caudal("doctor", "--json", "--data", str(broker.data), "-b", broker.bootstrap).json
    assert "is in use by" in findings(document, "lock")[0]["text"]
    assert findings(document, "data's cluster")[0]["status"] == "ok"
    with embedded_broker() as other:
        document = caudal("doctor", "--json", "--data", str(broker.data), "-b", other.bootstrap).json
    found = findings(document, "data's cluster")[0]
    assert found["status"] == "note" and f"and {other.bootstrap} is of" in found["text"]


def test_topics_that_grow_for_ever(caudal: Caudal, tmp_path: Path) -> None:
    with embedded_broker() as broker:
        caudal("topic", "create", "endless", "-c", "retention.ms=-1", "-b", broker.bootstrap)
        caudal("topic", "create", "compacted", "-c", "cleanup.policy=compact", "-b", broker.bootstrap)
        document = caudal("doctor", "--json", "--data", str(tmp_path), "-b", broker.bootstrap).json
    (found,) = findings(document, "retention")
    assert found["text"] == "kept for ever, without any limit: endless"
    assert found["fix"] == "caudal topic alter endless -c retention.ms=604800000"


def test_a_group_that_is_stuck(caudal: Caudal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "WATCH_SECONDS", 0.5)
    with embedded_broker() as broker:
        caudal("produce", "work", "-b", broker.bootstrap, input=b"1\n2\n3\n")
        assert caudal("consume", "work", "-G", "idle", "-c", "1", "-b", broker.bootstrap).code == 0
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "idle", "enable.auto.commit": False})
        consumer.subscribe(["work"])
        deadline = time.monotonic() + 20
        while not consumer.assignment() and time.monotonic() < deadline:
            consumer.poll(0.1)
        document = caudal("doctor", "--json", "--data", str(tmp_path), "-b", broker.bootstrap).json
        consumer.close()
    (found,) = findings(document, "groups")
    assert found["text"] == "group idle is 2 records behind and has committed nothing for 0 s"
    assert found["fix"].startswith("caudal group describe idle")


def test_a_brokers_clock_that_is_ahead(caudal: Caudal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with embedded_broker() as broker:
        caudal("produce", "work", "-b", broker.bootstrap, input=b"1\n")
        caudal("consume", "work", "-G", f"g-{uuid.uuid4().hex}", "-c", "1", "-b", broker.bootstrap)
        now = time.time
        monkeypatch.setattr("caudal.cli.doctor.brokers.time.time", lambda: now() - 3600)
        outcome = caudal("doctor", "--json", "--data", str(tmp_path), "-b", broker.bootstrap)
    (found,) = findings(outcome.json, "broker's clock")
    assert found["status"] == "trouble" and "s ahead of this machine's" in found["text"]


def test_the_holder_of_a_port_is_named() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        found = port_holder(holder.getsockname()[1])
    assert found is not None
    assert found.pid == os.getpid()
    assert found.program.startswith("py")
