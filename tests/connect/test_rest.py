"""The REST API of real workers on a real broker, from the first POST to what survives a killed worker."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Consumer, TopicPartition

from caudal.testing import EmbeddedBroker
from tests.connect.process import ConnectProcess, until


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("allowed")


@pytest.fixture(scope="module")
def workers(broker: EmbeddedBroker, folder: Path) -> Iterator[list[ConnectProcess]]:
    """Two of one group."""
    started = [ConnectProcess(broker.bootstrap, "--allow-folder", str(folder)) for _ in range(2)]
    try:
        yield [worker.wait() for worker in started]
    finally:
        for worker in started:
            worker.stop()


@pytest.fixture
def worker(workers: list[ConnectProcess]) -> ConnectProcess:
    return workers[0]


@pytest.fixture
def name() -> str:
    return f"lines-{uuid.uuid4().hex[:6]}"


def lines_config(name: str, file: Path) -> dict[str, str]:
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": str(file),
        "topic": name,
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    }


def values(broker: EmbeddedBroker, topic: str) -> list[str]:
    """Everything that is committed in partition 0."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "check",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
    )
    try:
        where = TopicPartition(topic, 0, 0)
        try:
            _, end = consumer.get_watermark_offsets(where, timeout=30)
        except Exception:  # there is no such topic yet
            return []
        consumer.assign([where])
        found = []
        while consumer.position([where])[0].offset < end:
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                found.append((message.value() or b"").decode())
        return found
    finally:
        consumer.close()


def test_a_connector_from_its_creation_to_its_end(
    broker: EmbeddedBroker, worker: ConnectProcess, folder: Path, name: str
) -> None:
    file = folder / f"{name}.txt"
    file.write_text("one\ntwo\n")
    config = lines_config(name, file)
    place = f"/connectors/{name}"
    made = worker.ask("POST", "/connectors", {"name": name, "config": config}, 201)
    assert (made["name"], made["config"], made["type"]) == (name, {**config, "name": name}, "source")
    assert worker.ask("POST", "/connectors", {"name": name, "config": config}, 409)["error_code"] == 409
    until(lambda: worker.states(name), ["RUNNING", "RUNNING"])
    until(lambda: values(broker, name), ["one", "two"])
    assert name in worker.ask("GET", "/connectors", status=200)
    listed = worker.ask("GET", "/connectors?expand=status&expand=info", status=200)[name]
    assert listed["status"]["tasks"][0]["state"] == "RUNNING"
    assert listed["info"]["tasks"] == [{"connector": name, "task": 0}]
    (task,) = worker.ask("GET", f"{place}/tasks", status=200)
    assert task["id"] == {"connector": name, "task": 0} and task["config"]["file"] == str(file)
    assert worker.ask("GET", f"{place}/tasks/0/status", status=200)["state"] == "RUNNING"
    assert worker.ask("GET", f"{place}/tasks/7/status", status=404)["error_code"] == 404
    until(lambda: worker.ask("GET", f"{place}/topics"), {name: {"topics": [name]}})
    until(lambda: len(worker.ask("GET", f"{place}/offsets")["offsets"]), 1)

    worker.ask("PUT", f"{place}/pause", status=202)
    until(lambda: worker.states(name), ["PAUSED", "PAUSED"])
    with file.open("a") as more:
        more.write("three\n")
    worker.ask("PUT", f"{place}/resume", status=202)
    until(lambda: values(broker, name), ["one", "two", "three"])
    plan = worker.ask("POST", f"{place}/restart?includeTasks=true", status=202)
    assert [plan["connector"]["state"], plan["tasks"][0]["state"]] == ["RESTARTING", "RESTARTING"]
    until(lambda: worker.states(name), ["RUNNING", "RUNNING"])
    worker.ask("POST", f"{place}/restart", status=204)
    worker.ask("POST", f"{place}/tasks/0/restart", status=204)
    until(lambda: worker.states(name), ["RUNNING", "RUNNING"])

    patched = worker.ask("PATCH", f"{place}/config", {"batch.size": "1"}, 200)
    assert patched["config"]["batch.size"] == "1"
    back = worker.ask("PATCH", f"{place}/config", {"batch.size": None}, 200)
    assert "batch.size" not in back["config"]
    until(lambda: worker.states(name), ["RUNNING", "RUNNING"])
    assert values(broker, name) == ["one", "two", "three"], "no restart has doubled anything"

    worker.ask("DELETE", place, status=204)
    until(lambda: httpx.get(worker.url + place, trust_env=False).status_code, 404)
    assert worker.ask("GET", f"{place}/status", status=404)["error_code"] == 404


