"""Several instances of one group: one writes, the others forward, and whoever is asked has read what was written."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer

from caudal.registry.writer import INIT_SECONDS
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.registry.conftest import QUICK_MEMBER, QUICK_SESSIONS
from tests.registry.process import HEADERS, RegistryProcess

Start = Callable[..., RegistryProcess]
StartMany = Callable[[int], list[RegistryProcess]]


@pytest.fixture
def fresh() -> Iterator[EmbeddedBroker]:
    with embedded_broker(QUICK_SESSIONS) as broker:
        yield broker


@pytest.fixture
def started() -> Iterator[list[RegistryProcess]]:
    processes: list[RegistryProcess] = []
    yield processes
    for process in processes:
        if process.process.poll() is None:
            process.kill()


@pytest.fixture
def start(fresh: EmbeddedBroker, started: list[RegistryProcess]) -> Start:
    def begin(*arguments: str, **settings: Any) -> RegistryProcess:
        started.append(RegistryProcess(fresh.bootstrap, *QUICK_MEMBER, *arguments, **settings))
        return started[-1].wait()

    return begin


@pytest.fixture
def instances(fresh: EmbeddedBroker, started: list[RegistryProcess]) -> StartMany:
    """So many at once, the writer first."""

    def begin(count: int) -> list[RegistryProcess]:
        started.extend(RegistryProcess(fresh.bootstrap, *QUICK_MEMBER) for _ in range(count))
        for process in started:
            process.wait()
        deadline = time.monotonic() + 60
        while not any(process.is_writer() for process in started):
            assert time.monotonic() < deadline, "nobody writes"
        return sorted(started, key=lambda process: not process.is_writer())

    return begin


def schema(number: int) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": f"f{number}", "type": "int", "default": 0}]})


def test_one_writes_and_the_others_forward(instances: StartMany) -> None:
    three = instances(3)
    assert [instance.is_writer() for instance in three] == [True, False, False]
    for number in range(6):
        instance = three[number % 3]
        answer = instance.register("a", schema(number)).json()
        assert (answer["id"], answer["version"]) == (number + 1, number + 1)
        # The instance that was asked has read its own write.
        assert instance.get(f"/schemas/ids/{answer['id']}")["schema"]
    assert httpx.put(f"{three[1].url}/config/a", json={"compatibility": "FULL"}, headers=HEADERS).status_code == 200
    assert three[1].get("/config/a") == {"compatibilityLevel": "FULL"}
    refused = three[2].register("a", '{"type": "int", "broken"')
    assert (refused.status_code, refused.json()["error_code"]) == (422, 42201)
    assert httpx.delete(f"{three[2].url}/subjects/a/versions/1").json() == 1
    assert three[2].get("/subjects/a/versions") == [2, 3, 4, 5, 6]
    name = "a%2Fb%20ñ".encode().decode()
    assert three[1].register(name, schema(0)).json()["id"] == 1
    assert three[1].get("/subjects/a%2Fb%20%C3%B1/versions") == [1]


def test_a_forwarded_request_is_not_forwarded_again(instances: StartMany) -> None:
    _, second = instances(2)
    headers = {**HEADERS, "X-Forward": "true"}
    answer = httpx.post(f"{second.url}/subjects/a/versions", json={"schema": '"int"'}, headers=headers)
    assert (answer.status_code, answer.json()["error_code"]) == (500, 50004)


def test_a_stopped_writer_is_followed_by_another(instances: StartMany) -> None:
    first, second = instances(2)
    assert first.register("a", schema(0)).json()["id"] == 1
    assert first.stop() == 0
    assert second.register("a", schema(1)).json()["id"] == 2
    assert second.is_writer()
    assert second.get("/subjects/a/versions") == [1, 2]


def test_a_killed_writer_is_followed_by_another(instances: StartMany) -> None:
    first, second = instances(2)
    assert second.register("a", schema(0)).json()["id"] == 1
    first.kill()
    assert second.register("a", schema(1)).json()["id"] == 2
    assert second.is_writer()


def test_a_writer_that_was_only_asleep_cannot_write_any_more(instances: StartMany) -> None:
    """SIGSTOP makes the old writer look dead. What it finds waiting when it wakes must not get ids of the new one's."""
    first, second = instances(2)
    assert first.register("a", schema(0)).json()["id"] == 1
    first.process.send_signal(signal.SIGSTOP)
    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(first.register, f"w{number}", schema(100 + number)) for number in range(8)]
        try:
            ids = {second.register("a", schema(number)).json()["id"]: schema(number) for number in range(1, 6)}
            assert sorted(ids) == [2, 3, 4, 5, 6]
        finally:
            first.process.send_signal(signal.SIGCONT)
        for number, answer in enumerate(waiting):
            reply = answer.result().json()
            assert reply.get("id") not in ids, "an id was given twice"
            if "id" in reply:
                ids[reply["id"]] = schema(100 + number)
            else:
                assert reply["error_code"] in (50001, 50003), reply
    assert first.register("last", schema(7)).json()["id"] > max(ids)
    for id_, text in ids.items():
        for instance in (first, second):
            assert json.loads(instance.get(f"/schemas/ids/{id_}")["schema"]) == json.loads(text)


