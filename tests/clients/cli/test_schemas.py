"""`caudal produce --value avro …` and `caudal consume`, which shows decoded what carries a schema's id."""

from __future__ import annotations

import json
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from caudal.registry.client import RegistryClient
from caudal.registry.mock import forget_registry
from caudal.testing import EmbeddedBroker

from .conftest import Caudal

MOCK = "mock://cli"
ORDER = """{"type": "record", "name": "Order", "fields": [
  {"name": "user", "type": "string"},
  {"name": "day", "type": {"type": "int", "logicalType": "date"}},
  {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
  {"name": "raw", "type": "bytes", "default": ""}]}"""
LINE = b'{"user":"ana","day":"2026-01-31","price":"1.50","raw":"AAE="}'


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[RegistryClient]:
    forget_registry(MOCK)
    monkeypatch.setenv("CAUDAL_REGISTRY", MOCK)
    yield RegistryClient(MOCK)
    forget_registry(MOCK)


@pytest.fixture
def topic(broker: EmbeddedBroker) -> str:
    name = f"s-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name)
    return name


@pytest.fixture
def nobody() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_avro_in_and_out(on_broker: Caudal, topic: str, tmp_path: Path, registry: RegistryClient) -> None:
    schema = tmp_path / "order.avsc"
    schema.write_text(ORDER)
    made = on_broker(
        "produce", topic, "--value", "avro", "--value-schema", str(schema), "--key", "avro", "--key-schema", "string",
        "-K", "|", input=b'"k1"|' + LINE + b"\n",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert registry.subjects() == [f"{topic}-key", f"{topic}-value"]
    assert on_broker("consume", topic, "-e").lines == [LINE.decode()]
    assert on_broker("consume", topic, "-e", "-K", "=").lines == ['"k1"=' + LINE.decode()]
    row = json.loads(on_broker("consume", topic, "-e", "-J").out)
    assert (row["key"], row["payload"]["user"], row["payload"]["day"]) == ("k1", "ana", "2026-01-31")
    assert row["value_schema_id"] == registry.latest(f"{topic}-value").id
    assert on_broker("consume", topic, "-e", "-f", "%k/%s").out == '"k1"/' + LINE.decode()
    sizes = on_broker("consume", topic, "-e", "-f", "%S %K", "--raw").out  # as they lie in the topic
    assert on_broker("consume", topic, "-e", "-f", "%S %K").out == sizes
    for raw in (("--value", "raw"), ("--raw",)):
        assert on_broker("consume", topic, "-e", *raw).out.startswith("\x00\x00\x00\x00")
    assert on_broker("consume", topic, "-e", "--value", "avro").lines == [LINE.decode()]


def test_the_other_two_languages(on_broker: Caudal, topic: str) -> None:
    proto = 'syntax = "proto3"; message A { string x = 1; } message B { int64 n = 1; bytes raw = 2; }'
    flags = ("--value", "protobuf", "--value-schema", proto, "--value-message", "B")
    assert on_broker("produce", topic, *flags, input=b'{"n": 5, "raw": "/w=="}\n').code == 0
    assert on_broker("consume", topic, "-e").lines == ['{"n":5,"raw":"/w=="}']
    schema = '{"type": "object", "properties": {"n": {"type": "integer"}}}'
    flags = ("--value", "json-schema", "--value-schema", schema, "--value-subject", "other")
    assert on_broker("produce", topic, *flags, input=b'{"n": 6}\n').code == 0
    assert on_broker("consume", topic, "-e").lines == ['{"n":5,"raw":"/w=="}', '{"n":6}']


def test_a_registered_schema_by_id_and_the_latest(on_broker: Caudal, topic: str, registry: RegistryClient) -> None:
    id = registry.register(f"{topic}-value", '{"type": "long"}').id
    assert on_broker("produce", topic, "--value", "avro", "--value-schema-id", str(id), input=b"1\n").code == 0
    assert on_broker("produce", topic, "--value", "avro", input=b"2\n").code == 0
    assert on_broker("consume", topic, "-e").lines == ["1", "2"]


def test_what_is_not_in_the_wire_format_is_shown_as_before(on_broker: Caudal, topic: str) -> None:
    assert on_broker("produce", topic, input=b"plain\n\x00\x00\x00\x00\x63xyz\n\x00\x00\n").code == 0
    shown = on_broker("consume", topic, "-e")
    assert shown.lines == ["plain", "\x00\x00\x00\x00cxyz", "\x00\x00"]
    assert shown.err == ""
    strict = on_broker("consume", topic, "-e", "--value", "avro")
    assert strict.code == 1
    assert "offset 0 of" in strict.err and "is not in the registry's wire format" in strict.err


def test_without_a_registry_there_is_one_note(
    on_broker: Caudal, topic: str, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert on_broker("produce", topic, input=b"\x00\x00\x00\x00\x01a\n\x00\x00\x00\x00\x02b\nplain\n").code == 0
    asked: list[str] = []
    real = RegistryClient._ask_one

    def ask_one(client: RegistryClient, address: object, method: str, path: str, *rest: object) -> object:
        asked.append(path)
        return real(client, address, method, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(RegistryClient, "_ask_one", ask_one)
    shown = on_broker("consume", topic, "-e", "--registry", nobody)
    assert shown.lines == ["\x00\x00\x00\x00\x01a", "\x00\x00\x00\x00\x02b", "plain"]
    assert len(asked) == 1
    assert (
        shown.err == f"records with schemas are shown as they are: no registry at {nobody}: the connection is refused\n"
    )
    assert on_broker("consume", topic, "-e", "-q", "--registry", nobody).err == ""


@pytest.mark.parametrize(
    ("flags", "line", "code", "said"),
    [
        (("--value", "xml"), b"1", 2, "--value takes avro, json-schema, protobuf, not 'xml'"),
        (("--value-schema", '"long"'), b"1", 2, "need --value avro"),
        (("--value", "avro", "--value-schema", "no.avsc"), b"1", 2, "there is no file 'no.avsc'"),
        (("--value", "avro", "--value-schema", "{"), b"1", 2, "the schema is not JSON"),
        (("--value", "avro", "--value-schema", '"long"', "--value-schema-id", "1"), b"1", 2, "exclude each other"),
        (("--value", "avro", "--value-message", "M"), b"1", 2, "--value-message goes with --value protobuf"),
        (("--value", "avro", "--value-schema", "long"), b"{", 1, "record 1, value: Avro"),
        (("--value", "avro", "--value-schema", "long"), b'"x"', 1, "expected long"),
        (("--value", "avro"), b"1", 1, "not found"),
        (("--value", "avro", "--value-schema-id", "99"), b"1", 1, "99"),
        (("--value", "protobuf", "--value-schema", "message {"), b"1", 1, "the registry at mock://cli says"),
        (("--value", "avro", "--registry", "ftp://x"), b"1", 2, "is not a registry's address"),
        (("--value", "avro", "--value-schema", "long", "--registry", "NOBODY"), b"1", 1, "no registry at http://127"),
    ],
)
def test_wrong_input_is_one_line(
    on_broker: Caudal, topic: str, nobody: str, flags: tuple[str, ...], line: bytes, code: int, said: str
) -> None:
    given = [nobody if flag == "NOBODY" else flag for flag in flags]
    outcome = on_broker("produce", topic, *given, input=line + b"\n")
    assert (outcome.code, len(outcome.err.splitlines())) == (code, 1), outcome.err
    assert said in outcome.err
    assert on_broker("consume", topic, "-e", "--raw").out == ""


def test_consume_refuses_what_it_does_not_know(on_broker: Caudal, topic: str) -> None:
    outcome = on_broker("consume", topic, "-e", "--value", "xml")
    assert outcome.code == 2 and "--value takes auto, raw, avro, json-schema, protobuf, not 'xml'" in outcome.err
