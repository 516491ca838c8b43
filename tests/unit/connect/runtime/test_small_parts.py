"""Back-off, the queue, signatures, statuses, secrets of tasks: each by itself."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
from base64 import b64decode, b64encode
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from caudal.connect.runtime import worker_client
from caudal.connect.runtime.answers import status, status_when_restarting
from caudal.connect.runtime.config_state import Configs, RestartRequest, SessionKey
from caudal.connect.runtime.model import RestError, State, TaskId
from caudal.connect.runtime.request_queue import RequestQueue
from caudal.connect.runtime.restarts import Restarts
from caudal.connect.runtime.session_key import is_due, is_signed, new_key, sign, task_configs_body
from caudal.connect.runtime.statuses import Status, Statuses, StatusTopic
from caudal.connect.runtime.task_secrets import with_placeholders


def test_back_off_doubles_up_to_its_end_and_begins_anew_after_progress() -> None:
    restarts = Restarts(1.0, 5.0, 4)
    assert [restarts.failed("t", False) for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, None]
    assert restarts.failed("t", True) == 1.0
    assert restarts.failed("t", False) == 2.0
    restarts.forget("t")
    assert restarts.failed("t", False) == 1.0
    assert Restarts(1.0, 5.0, 0).failed("t", False) is None


def test_the_queue_is_in_order_of_time() -> None:
    now = [0.0]
    queue, done = RequestQueue(lambda: now[0]), []
    for name, delay in (("later", 5.0), ("first", 0.0), ("second", 0.0)):
        queue.post(lambda name=name: done.append(name), delay)  # type: ignore[misc]
    while (call := queue.take(0)) is not None:
        call()
    assert done == ["first", "second"]
    now[0] = 5.0
    call = queue.take(0)
    assert call is not None
    call()
    assert done[-1] == "later"


def test_who_asks_gets_the_answer_or_the_error() -> None:
    queue = RequestQueue()

    def serve() -> None:
        for _ in range(2):
            call = queue.take(30)
            assert call is not None
            call()

    thread = threading.Thread(target=serve)
    thread.start()
    assert queue.ask(lambda: 42).result(30) == 42
    with pytest.raises(ValueError, match="invalid literal"):
        queue.ask(lambda: int("no")).result(30)
    thread.join()


def test_who_waits_when_the_queue_is_closed_hears_so() -> None:
    queue = RequestQueue()
    asked = queue.ask(lambda: "never")
    given_up = queue.ask(lambda: "never")
    given_up.cancel()
    queue.close()
    late = queue.ask(lambda: "never")
    for answer in (asked, late):
        with pytest.raises(RestError, match="is stopping") as refused:
            answer.result(0)
        assert refused.value.status == 503
    queue.post(lambda: None)
    queue.close()


def test_an_answer_that_is_no_http_is_an_answer_too() -> None:
    """What a worker that is being killed sends."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"nonsense\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(RestError, match="cannot be reached") as refused:
            worker_client.send_fence(f"http://127.0.0.1:{server.getsockname()[1]}", "a", None)
        assert refused.value.status == 503
        thread.join(60)


def test_a_long_trace_is_shortened_and_a_status_that_is_refused_ends_nothing() -> None:
    statuses = Statuses()
    statuses.put("a", Status(State.FAILED, "w:1", trace="ValueError: first\n" + "x" * 2_000_000 + "\nlast"))
    known = statuses.connector("a")
    assert known is not None and known.trace is not None and len(known.trace) < 100_000
    assert known.trace.startswith("ValueError: first") and known.trace.endswith("last")

    class Refusing:
        def produce(self, *_: Any, **__: Any) -> None:
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))

    topic = StatusTopic({}, "status", 1)
    topic._producer = Refusing()
    topic.put("a", Status(State.RUNNING, "w:1"))


def test_a_question_that_nobody_waits_for_is_not_answered() -> None:
    queue, done = RequestQueue(), []
    queue.ask(lambda: done.append(1)).cancel()
    call = queue.take(1)
    assert call is not None
    call()
    assert done == []