def test_it_stops_while_it_still_waits_for_the_broker(start: Start, fresh: EmbeddedBroker) -> None:
    """A pen is waited for up to 30 s, for instance while a slow disk makes the topic of the transactions."""
    fresh.faults.delay("INIT_PRODUCER_ID", 120, 100)
    process = start()
    assert process.facts["writer"] is False
    began = time.monotonic()
    assert process.stop() == 0
    assert time.monotonic() - began < INIT_SECONDS / 2


def test_a_restart_replays_the_topic(start: Start) -> None:
    first = start()
    for number in range(5):
        first.register(f"s{number}", schema(number))
    httpx.put(f"{first.url}/mode/s1", json={"mode": "READONLY"}, headers=HEADERS)
    httpx.delete(f"{first.url}/subjects/s2")
    before = {path: first.get(path) for path in ("/schemas?deleted=true", "/subjects", "/mode/s1", "/config")}
    assert first.stop() == 0
    second = start()
    assert {path: second.get(path) for path in before} == before
    assert second.register("new", schema(9)).json()["id"] == 6


def test_a_broken_record_does_not_stop_it(start: Start, fresh: EmbeddedBroker, tmp_path: Path) -> None:
    first = start()
    assert first.register("a", schema(0)).json()["id"] == 1
    producer = Producer({"bootstrap.servers": fresh.bootstrap})
    key = b'{"keytype":"SCHEMA","subject":"b","version":1,"magic":1}'
    for broken_key, value in ((b"\xff", b"x"), (key, b"{"), (b"{}", None), (None, b"")):
        producer.produce("_schemas", key=broken_key or b"\0", value=value)
    assert producer.flush(10) == 0
    assert first.register("a", schema(1)).json()["id"] == 2
    first.stop()
    with (tmp_path / "log").open("wb") as log:
        second = start(log=log)
        assert "caudal_registry_broken_records_total 4.0" in httpx.get(f"{second.url}/metrics").text
        assert second.register("b", schema(2)).json()["version"] == 1
        second.stop()
    assert "the record at offset" in (tmp_path / "log").read_text()
    third = start()
    assert third.get("/subjects") == ["a", "b"]


def test_a_topic_as_confluent_writes_it_is_taken_over(start: Start, fresh: EmbeddedBroker) -> None:
    fresh.create_topic("_schemas", 1, cleanup_policy="compact")
    producer = Producer({"bootstrap.servers": fresh.bootstrap})
    rows: list[tuple[str, str | None]] = [
        ('{"keytype":"NOOP","magic":0}', None),
        ('{"keytype":"CONFIG","subject":null,"magic":0}', '{"compatibilityLevel":"FULL"}'),
        (
            '{"keytype":"SCHEMA","subject":"a-value","version":1,"magic":1}',
            '{"subject":"a-value","version":1,"id":41,"schema":"{\\"type\\":\\"record\\",\\"name\\":\\"R\\",'
            '\\"fields\\":[{\\"name\\":\\"f0\\",\\"type\\":\\"int\\",\\"default\\":0}]}","deleted":false}',
        ),
    ]
    for key, value in rows:
        producer.produce("_schemas", key=key, value=value)
    assert producer.flush(10) == 0
    instance = start()
    assert instance.get("/config") == {"compatibilityLevel": "FULL"}
    assert instance.register("a-value", schema(0)).json()["id"] == 41
    assert instance.register("b-value", schema(0)).json()["id"] == 41
    assert instance.register("b-value", '"string"').status_code == 409
    assert instance.register("c-value", '"string"').json()["id"] == 42


