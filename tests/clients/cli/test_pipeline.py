"""`caudal pipeline`: list, describe, pause, resume and stop a pipeline that reports from this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from caudal.pipelines import reporter as reporters
from caudal.pipelines.records import Order
from caudal.pipelines.reporter import report
from caudal.testing import EmbeddedBroker

from .conftest import Caudal


class Obedient:
    """A pipeline that does what it is told."""

    def __init__(self, application: str) -> None:
        self.application = application
        self.state = "RUNNING"
        self.end: Callable[..., None] = lambda: None

    def about(self) -> dict[str, Any]:
        return {
            "origin": {"kind": "streams", "program": "orders.py"},
            "host": "box",
            "pid": 7,
            "lane": "task",
            "why": "it was asked for",
            "mode": "micro-batch",
            "guarantee": "exactly_once",
            "description": "Topologies:\n   Sub-topology: 0\n",
        }

    def figures(self) -> dict[str, Any]:
        return {"state": self.state, "rate": {"in": 12.4, "out": 3.0}, "records": 120, "lag": 5, "state_rows": 9}

    def obey(self, order: Order) -> None:
        self.state = {Order.PAUSE: "PAUSED", Order.RESUME: "RUNNING", Order.STOP: "STOPPED"}[order]
        if order is Order.STOP:
            self.end()


@pytest.fixture
def started(broker: EmbeddedBroker, on_broker: Caudal, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Starts a pipeline and waits until the command sees it."""
    monkeypatch.setattr(reporters, "BEAT_SECONDS", 0.1)
    connection = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
    ends: list[Callable[..., None]] = []

    def start(name: str, **options: Any) -> Obedient:
        pipeline = Obedient(name)
        pipeline.end = report(pipeline, connection, **options)
        ends.append(pipeline.end)
        deadline = time.monotonic() + 20
        while name not in [one["application"] for one in on_broker("pipeline", "list", "--json").json]:
            assert time.monotonic() < deadline
        return pipeline

    yield start
    for end in ends:
        end()


def test_without_pipelines_the_list_says_how_to_start_one(on_broker: Caudal) -> None:
    outcome = on_broker("pipeline", "list")
    assert outcome.code == 0 and outcome.out == "" and "caudal run" in outcome.err


def test_list_and_describe(on_broker: Caudal, started: Callable[..., Any]) -> None:
    started("orders")
    header, line = on_broker("pipeline", "list").lines
    assert header.split()[:3] == ["APPLICATION", "ORIGIN", "STATE"]
    assert line.split()[:5] == ["orders", "streams", "RUNNING", "12", "3"]
    (document,) = on_broker("pipeline", "list", "--json").json
    assert document["in_per_second"] == 12.4 and document["guarantee"] == "exactly_once"
    text = on_broker("pipeline", "describe", "orders").out
    assert "task: it was asked for" in text and "Sub-topology: 0" in text and "box, process 7" in text
    described = on_broker("pipeline", "describe", "orders", "--json").json
    assert described["instances"][0]["figures"]["state_rows"] == 9


def test_pause_resume_and_stop_wait_until_it_is_so(on_broker: Caudal, started: Callable[..., Any]) -> None:
    pipeline = started("payments")
    assert on_broker("pipeline", "pause", "payments").out == "payments: PAUSED\n"
    assert pipeline.state == "PAUSED"
    assert on_broker("pipeline", "resume", "payments", "--json").json["state"] == "RUNNING"
    assert on_broker("pipeline", "stop", "payments").out == "payments: STOPPED\n"
    outcome = on_broker("pipeline", "describe", "payments")
    assert outcome.code != 0 and "no pipeline 'payments'" in outcome.err


def test_what_cannot_be_ordered_is_said(on_broker: Caudal, started: Callable[..., Any]) -> None:
    assert "no pipeline 'nobody'" in on_broker("pipeline", "pause", "nobody").err
    started("aloof", takes_orders=False)
    outcome = on_broker("pipeline", "stop", "aloof")
    assert outcome.code != 0 and "read-only" in outcome.err and "box" in outcome.err
    started("here")
    assert "no instance 'there'" in on_broker("pipeline", "stop", "here", "--instance", "there").err