def test_offsets_are_changed_while_it_is_stopped(
    broker: EmbeddedBroker, worker: ConnectProcess, folder: Path, name: str
) -> None:
    file = folder / f"{name}.txt"
    file.write_text("one\ntwo\n")
    place = f"/connectors/{name}"
    body = {"name": name, "config": lines_config(name, file), "initial_state": "STOPPED"}
    worker.ask("POST", "/connectors", body, 201)
    until(lambda: worker.states(name), ["STOPPED"])
    worker.ask("PUT", f"{place}/resume", status=202)
    until(lambda: values(broker, name), ["one", "two"])
    until(lambda: len(worker.ask("GET", f"{place}/offsets")["offsets"]), 1)
    stored = worker.ask("GET", f"{place}/offsets", status=200)["offsets"]
    refused = worker.ask("DELETE", f"{place}/offsets", status=400)
    assert "STOPPED" in refused["message"]
    worker.ask("PUT", f"{place}/stop", status=204)
    until(lambda: worker.states(name), ["STOPPED"])
    (one,) = stored
    altered = worker.ask("PATCH", f"{place}/offsets", {"offsets": [{**one, "offset": {"position": 4}}]}, 200)
    assert "altered" in altered["message"]
    worker.ask("PUT", f"{place}/resume", status=202)
    until(lambda: values(broker, name), ["one", "two", "two"])
    worker.ask("PUT", f"{place}/stop", status=204)
    until(lambda: worker.states(name), ["STOPPED"])
    assert "reset" in worker.ask("DELETE", f"{place}/offsets", status=200)["message"]
    assert worker.ask("GET", f"{place}/offsets", status=200) == {"offsets": []}
    worker.ask("PUT", f"{place}/resume", status=202)
    until(lambda: values(broker, name), ["one", "two", "two", "one", "two"])
    worker.ask("DELETE", place, status=204)


def test_any_worker_answers(workers: list[ConnectProcess], folder: Path, name: str) -> None:
    """Whoever leads and whoever runs it: the other one sends the request on."""
    file = folder / f"{name}.txt"
    file.write_text("one\n")
    names = [f"{name}-{number}" for number in range(4)]
    for number, each in enumerate(names):
        asked = workers[number % 2]
        asked.ask("PUT", f"/connectors/{each}/config", lines_config(each, file), 201)
    for each in names:
        for worker in workers:
            until(lambda worker=worker, each=each: worker.states(each), ["RUNNING", "RUNNING"])  # type: ignore[misc]
            worker.ask("POST", f"/connectors/{each}/tasks/0/restart", status=204)
            worker.ask("POST", f"/connectors/{each}/restart", status=204)
    until(lambda: [workers[0].states(each) for each in names], [["RUNNING", "RUNNING"]] * len(names))
    expanded = workers[1].ask("GET", "/connectors?expand=status")
    places = {task["worker_id"] for each in names for task in expanded[each]["status"]["tasks"]}
    assert places == {worker.id for worker in workers}, "both have work"
    for each, asked in zip(names, [*workers, *workers], strict=True):
        asked.ask("DELETE", f"/connectors/{each}", status=204)


def test_what_workers_say_to_each_other_must_be_signed(worker: ConnectProcess, folder: Path, name: str) -> None:
    file = folder / f"{name}.txt"
    file.write_text("one\n")
    worker.ask("PUT", f"/connectors/{name}/config", lines_config(name, file), 201)
    until(lambda: worker.states(name), ["RUNNING", "RUNNING"])
    for headers, status in (
        ({}, 400),
        ({"X-Connect-Authorization": "AAAA", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}, 403),
    ):
        for method, path, body in (("POST", "tasks", [{"file": "/etc/passwd"}]), ("PUT", "fence", None)):
            answer = httpx.request(
                method,
                f"{worker.url}/connectors/{name}/{path}",
                json=body,
                headers=headers,
                timeout=60,
                trust_env=False,
            )
            assert answer.status_code == status, answer.text
    (task,) = worker.ask("GET", f"/connectors/{name}/tasks")
    assert task["config"]["file"] == str(file)
    worker.ask("DELETE", f"/connectors/{name}", status=204)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"connector.class": "NoSuchSource"}, "NoSuchSource"),
        ({"file": "/etc/passwd"}, "outside of the folders"),
        ({"topic": None}, "topic"),
        ({"tasks.max": "many"}, "tasks.max"),
        ({"value.converter": "NoSuchConverter"}, "NoSuchConverter"),
        ({"transforms": "a", "transforms.a.type": "NoSuchTransform"}, "NoSuchTransform"),
        ({"errors.tolerance": "some"}, "errors.tolerance"),
    ],
)
def test_a_wrong_configuration_is_refused_by_its_key(
    worker: ConnectProcess, folder: Path, name: str, change: dict[str, Any], words: str
) -> None:
    config = {**lines_config(name, folder / "x.txt"), **change}
    config = {key: value for key, value in config.items() if value is not None}
    refused = worker.ask("POST", "/connectors", {"name": name, "config": config}, 400)
    assert refused["error_code"] == 400 and words in refused["message"], refused
    assert "Traceback" not in refused["message"]
    assert name not in worker.ask("GET", "/connectors")
    if "connector.class" not in change:
        path = f"/connector-plugins/{config['connector.class']}/config/validate"
        validated = worker.ask("PUT", path, {**config, "name": name}, 200)
        assert validated["error_count"] >= 1
        errors = [error for each in validated["configs"] for error in each["value"]["errors"]]
        assert any(words in error for error in errors), errors


