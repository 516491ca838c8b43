"""Stores of an application on Spark, asked while it runs, is paused, stands by, and after a restart."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from caudal.serde import Long, String
from caudal.streams import StreamsBuilder, persistent, tumbling
from caudal.streams.application import Application
from caudal.testing import EmbeddedBroker
from caudal.views import UnknownStore, ViewError
from caudal.views.http_server import ViewServer
from tests.unit.views.changelogs import records_taken
from tests.unit.views.test_page import BLOCKS

from .conftest import Kafka

Names = Callable[[str], str]


def shop(application_id: str, source: str) -> StreamsBuilder:
    builder = StreamsBuilder(application_id)
    orders = builder.stream(source, key=String(), value=String()).group_by_key()
    orders.count(store="orders-per-user")
    orders.windowed_by(tumbling("1 minute")).count(store=persistent("per-minute", retention="1 day"))
    return builder


def test_a_store_is_asked_in_every_state_of_its_application(
    kafka: Kafka, unique: Names, start: Callable[..., Application]
) -> None:
    source, application_id = unique("orders"), unique("shop")
    kafka.create(source)
    kafka.send(source, *((f"user-{number:03d}", "x") for number in range(200)), ("user-007", "x"))
    app = start(shop(application_id, source))
    assert app.views.names == ("orders-per-user", "per-minute")
    with pytest.raises(UnknownStore, match="it has: 'orders-per-user', 'per-minute'"):
        app.store("orders")
    counts = app.store("orders-per-user")
    kafka.until(lambda: counts.get("user-007"), 2)
    kafka.until(lambda: len(list(counts.all())), 200)
    assert [key for key, _ in counts.range("user-010", "user-012")] == ["user-010", "user-011", "user-012"]
    minutes = app.store("per-minute")
    kafka.until(lambda: sum(count for _, count in minutes.fetch_all()), 201)
    assert sum(count for _, count in minutes.fetch("user-007")) == 2

    app.pause()
    assert counts.get("user-007", wait=10) == 2, "also while it is paused"
    app.resume()
    kafka.send(source, ("user-007", "x"))
    kafka.until(lambda: counts.get("user-007"), 3)
    assert counts.lag.total <= counts.approximate_count

    standby = start(shop(application_id, source), session_timeout=6000)
    assert standby.state == "STANDBY"
    assert standby.store("orders-per-user").get("user-007", wait=10) == 3, "also behind another instance"
    standby.stop()
    with pytest.raises(ViewError, match="was stopped"):
        standby.store("orders-per-user")

    server = ViewServer(app.views).start()
    try:
        with urllib.request.urlopen(f"{server.address}/stores/orders-per-user/key/user-007?wait=5") as answer:
            assert json.loads(answer.read())["value"] == 3
    finally:
        server.stop()
    app.stop()

    again = start(shop(application_id, source))
    with records_taken() as taken:
        assert again.store("orders-per-user").get("user-007", wait=10) == 3
    assert sum(taken) == 0, "the index was where the changelog was"
    kafka.send(source, ("user-007", "x"), ("new", "x"))
    kafka.until(lambda: again.store("orders-per-user").get("user-007"), 4)
    kafka.until(lambda: len(list(again.store("orders-per-user").all())), 201)


def test_the_page_runs(kafka: Kafka, broker: EmbeddedBroker, spark: Any, tmp_path: Path) -> None:
    kafka.create("orders")
    kafka.send("orders", ("ana", Long().serialize(5)))
    names: dict[str, Any] = {"bootstrap": broker.bootstrap}
    for number, (_, mark, text) in enumerate(BLOCKS):
        if mark == "needs-spark":
            text = text.replace("bootstrap=bootstrap", f"bootstrap=bootstrap, threads=2, state_dir={str(tmp_path)!r}")
            exec(compile(text, f"block {number} of docs/views.md", "exec"), names)
    assert names["app"].state == "STOPPED"
