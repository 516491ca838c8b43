"""A write at an instance that does not write: the writer's answer is passed on, and a missing writer is waited for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.registry.memory import Rest, body, record

from caudal.registry import endpoints, errors
from caudal.registry.forwarding import Forwarded, Forwarder, NoWriterYet

V1 = record("A", x="int")


class Writer:
    """Stands for the other instance: gives these answers, one after the other."""

    def __init__(self, *answers: Forwarded | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str, bytes]] = []

    async def send(
        self, method: str, target: str, headers: dict[str, str], content: bytes, deadline: float
    ) -> Forwarded:
        self.asked.append((method, target, content))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def rest() -> Rest:
    rest = Rest()
    rest.id_of("known", V1)
    rest.instance.is_chosen = rest.instance.is_writer = False
    return rest


def forwarding_to(monkeypatch: pytest.MonkeyPatch, writer: Writer) -> Writer:
    monkeypatch.setattr(Forwarder, "send", lambda self, *arguments: writer.send(*arguments))
    return writer


def test_the_writers_answer_is_passed_on_as_it_is(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = forwarding_to(monkeypatch, Writer(Forwarded(200, b'{"id":9}'), Forwarded(409, b'{"error_code":409}')))
    path = "/subjects/a%2Fb/versions?normalize=false"
    assert rest.ask("POST", path, body(V1)) == (200, {"id": 9})
    assert rest.ask("POST", path, body(V1)) == (409, {"error_code": 409})
    assert [asked[:2] for asked in writer.asked] == [("POST", path)] * 2


@pytest.mark.parametrize(
    ("method", "path", "given"),
    [
        ("DELETE", "/subjects/known", None),
        ("DELETE", "/subjects/known/versions/1", None),
        ("PUT", "/config", {"compatibility": "FULL"}),
        ("DELETE", "/config", None),
        ("PUT", "/mode/known", {"mode": "READONLY"}),
        ("DELETE", "/mode", None),
        ("DELETE", "/contexts/.x", None),
    ],
)
def test_every_write_is_forwarded(
    rest: Rest, monkeypatch: pytest.MonkeyPatch, method: str, path: str, given: Any
) -> None:
    writer = forwarding_to(monkeypatch, Writer(Forwarded(422, b'{"error_code":42205,"message":"no"}')))
    assert rest.ask(method, path, given) == (422, {"error_code": 42205, "message": "no"})
    assert [asked[:2] for asked in writer.asked] == [(method, path)]
    assert len(rest.instance.log) == 1


def test_what_is_known_is_not_forwarded(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = forwarding_to(monkeypatch, Writer())
    assert rest.id_of("known", V1) == 1
    assert rest.ask("POST", "/subjects/known/versions?normalize=true", body(V1)).body["id"] == 1
    assert writer.asked == []


def test_a_writer_is_waited_for(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = forwarding_to(monkeypatch, Writer(NoWriterYet("none"), NoWriterYet("none"), Forwarded(200, b'{"id":2}')))
    assert rest.id_of("a", V1) == 2
    assert len(writer.asked) == 3


def test_it_is_not_waited_for_without_end(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "WRITER_SECONDS", 0.0)
    forwarding_to(monkeypatch, Writer(NoWriterYet("there is nobody")))
    reply = rest.register("a", V1)
    assert (reply.status, reply.code) == (500, 50003)
    assert "there is nobody" in reply.body["message"]


def test_an_outcome_that_is_not_known_is_told(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    forwarding_to(monkeypatch, Writer(errors.forwarding_failed("it fell silent")))
    reply = rest.ask("DELETE", "/subjects/known")
    assert (reply.status, reply.code) == (500, 50003)


def test_whoever_becomes_the_writer_meanwhile_writes(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    async def send(self: Forwarder, *arguments: Any) -> Forwarded:
        rest.instance.is_chosen = True
        raise NoWriterYet("it is gone")

    monkeypatch.setattr(Forwarder, "send", send)
    assert rest.id_of("a", record("B", y="int")) == 2
    assert len(rest.instance.log) == 2
