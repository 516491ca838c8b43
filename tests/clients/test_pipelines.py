"""Reports and orders over a real broker, with a pipeline that counts in this process (no Spark)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from caudal.pipelines import reporter as reporters
from caudal.pipelines.control import send
from caudal.pipelines.reader import BoardFollower
from caudal.pipelines.records import CONTROL_TOPIC, PIPELINES_TOPIC, Command, Order
from caudal.pipelines.reporter import Reporter, Reporting, configured_reporting, report
from caudal.testing import EmbeddedBroker, embedded_broker

LOGGER = "caudal.pipelines"


class Counting:
    """A pipeline whose figures move each time it is asked."""

    def __init__(self, application: str) -> None:
        self.application = application
        self.records = 0
        self.state = "RUNNING"
        self.orders: list[Order] = []
        self.ordered = threading.Event()

    def about(self) -> dict[str, Any]:
        return {"host": "here", "topology": {}}

    def figures(self) -> dict[str, Any]:
        if self.state == "RUNNING":
            self.records += 1
        return {"state": self.state, "records": self.records}

    def obey(self, order: Order) -> None:
        self.orders.append(order)
        self.state = {Order.PAUSE: "PAUSED", Order.RESUME: "RUNNING", Order.STOP: "STOPPED"}[order]
        self.ordered.set()


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker() as started:
        yield started


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporters, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(reporters, "PATIENCE_SECONDS", 0.5)


@pytest.fixture
def connection(broker: EmbeddedBroker) -> dict[str, Any]:
    return {"bootstrap.servers": broker.bootstrap, "log_level": 0}


@pytest.fixture
def follower(connection: dict[str, Any]) -> Iterator[BoardFollower]:
    following = BoardFollower(connection).start()
    yield following
    following.close()


def until(question: Callable[[], Any], seconds: float = 20.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
    return answer


def seen(follower: BoardFollower, application: str) -> Any:
    found = follower.board.pipeline(application, int(time.time() * 1000))
    return found.leader if found is not None and found.leader.figures else None


def test_a_pipeline_is_seen_moves_and_disappears_when_it_ends(
    connection: dict[str, Any], follower: BoardFollower
) -> None:
    end = report(Counting("app"), connection)
    first = until(lambda: seen(follower, "app")).figures["records"]
    until(lambda: seen(follower, "app").figures["records"] > first + 2)
    end()
    until(lambda: seen(follower, "app") is None)
    assert follower.trouble is None


def test_a_pipeline_that_failed_stays_to_be_seen(connection: dict[str, Any], follower: BoardFollower) -> None:
    end = report(Counting("app"), connection)
    until(lambda: seen(follower, "app"))
    end({"state": "ERROR", "failure": "A record was bad."})
    until(lambda: seen(follower, "app").figures.get("failure") == "A record was bad.")


def test_the_topic_keeps_an_hour_of_figures_and_is_compacted(
    connection: dict[str, Any], follower: BoardFollower
) -> None:
    end = report(Counting("app"), connection)
    until(lambda: seen(follower, "app"))
    resource = ConfigResource(ResourceType.TOPIC, PIPELINES_TOPIC)
    admin = AdminClient(connection)
    configs = admin.describe_configs([resource])[resource].result(10)
    assert configs["cleanup.policy"].value == "compact,delete"
    assert configs["min.compaction.lag.ms"].value == "3600000"
    end()


def test_orders_are_obeyed_once_by_the_one_they_are_for(connection: dict[str, Any], follower: BoardFollower) -> None:
    app, other = Counting("app"), Counting("other")
    ends = [report(app, connection), report(other, connection)]
    instance = until(lambda: seen(follower, "app")).id
    until(lambda: seen(follower, "other"))
    pause = Command(Order.PAUSE, "app")
    send(connection, pause)
    send(connection, pause)  # the same one again
    send(connection, Command(Order.STOP, "app", instance="somebody else"))
    send(connection, Command(Order.STOP, "app", time=int(time.time() * 1000) - 3_600_000))  # of an hour ago
    until(lambda: seen(follower, "app").figures["state"] == "PAUSED")
    send(connection, Command(Order.RESUME, "app", instance=instance))
    until(lambda: seen(follower, "app").figures["state"] == "RUNNING")
    assert app.orders == [Order.PAUSE, Order.RESUME] and other.orders == []
    for end in ends:
        end()


def test_what_was_ordered_before_it_came_is_not_for_it(connection: dict[str, Any], follower: BoardFollower) -> None:
    end = report(Counting("first"), connection)
    until(lambda: seen(follower, "first"))
    end()
    send(connection, Command(Order.STOP, "app"))
    app = Counting("app")
    end = report(app, connection)
    until(lambda: seen(follower, "app"))
    send(connection, Command(Order.PAUSE, "app"))
    assert app.ordered.wait(20)
    assert app.orders == [Order.PAUSE]
    end()


def test_one_that_takes_no_orders_ignores_them(connection: dict[str, Any], follower: BoardFollower) -> None:
    deaf, hearing = Counting("deaf"), Counting("hearing")
    ends = [report(deaf, connection, takes_orders=False), report(hearing, connection)]
    until(lambda: seen(follower, "deaf"))
    until(lambda: seen(follower, "hearing"))
    assert not seen(follower, "deaf").takes_orders
    send(connection, Command(Order.STOP, "deaf"))
    send(connection, Command(Order.STOP, "hearing"))
    assert hearing.ordered.wait(20)  # it came after the other
    assert deaf.orders == []
    for end in ends:
        end()


def test_a_broker_that_is_away_costs_one_line_and_reports_go_on_after_it(
    broker: EmbeddedBroker, connection: dict[str, Any], caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    monkeypatch.setattr("caudal.pipelines.topics.SECONDS", 1.0)
    broker.stop()
    with caplog.at_level(logging.WARNING, LOGGER):
        app = Counting("app")
        end = report(app, connection)
        until(lambda: [line for line in caplog.messages if "They go on" in line])
        broker.start()
        follower = BoardFollower(connection).start()
        until(lambda: seen(follower, "app"))
        follower.close()
        end()
    assert len([line for line in caplog.messages if "They go on" in line]) == 1


def test_a_topic_that_was_deleted_is_made_again(
    connection: dict[str, Any], caplog: pytest.LogCaptureFixture, follower: BoardFollower
) -> None:
    end = report(Counting("app"), connection)
    until(lambda: seen(follower, "app"))
    admin = AdminClient(connection)
    for future in admin.delete_topics([PIPELINES_TOPIC, CONTROL_TOPIC]).values():
        future.result(10)
    until(lambda: PIPELINES_TOPIC in admin.list_topics(timeout=10).topics, 60)
    end()


def test_figures_that_cannot_be_had_harm_nobody(connection: dict[str, Any], follower: BoardFollower) -> None:
    class Broken(Counting):
        def figures(self) -> dict[str, Any]:
            raise RuntimeError("closing")

    ends = [report(Broken("broken"), connection), report(Counting("sound"), connection)]
    first = until(lambda: seen(follower, "sound")).figures["records"]
    until(lambda: seen(follower, "sound").figures["records"] > first)
    for end in ends:
        end()


def test_the_thread_ends_with_the_last_pipeline(connection: dict[str, Any]) -> None:
    others = set(threading.enumerate())  # of applications of other tests
    end = report(Counting("app"), connection)
    (thread,) = [one for one in set(threading.enumerate()) - others if one.name == "caudal-pipelines"]
    end()
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("text", "meant"),
    [("on", Reporting.ON), ("", Reporting.ON), ("Read-Only", Reporting.READ_ONLY), ("no", Reporting.OFF)],
)
def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch, text: str, meant: Reporting) -> None:
    monkeypatch.setenv("CAUDAL_PIPELINES", text)
    assert configured_reporting() is meant


def test_idle_pipelines_report_rarely(connection: dict[str, Any], follower: BoardFollower) -> None:
    class Idle(Counting):
        asked = 0

        def figures(self) -> dict[str, Any]:
            self.asked += 1
            return {"state": "RUNNING", "records": 7}

    idle = Idle("idle")
    reporter = Reporter(connection)
    reporter.add(idle)
    until(lambda: idle.asked > 10)
    reporter.remove("idle", {"state": "ERROR"})
    until(lambda: (found := seen(follower, "idle")) is not None and found.figures["state"] == "ERROR")
    assert len(seen(follower, "idle").history.times) == 1
    reporter.close()