ODD: list[Any] = [
    None, True, 0, -1, 1e300, "", "x", [], [[]], [None], {}, {"": ""}, {"name": None}, {"name": {}},
    {"name": "x" * 300},
    {"name": "\x00", "config": {}}, {"name": "../x", "config": {"connector.class": ""}},
    {"name": "x", "config": {"connector.class": "FileStreamSource", "tasks.max": 2**70}},
    {"name": "x", "config": {"connector.class": "os.system", "file": "\x00"}},
    {"name": "x", "config": {"connector.class": "Json", "topics": "a"}},
    {"connector.class": "ObjectSink", "topics": ",,", "topics.regex": "(", "url": "nosuch://x", "flush.size": "0"},
    {"connector.class": "FileStreamSink", "topics": "a", "transforms": "a,a,", "transforms.a.type": "Cast$Value"},
    {"connector.class": "FileStreamSource", "file": "${file:/etc/passwd}", "topic": "${env:HOME}", "x": "${"},
    {"offsets": [{"partition": {"filename": []}, "offset": {"position": "x"}}]},
    {"offsets": [{"partition": {}, "offset": None}] * 2}, {"level": "INFO", "x": [[[]]]},
]  # fmt: skip


def test_odd_requests_are_refused_and_hurt_nobody(worker: ConnectProcess, folder: Path, name: str) -> None:
    """Whatever is sent, wherever: it is the sender's mistake (4xx), and the worker goes on."""
    file = folder / f"{name}.txt"
    file.write_text("one\n")
    body = {"name": name, "config": lines_config(name, file), "initial_state": "STOPPED"}
    worker.ask("POST", "/connectors", body, 201)
    until(lambda: worker.states(name), ["STOPPED"])
    one = f"/connectors/{name}"
    places = [
        ("POST", "/connectors"), ("PUT", f"{one}-b/config"), ("PATCH", f"{one}/config"), ("PATCH", f"{one}/offsets"),
        ("POST", f"{one}/tasks"), ("PUT", f"{one}/fence"), ("PUT", "/admin/loggers/x"),
        ("PUT", "/connector-plugins/FileStreamSource/config/validate"),
        ("PUT", "/connector-plugins/ObjectSink/config/validate"),
        ("PUT", "/connector-plugins/Nothing/config/validate"), ("POST", f"{one}/restart?includeTasks=1"),
        ("PUT", "/connectors/%00/config"), ("PUT", "/connectors/%0A/pause"),
        ("GET", "/connector-plugins/%2E%2E/config"),
    ]  # fmt: skip
    with httpx.Client(base_url=worker.url, timeout=120, trust_env=False) as http:
        for method, path in places:
            for odd in ODD:
                answer = http.request(method, path, json=odd)
                assert answer.status_code < 500, f"{method} {path} {odd}: {answer.status_code} {answer.text}"
                assert answer.status_code == 204 or answer.json() is not None
    made = set(worker.ask("GET", "/connectors")) & {"", "x", "../x", "\x00"}
    assert not made
    assert worker.ask("GET", "/health", status=200)["status"] == "healthy"
    worker.ask("DELETE", one, status=204)