def test_signatures_are_hmac_sha256_of_the_body_in_base64() -> None:
    key = SessionKey(b64encode(b"0123456789abcdef0123456789abcdef").decode(), "HmacSHA256", 0)
    body = task_configs_body([{"a": "ü"}, {}])
    assert body == '[{"a":"ü"},{}]'.encode()
    signature = sign(key, body)
    assert b64decode(signature) == hmac.new(b64decode(key.key), body, hashlib.sha256).digest()
    assert is_signed(key, body, signature)
    assert not is_signed(key, body + b" ", signature)
    assert not is_signed(new_key(0), body, signature)
    assert not is_signed(key, body, "not base64!")


def test_a_session_key_lives_for_an_hour() -> None:
    key = new_key(1_000)
    assert is_due(None, 0)
    assert not is_due(key, 3_600_999)
    assert is_due(key, 3_601_000)
    assert len(b64decode(key.key)) == 32


CONFIGS = Configs(4, {"a-b": {}}, {"a-b": 0}, {}, {"a-b": ({}, {})}, {"a-b": 3})


def test_statuses_by_kafka_connects_keys() -> None:
    seen: list[object] = []
    statuses = Statuses(lambda id, status: seen.append(id))
    statuses.put("a-b", Status(State.RUNNING, "w:1", 3, None, "1.0"))
    statuses.put(TaskId("a-b", 1), Status(State.FAILED, "w:2", 3, "why"))
    statuses.add_topic("a-b", "orders", 1)
    assert seen == ["a-b", TaskId("a-b", 1)]
    assert statuses.topics("a-b") == ["orders"]
    assert status("a-b", CONFIGS, statuses) == {
        "name": "a-b",
        "connector": {"state": "RUNNING", "worker_id": "w:1", "version": "1.0"},
        "tasks": [
            {"id": 0, "state": "UNASSIGNED", "worker_id": ""},
            {"id": 1, "state": "FAILED", "worker_id": "w:2", "trace": "why"},
        ],
        "type": "unknown",
    }
    statuses.forget("a-b")
    assert statuses.names() == set()


def test_a_late_goodbye_does_not_hide_the_next_owner() -> None:
    statuses, id = Statuses(), TaskId("a", 0)
    statuses.put(id, Status(State.RUNNING, "new:1", 7))
    statuses.put_if_mine(id, Status(State.UNASSIGNED, "old:1", 6))
    assert statuses.task(id) == Status(State.RUNNING, "new:1", 7)
    statuses.put_if_mine(id, Status(State.UNASSIGNED, "new:1", 7))
    assert statuses.task(id) == Status(State.UNASSIGNED, "new:1", 7)


def test_what_a_restart_will_look_like() -> None:
    statuses = Statuses()
    statuses.put("a-b", Status(State.RUNNING, "w", 1))
    statuses.put(TaskId("a-b", 0), Status(State.RUNNING, "w", 1))
    statuses.put(TaskId("a-b", 1), Status(State.FAILED, "w", 1, "why"))

    def states(include_tasks: bool, only_failed: bool) -> list[str]:
        body = status_when_restarting(RestartRequest("a-b", include_tasks, only_failed), CONFIGS, statuses)
        return [body["connector"]["state"], *(task["state"] for task in body["tasks"])]

    assert states(True, False) == ["RESTARTING", "RESTARTING", "RESTARTING"]
    assert states(True, True) == ["RUNNING", "RUNNING", "RESTARTING"]
    assert states(False, True) == ["RUNNING", "RUNNING", "FAILED"]


def test_secrets_are_taken_out_of_task_configurations() -> None:
    given = {"password": "${env:P}", "url": "db://${env:P}@host", "plain": "x"}
    filled = {"password": "hunter2", "url": "db://hunter2@host", "plain": "x"}
    made = [{"password": "hunter2", "plain": "x"}, {"renamed": "hunter2", "other": "db://hunter2@host"}]
    assert with_placeholders(made, given, filled) == [
        {"password": "${env:P}", "plain": "x"},
        {"renamed": "${env:P}", "other": "db://${env:P}@host"},
    ]
