"""Streams with schemas: sources, sinks, stores and internal topics each get their subject; a registry that is away
is nobody's bad record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from caudal.plan.serdes import with_registry_of
from caudal.registry.client import RegistryClient
from caudal.registry.mock import forget_registry
from caudal.runtime.errors import Handlers, OnError, StreamsError
from caudal.runtime.record import Record
from caudal.serde import Avro, Long, Protobuf, SchemasUnavailable, SerdeError, String
from caudal.streams import StreamsBuilder
from caudal.streams.application import Application
from caudal.testing import TopologyTestDriver

MOCK = "mock://streams"
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "user", "type": "string"}, {"name": "amount", "type": "long"}],
}
TOTAL = 'syntax = "proto3"; message Total { string user = 1; int64 amount = 2; }'
USER = '{"type": "string"}'


@pytest.fixture(autouse=True)
def registry() -> Iterator[RegistryClient]:
    forget_registry(MOCK)
    yield RegistryClient(MOCK)
    forget_registry(MOCK)


def test_every_topic_has_its_subject(registry: RegistryClient) -> None:
    builder = StreamsBuilder("shop")
    orders = builder.stream("orders", key=String(), value=Avro(ORDER))
    by_user = orders.group_by(lambda key, order: order["user"], key=Avro(USER), value=Avro(ORDER))
    totals = by_user.reduce(lambda one, other: {**one, "amount": one["amount"] + other["amount"]}, store="totals")
    totals.to_stream().map_values(lambda order: order).to("totals", key=Avro(USER), value=Protobuf(TOTAL))
    with TopologyTestDriver(builder, registry=MOCK) as driver:
        driver.pipe_input("orders", "1", {"user": "ana", "amount": 3}, timestamp=1)
        driver.pipe_input("orders", "2", {"user": "ana", "amount": 4}, timestamp=2)
        assert driver.read_outputs("totals") == [
            Record("ana", {"user": "ana", "amount": 3}, 1),
            Record("ana", {"user": "ana", "amount": 7}, 2),
        ]
        assert driver.store("totals").get("ana") == ({"user": "ana", "amount": 7}, 2)
    assert registry.subjects() == [
        "orders-value",
        "shop-totals-changelog-key",
        "shop-totals-repartition-key",
        "shop-totals-repartition-value",
        "totals-key",
        "totals-value",
    ]


def test_a_topic_that_depends_on_the_record(registry: RegistryClient) -> None:
    builder = StreamsBuilder("route")
    stream = builder.stream("in", key=String(), value=String())
    stream.map_values(lambda text: {"user": text, "amount": 1}).to(
        lambda key, value, context: f"out-{key}", key=String(), value=Avro(ORDER)
    )
    with TopologyTestDriver(builder, registry=MOCK) as driver:
        for key in ("a", "b", "a"):
            driver.pipe_input("in", key, "x", timestamp=1)
        assert [record.value for record in driver.read_outputs("out-a")] == [{"user": "x", "amount": 1}] * 2
        assert len(driver.read_outputs("out-b")) == 1
    assert registry.subjects() == ["out-a-value", "out-b-value"]


def test_tables_joins_and_windows(registry: RegistryClient) -> None:
    builder = StreamsBuilder("join")
    orders = builder.stream("orders", key=String(), value=Avro(ORDER))
    names = builder.table("names", key=Avro(USER), value=Avro(USER))
    orders.select_key(lambda key, order: order["user"], key=Avro(USER)).join(
        names, lambda order, name: {"user": name, "amount": order["amount"]}
    ).to("named", key=Avro(USER), value=Avro(ORDER))
    with TopologyTestDriver(builder, registry=MOCK) as driver:
        driver.pipe_input("names", "ana", "Ana", timestamp=1)
        driver.pipe_input("orders", "1", {"user": "ana", "amount": 3}, timestamp=2)
        assert driver.read_outputs("named") == [Record("ana", {"user": "Ana", "amount": 3}, 2)]


def test_a_foreign_key_join_hashes_its_values(registry: RegistryClient) -> None:
    builder = StreamsBuilder("foreign")
    orders = builder.table("orders", key=String(), value=Avro(ORDER))
    names = builder.table("names", key=Avro(USER), value=Avro(USER))
    joined = orders.join(
        names, lambda order, name: f"{name} {order['amount']}", key_extractor=lambda order: order["user"]
    )
    joined.to_stream().to("named", key=String(), value=String())
    with TopologyTestDriver(builder, registry=MOCK) as driver:
        driver.pipe_input("names", "ana", "Ana", timestamp=1)
        driver.pipe_input("orders", "1", {"user": "ana", "amount": 3}, timestamp=2)
        assert driver.read_outputs("named") == [Record("1", "Ana 3", 2)]


def test_a_bad_record_is_skipped_and_an_absent_registry_is_not() -> None:
    builder = StreamsBuilder("bad")
    builder.stream("in", key=String(), value=Avro(ORDER)).map_values(lambda order: order["amount"]).to(
        "out", key=String(), value=Long()
    )
    skip = Handlers(deserialization=OnError.SKIP)
    with TopologyTestDriver(builder, registry=MOCK, handlers=skip) as driver:
        driver.pipe_bytes("in", b"a", b"no wire format", timestamp=1)
        driver.pipe_bytes("in", b"a", b"\x00\x00\x00\x00\x63?", timestamp=1)
        driver.pipe_input("in", "a", {"user": "x", "amount": 2}, timestamp=1)
        assert [record.value for record in driver.read_outputs("out")] == [2]
    away = builder.build()
    nowhere = with_registry_of(away, "http://127.0.0.1:9")
    for node in nowhere.nodes:
        if hasattr(node, "value") and isinstance(node.value, Avro):
            object.__setattr__(node, "value", node.value._with(wait_seconds=0.0))
    with (
        TopologyTestDriver(nowhere, handlers=skip) as driver,
        pytest.raises(SchemasUnavailable, match="no registry at"),
    ):
        driver.pipe_bytes("in", b"a", b"\x00\x00\x00\x00\x01?", timestamp=1)


def test_the_plan_says_the_serdes_without_secrets() -> None:
    builder = StreamsBuilder("plan")
    builder.stream("in", key=String(), value=Avro(ORDER)).to("out", key=String(), value=Avro(ORDER))
    topology = with_registry_of(builder.build(), "http://ana:secret@registry:8081")
    nodes: list[dict[str, Any]] = topology.to_dict()["nodes"]
    assert [(node["value"]["topic"], node["value"]["registry"]) for node in nodes] == [
        ("in", "http://registry:8081"),
        ("out", "http://registry:8081"),
    ]
    assert "secret" not in str(topology.to_dict())


def test_a_mock_is_not_for_spark() -> None:
    builder = StreamsBuilder("mock")
    builder.stream("in", key=String(), value=String()).to("out")
    with pytest.raises(StreamsError, match="is inside one process"):
        Application(builder, registry=MOCK)


def test_a_serde_without_a_schema_says_what_it_needs() -> None:
    builder = StreamsBuilder("none")
    builder.stream("in", key=String(), value=String()).to("out", key=String(), value=Avro())
    with TopologyTestDriver(builder, registry=MOCK) as driver, pytest.raises(Exception, match="has no schema to write"):
        driver.pipe_input("in", "a", "x")
    assert issubclass(SchemasUnavailable, SerdeError)