def test_a_validation_shows_no_secret(worker: ConnectProcess, folder: Path, name: str) -> None:
    config = {
        "name": name, "connector.class": "ObjectSink", "topics": "x", "url": str(folder / "out"), "flush.size": "1",
        "aws.access.key.id": "k", "aws.secret.access.key": "geheim",
    }  # fmt: skip
    answer = httpx.put(
        f"{worker.url}/connector-plugins/ObjectSink/config/validate", json=config, timeout=60, trust_env=False
    )
    assert answer.status_code == 200 and answer.json()["error_count"] == 0, answer.text
    assert "geheim" not in answer.text
    other = worker.ask("PUT", "/connector-plugins/FileStreamSource/config/validate", config, 400)
    assert "does not match" in other["message"]


def test_log_levels_of_the_cluster(workers: list[ConnectProcess]) -> None:
    def level(worker: ConnectProcess) -> str | None:
        known: dict[str, dict[str, str]] = worker.ask("GET", "/admin/loggers", status=200)
        return known.get("caudal.connect.test", {}).get("level")

    workers[1].ask("PUT", "/admin/loggers/caudal.connect.test?scope=cluster", {"level": "ERROR"}, 204)
    for worker in workers:
        until(lambda worker=worker: level(worker), "ERROR")  # type: ignore[misc]


def test_measurements(broker: EmbeddedBroker, workers: list[ConnectProcess], folder: Path, name: str) -> None:
    file = folder / f"{name}.txt"
    file.write_text("one\ntwo\n")
    workers[0].ask("PUT", f"/connectors/{name}/config", lines_config(name, file), 201)
    until(lambda: values(broker, name), ["one", "two"])
    line = f'caudal_connect_task_source_record_poll_total{{connector="{name}",task="0"}} 2.0'

    def measured() -> int:
        texts = [httpx.get(f"{worker.url}/metrics", timeout=60, trust_env=False).text for worker in workers]
        return sum(line in text.splitlines() for text in texts)

    until(measured, 1)
    workers[0].ask("DELETE", f"/connectors/{name}", status=204)


def test_health_and_root(workers: list[ConnectProcess]) -> None:
    for worker in workers:
        assert worker.ask("GET", "/health", status=200)["status"] == "healthy"
        root = worker.ask("GET", "/", status=200)
        assert root.keys() == {"version", "commit", "kafka_cluster_id"} and root["kafka_cluster_id"]


def test_a_killed_workers_tasks_go_on_elsewhere(broker: EmbeddedBroker, tmp_path: Path, name: str) -> None:
    group = ("--group", f"group-{name}", "-c", f"config.storage.topic={name}-c", "-c", f"offset.storage.topic={name}-o")
    topics = (*group, "-c", f"status.storage.topic={name}-s", "--allow-folder", str(tmp_path))
    first = ConnectProcess(broker.bootstrap, *topics).wait()
    second = None
    file = tmp_path / "lines.txt"
    file.write_text("one\n")
    try:
        first.ask("PUT", f"/connectors/{name}/config", lines_config(name, file), 201)
        until(lambda: values(broker, name), ["one"])
        second = ConnectProcess(broker.bootstrap, *topics).wait()
        first.kill()
        with file.open("a") as more:
            more.write("two\n")
        until(lambda: values(broker, name)[:1] + values(broker, name)[-1:], ["one", "two"])
        survivor = second
        until(lambda: survivor.states(name), ["RUNNING", "RUNNING"])
        assert survivor.ask("GET", f"/connectors/{name}/status")["tasks"][0]["worker_id"] == survivor.id
        assert values(broker, name) == ["one", "two"], "exactly once"
    finally:
        for worker in (first, second):
            if worker is not None:
                worker.stop()


def test_a_standalone_worker_runs_the_connectors_of_its_files(
    broker: EmbeddedBroker, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("one\n")
    properties = tmp_path / "lines.properties"
    properties.write_text(
        "\n".join(f"{key}={value}" for key, value in {"name": name, **lines_config(name, file)}.items())
    )
    stored = f"offset.storage.file.filename={tmp_path / 'offsets'}"
    arguments = ("--standalone", str(properties), "--allow-folder", str(tmp_path))
    for run, wanted in ((0, ["one"]), (1, ["one", "two"])):
        if run:
            with file.open("a") as more:
                more.write("two\n")
        worker = ConnectProcess(
            broker.bootstrap, *arguments, properties=(stored, "offset.flush.interval.ms=200")
        ).wait()
        try:
            until(lambda: values(broker, name), wanted)
            until(lambda: worker.states(name), ["RUNNING", "RUNNING"])  # noqa: B023
        finally:
            assert worker.stop() == 0