@pytest.mark.slow
def test_without_a_writer_a_write_is_told_in_the_end(start: Start) -> None:
    """The group's member of the writer lives on, but nothing listens at its address."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        start("--advertised", f"127.0.0.1:{nobody.getsockname()[1]}")
        second = start()
        answer = second.register("a", schema(0))
    assert (answer.status_code, answer.json()["error_code"]) == (500, 50003)
    assert "cannot be reached" in answer.json()["message"]


@pytest.mark.parametrize(
    ("partitions", "policy", "words"), [(2, "compact", "2 partitions"), (1, "delete", "cleanup.policy=delete")]
)
def test_a_topic_that_cannot_keep_schemas_is_refused(
    fresh: EmbeddedBroker, tmp_path: Path, partitions: int, policy: str, words: str
) -> None:
    fresh.create_topic("_schemas", partitions, cleanup_policy=policy)
    with (tmp_path / "log").open("wb") as log:
        process = RegistryProcess(fresh.bootstrap, log=log)
        assert process.process.wait(60) == 1
    text = (tmp_path / "log").read_text()
    assert words in text
    assert "Traceback" not in text


def test_a_schema_that_the_topic_does_not_take_is_told(start: Start) -> None:
    instance = start()
    large = json.dumps({"type": "enum", "name": "E", "symbols": [f"symbol_{number}" for number in range(100_000)]})
    answer = instance.register("a", large)
    assert (answer.status_code, answer.json()["error_code"]) == (422, 42209), answer.text
    assert instance.register("a", schema(0)).json()["id"] == 1


def test_a_schema_that_is_known_needs_no_writer(instances: StartMany) -> None:
    """Also written in another way: what is there is told by whoever is asked."""
    first, second = instances(2)
    first.register("a", schema(0))
    assert second.register("a", schema(0)).json()["id"] == 1
    first.kill()
    assert second.register("a", json.dumps(json.loads(schema(0)), indent=2)).json()["id"] == 1
    answer = httpx.post(
        f"{second.url}/subjects/a/versions?normalize=true", json={"schema": schema(0)}, headers=HEADERS, timeout=30
    )
    assert answer.json()["id"] == 1


def test_the_broker_may_go_and_come_back(start: Start, fresh: EmbeddedBroker) -> None:
    instance = start()
    assert instance.register("a", schema(0)).json()["id"] == 1
    fresh.stop()
    assert instance.get("/schemas/ids/1")["schema"], "what is known is told without a broker"
    fresh.start()
    deadline = time.monotonic() + 60
    answer = instance.register("a", schema(1))
    while answer.status_code == 500 and time.monotonic() < deadline:
        answer = instance.register("a", schema(1))
    assert (answer.status_code, answer.json().get("id")) == (200, 2), answer.text


def test_no_broker_and_taken_ports_are_told(fresh: EmbeddedBroker, tmp_path: Path) -> None:
    def outcome(bootstrap: str, port: int = 0) -> tuple[int, str]:
        with (tmp_path / "log").open("wb") as log:
            code = RegistryProcess(bootstrap, log=log, port=port).process.wait(60)
        return code, (tmp_path / "log").read_text()

    code, text = outcome("127.0.0.1:1")
    assert (code, "no broker at 127.0.0.1:1" in text) == (1, True)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        code, text = outcome(fresh.bootstrap, holder.getsockname()[1])
    assert (code, f"(pid {os.getpid()})" in text) == (1, True)
