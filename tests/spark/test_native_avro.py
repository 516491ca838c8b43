"""Avro in the native lane: Spark's own from_avro and to_avro give the bytes that the interpreter gives; a record of a
schema that came later, or that cannot be read, stops it with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from caudal.plan.errors import PlanError
from caudal.registry.client import RegistryClient
from caudal.runtime.test_driver import TopologyTestDriver
from caudal.serde import Avro, Json, String
from caudal.streams import StreamsBuilder
from tests.registry.http_registry import http_registry

from .conftest import Kafka

Names = Callable[[str], str]
Start = Callable[..., Any]


def record(*fields: tuple[str, Any], **defaults: Any) -> dict[str, Any]:
    listed = [
        {"name": name, "type": kind, **({"default": defaults[name]} if name in defaults else {})}
        for name, kind in fields
    ]
    return {"type": "record", "name": "Order", "namespace": "shop", "fields": listed}


OLD = record(("user", "string"), ("amount", "int"), ("rate", "float"))
NEW = record(
    ("user", "string"), ("amount", "int"), ("rate", "float"), ("note", ["null", "string"]), ("paid", "boolean"),
    note=None, paid=True,
)  # fmt: skip
NEWEST = {**NEW, "fields": [*NEW["fields"], {"name": "x", "type": "long", "default": 0}]}
TOTAL = record(
    ("user", "string"), ("total", "long"), ("small", "int"), ("rate", ["null", "double"]), ("paid", "boolean")
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_registry() as address:
        yield address


def application(name: str, source: str, total: str, document: str) -> StreamsBuilder:
    builder = StreamsBuilder(name)
    orders = builder.stream(source, key=String(), value=Avro(NEW))
    changed = orders.filter("amount > 0").map_values(
        "STRUCT(user, amount * 2 AS total, amount AS small, rate, paid AND note IS NULL AS paid)"
    )
    changed.to(total, value=Avro(TOTAL))
    orders.to(document, value=Json())
    return builder


def test_the_same_bytes_as_the_interpreter(kafka: Kafka, start: Start, unique: Names, url: str) -> None:
    source, total, document = unique("orders"), unique("totals"), unique("documents")
    kafka.create(source, total, document, partitions=1)
    old, new = (Avro(schema, registry=url, topic=source) for schema in (OLD, NEW))
    values = [
        old.serialize({"user": "ana", "amount": 3, "rate": 0.1}),
        new.serialize({"user": "eñe €", "amount": 4, "rate": -2.5, "note": "x", "paid": True}),
        new.serialize({"user": "", "amount": -1, "rate": 0.0, "note": None, "paid": False}),
        new.serialize({"user": "leo", "amount": 1 << 30, "rate": float("inf"), "note": None, "paid": False}),
    ]
    Avro(TOTAL, registry=url, topic=total)._schema_to_write()  # registered, as by its owner
    builder = application(unique("native-avro"), source, total, document)
    kafka.send(source, *((b"k", value) for value in values), (b"k", None))
    app = start(builder, registry=url, guarantee="at_least_once", lane="native")
    assert app.lane[0] == "native"
    with TopologyTestDriver(builder, registry=url) as driver:
        for value in (*values, None):
            driver.pipe_bytes(source, b"k", value)
        expected = [message.value for message in driver._outputs[total]]
        documents = [message.value for message in driver._outputs[document]]
    assert [found.value() for found in kafka.read(total, len(expected))] == expected
    assert {found.key() for found in kafka.read(total)} == {b"k"}
    assert len(expected) == 3
    shown = [Json().deserialize(found.value()) for found in kafka.read(document, 5) if found.value() is not None]
    wanted = [Json().deserialize(data) for data in documents if data is not None]
    assert [(each["user"], each["amount"], each["note"]) for each in shown] == [
        (each["user"], each["amount"], each["note"]) for each in wanted
    ]

    newest = Avro(NEWEST, registry=url, topic=source)
    kafka.send(source, (b"k", newest.serialize({"user": "late", "amount": 1, "rate": 1.0, "paid": True})))
    assert app.wait(120) and app.state == "ERROR"
    with pytest.raises(Exception, match="which the task lane can"):
        app.raise_failure()
    app.stop()
    again = start(builder, registry=url, guarantee="at_least_once", lane="native")  # it knows the new one now
    assert len(kafka.read(total, 4)) == 4
    kafka.send(source, (b"k", values[0][:7]))
    assert again.wait(120) and again.state == "ERROR"
    with pytest.raises(Exception, match=r"Deserialising failed for .*it does not fit schema"):
        again.raise_failure()


def test_what_is_not_recognised_is_said(unique: Names, url: str) -> None:
    from caudal.plan.lane import Circumstances, Lane, decide
    from caudal.plan.serdes import with_registry_of

    def said(source: Avro, lane: Lane = Lane.NATIVE, **given: Any) -> str:
        builder = StreamsBuilder("said")
        builder.stream("said", key=String(), value=source).to("out", key=String(), value=Json())
        topology = with_registry_of(builder.build(), url)
        try:
            return decide(topology, lane, Circumstances("at_least_once", **given)).reason
        except PlanError as error:
            return str(error)

    assert "Subject 'said-value' not found" in said(Avro(NEW))
    RegistryClient(url).register("said-value", Avro(NEW).schema or "")
    assert "as asked for" in said(Avro(NEW))
    assert "whose schemas may grow while it runs: lane='native' may read them" in said(Avro(NEW), Lane.AUTO)
    assert "a record of a newer schema would be taken for a bad one" in said(Avro(NEW), on_bad_record="skip")
    assert "has no schema of its own to read with" in said(Avro())
    assert "'list', which is no plain text" in said(Avro(record(("list", {"type": "array", "items": "int"}))))
    assert "has only fields that may be null" in said(Avro(record(("a", ["null", "int"]))))


def test_a_null_where_the_schema_has_none_stops_it(kafka: Kafka, start: Start, unique: Names, url: str) -> None:
    source, target = unique("notes"), unique("texts")
    kafka.create(source, target, partitions=1)
    text = record(("user", "string"))
    Avro(text, registry=url, topic=target)._schema_to_write()
    data = Avro(NEW, registry=url, topic=source).serialize({"user": "a", "amount": 1, "rate": 1.0, "paid": True})
    builder = StreamsBuilder(unique("native-null"))
    orders = builder.stream(source, key=String(), value=Avro(NEW))
    orders.map_values("STRUCT(note AS user)").to(target, value=Avro(text))
    kafka.send(source, ("k", data))
    app = start(builder, registry=url, guarantee="at_least_once", lane="native", wait=False)
    assert app.wait(120) and app.state == "ERROR"
    with pytest.raises(Exception, match=r"Serialising key str and value dict .*expected string"):
        app.raise_failure()
