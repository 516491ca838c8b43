"""Servers that do not answer, are something else, belong to another cluster, or live in another time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from caudal.cli.doctor import services as checks
from caudal.cli.doctor.check import Answer, Situation

from ..web_server import web_server
from .conftest import free_port


def asked(name: str, url: str, cluster: str | None = None, topics: tuple[str, ...] = ()) -> list[Answer]:
    check: Callable[[Situation], Iterable[Answer]] = getattr(checks, f"check_{name}")
    metadata = SimpleNamespace(topics=dict.fromkeys(topics)) if cluster else None
    situation: Any = SimpleNamespace(
        bootstrap="kafka:9092", services={name: url}, cluster=SimpleNamespace(id=cluster, metadata=metadata)
    )
    return list(check(situation))


RIGHT: dict[str, dict[str, Any]] = {
    "registry": {"/subjects": ["orders-value"]},
    "connect": {"/": {"version": "1", "kafka_cluster_id": "mine"}},
    "ksql": {"/info": {"KsqlServerInfo": {"version": "1", "kafkaClusterId": "mine"}}},
    "ui": {"/": "<html>"},
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_server_that_is_what_it_should_be(name: str) -> None:
    with web_server(RIGHT[name]) as url:
        (found,) = asked(name, url, "mine", ("_schemas",))
    assert found.status == "ok" and url in found.text


@pytest.mark.parametrize("name", RIGHT)
def test_a_server_that_does_not_answer(name: str) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    (found,) = asked(name, url)
    assert found.status == "trouble" and f"answers at {url}" in found.text
    assert "`caudal up`" in found.fix and f"--{name} URL" in found.fix


@pytest.mark.parametrize("name", ["registry", "connect", "ksql"])
def test_another_web_server_at_that_address(name: str) -> None:
    with web_server({"/": "hello", "/subjects": "hello", "/info": {}}) as url:
        (found,) = asked(name, url)
    assert found.status == "trouble" and "is a web server and not the" in found.text
    with web_server({}) as url:
        (found,) = asked(name, url)
    assert "status 404" in found.text


@pytest.mark.parametrize("name", ["connect", "ksql"])
def test_a_server_of_another_cluster(name: str) -> None:
    with web_server(RIGHT[name]) as url:
        (found,) = asked(name, url, "theirs")
    assert found.status == "trouble"
    assert "belongs to the cluster mine, and kafka:9092 is theirs" in found.text
    assert found.fix.endswith("--bootstrap kafka:9092")


def test_a_registry_whose_topic_the_cluster_does_not_have() -> None:
    with web_server(RIGHT["registry"]) as url:
        _, found = asked("registry", url, "theirs", ("orders",))
    assert "has no topic _schemas: it is of another cluster" in found.text


def test_a_server_with_another_clock() -> None:
    with web_server(RIGHT["connect"], date=time.time() - 3600) as url:
        (found,) = asked("connect", url)
    assert found.status == "trouble" and re.search(r"3(599|60\d) s apart", found.text)


def test_nobody_asked_and_nobody_there_is_no_news(situation: Situation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "is_listening", lambda host, port, timeout: False)
    for name in RIGHT:
        assert list(getattr(checks, f"check_{name}")(situation)) == []
