"""`caudal schema` and the broker's check against the real registry."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from caudal.cli.main import main
from caudal.testing import EmbeddedBroker, embedded_broker
from tests.registry.running_registry import running_registry


class Outcome(NamedTuple):
    code: Any
    out: str
    err: str


Schema = Callable[..., Outcome]


class Platform(NamedTuple):
    broker: EmbeddedBroker
    registry: str


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with socket.socket() as free:  # the broker is told the registry's address before there is a registry
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with embedded_broker({"confluent.schema.registry.url": url}) as broker, running_registry(broker.bootstrap, port):
        yield Platform(broker, url)


@pytest.fixture
def schema(platform: Platform, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Schema:
    monkeypatch.setenv("CAUDAL_REGISTRY", platform.registry)

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(["schema", *arguments])
        return Outcome(left.value.code, *capsys.readouterr())

    return run


def avro(folder: Path, file_name: str, *fields: dict[str, Any], name: str = "Order") -> str:
    file = folder / f"{file_name}.avsc"
    file.write_text(json.dumps({"type": "record", "name": name, "fields": list(fields)}))
    return str(file)


ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string", "default": "", "doc": "what the shopper wrote", "confluent:tags": ["PII"]}


def test_list_shows_versions_language_and_level(schema: Schema, tmp_path: Path) -> None:
    schema("register", "list-a", avro(tmp_path, "one", ID))
    schema("register", "list-a", avro(tmp_path, "two", ID, NOTE))
    schema("register", "list-b", avro(tmp_path, "one", ID))
    schema("compat", "list-b", "FULL")
    schema("delete", "list-a@1", "--yes")
    rows = json.loads(schema("list", "list-", "--json").out)
    assert [(row["subject"], row["versions"], row["type"], row["level"]) for row in rows] == [
        ("list-a", [2], "AVRO", "BACKWARD"),
        ("list-b", [1], "AVRO", "FULL"),
    ]
    shown = schema("list", "list-", "--deleted").out.splitlines()
    assert shown[0].split() == ["SUBJECT", "VERSIONS", "LATEST", "ID", "TYPE", "LEVEL"]
    assert shown[1].startswith("list-a   2 (deleted: 1)")
    assert schema("list", "no-such-").err.startswith("no subjects;")


def test_delete_in_one_step_and_in_two(schema: Schema, tmp_path: Path) -> None:
    file = avro(tmp_path, "one", ID)
    schema("register", "gone", file)
    assert schema("delete", "gone", "--yes").out == "deleted: gone version 1\n"
    again = schema("delete", "gone", "--yes")
    assert (again.code, again.err) == (
        1,
        "caudal: gone with all its versions is deleted already; --permanent deletes it for ever\n",
    )
    assert schema("delete", "gone", "--permanent", "--yes").out == "deleted for ever: gone version 1\n"
    schema("register", "gone", file)
    answer = json.loads(schema("delete", "gone@latest", "--permanent", "--yes", "--json").out)
    assert answer == {"subject": "gone", "versions": [1], "permanent": True}
    missing = schema("delete", "gone", "--yes")
    assert (missing.code, len(missing.err.splitlines())) == (4, 1)


def test_a_schema_in_use_is_not_deleted(schema: Schema, tmp_path: Path) -> None:
    schema("register", "used", avro(tmp_path, "one", ID))
    basket = tmp_path / "basket.avsc"
    basket.write_text(json.dumps({"type": "record", "name": "Basket", "fields": [{"name": "o", "type": "Order"}]}))
    assert schema("register", "basket", str(basket), "-R", "Order=used:1").code == 0
    refused = schema("delete", "used", "--permanent", "--yes")
    assert refused.code == 1
    assert "references exist to the schema used" in refused.err
    compared = schema("diff", "basket", "1", str(basket))
    assert "BACKWARD" in compared.out
    assert compared.out.count(": yes") == 2
    unknown = schema("register", "basket", str(basket), "-R", "Order=nobody:1")
    assert unknown.code == 1
    assert "nobody" in unknown.err


def test_level_and_mode_are_set_and_reset(schema: Schema, tmp_path: Path) -> None:
    file = avro(tmp_path, "one", ID)
    schema("register", "moody", file)
    assert schema("compat", "moody").out == "level of moody: BACKWARD (that of all)\n"
    assert schema("compat", "moody", "full_transitive").out == "level of moody: FULL_TRANSITIVE\n"
    assert schema("compat", "moody", "--reset").out == "level of moody: BACKWARD (that of all)\n"
    assert schema("compat", "moody", "--reset").code == 0, "twice is no error"
    assert schema("mode", "moody", "readonly").out == "mode of moody: READONLY\n"
    refused = schema("register", "moody", avro(tmp_path, "two", ID, NOTE))
    assert refused.code == 1
    assert "read-only" in refused.err
    assert schema("mode", "moody", "--reset").out == "mode of moody: READWRITE (that of all)\n"
    assert schema("mode").out == "mode of all: READWRITE\n"
    assert json.loads(schema("mode", "moody", "--json").out) == {"subject": "moody", "mode": "READWRITE", "own": False}


def test_search(schema: Schema, tmp_path: Path) -> None:
    schema("register", "searched-value", avro(tmp_path, "two", ID, NOTE, name="Parcel"))
    rows = json.loads(schema("search", "shopper", "wrote", "--json").out)
    assert "searched-value" in {row["subject"] for row in rows}
    assert "searched-value        1" in schema("search", "parcel").out
    assert "tag note" in schema("search", "--tag", "PII", "--type", "avro").out
    assert schema("search", "nothing-has-this").err == "nothing found\n"
    assert schema("search", "x", "--type", "xml").code == 1


@pytest.mark.parametrize(
    ("suffix", "one", "two", "rule"),
    [
        (
            "json",
            '{"type": "object", "title": "Order", "properties": {"id": {"type": "integer"}}}',
            '{"type": "object", "title": "Order", "properties": {"id": {"type": "string"}}}',
            "TYPE_CHANGED",
        ),
        (
            "proto",
            'syntax = "proto3"; package shop; message Order { int64 id = 1; }',
            'syntax = "proto3"; package shop; message Order { string id = 1; }',
            "FIELD_SCALAR_KIND_CHANGED",
        ),
    ],
)
def test_the_other_languages(schema: Schema, tmp_path: Path, suffix: str, one: str, two: str, rule: str) -> None:
    first, second = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
    first.write_text(one)
    second.write_text(two)
    subject = f"{suffix}-value"
    assert schema("register", subject, str(first)).code == 0
    assert (
        json.loads(schema("show", subject, "--json").out)["schemaType"] == {"json": "JSON", "proto": "PROTOBUF"}[suffix]
    )
    refused = schema("check", subject, str(second))
    assert refused.code == 1
    assert rule in refused.out
    compared = schema("diff", subject, "1", str(second))
    assert (compared.code, compared.out.count(": no")) == (0, 2)
    assert rule in compared.out
    assert subject in schema("search", "order", "--type", "protobuf" if suffix == "proto" else suffix).out


def test_contexts_are_part_of_the_name(schema: Schema, tmp_path: Path) -> None:
    schema("register", ":.team:ctx-value", avro(tmp_path, "one", ID))
    assert [row["subject"] for row in json.loads(schema("list", ":.team:", "--json").out)] == [":.team:ctx-value"]
    assert schema("show", ":.team:ctx-value@1").code == 0


def test_the_broker_checks_what_confluents_serialiser_writes(
    platform: Platform, schema: Schema, tmp_path: Path
) -> None:
    platform.broker.create_topic("checked", 1, {"confluent.value.schema.validation": "true"})
    client = SchemaRegistryClient({"url": platform.registry})
    one = json.dumps({"type": "record", "name": "Order", "fields": [ID]})
    two = json.dumps({"type": "record", "name": "Order", "fields": [ID, NOTE]})
    mine = AvroSerializer(client, one)({"id": 7}, SerializationContext("checked", MessageField.VALUE))
    foreign = AvroSerializer(client, two)({"id": 7}, SerializationContext("elsewhere", MessageField.VALUE))
    producer = Producer({"bootstrap.servers": platform.broker.bootstrap})

    def send(value: bytes) -> int | None:
        reports: list[KafkaError | None] = []
        producer.produce("checked", value, on_delivery=lambda error, _: reports.append(error))
        assert producer.flush(30) == 0
        return reports[0].code() if reports[0] is not None else None

    assert send(mine) is None
    assert send(b"plain") == KafkaError.INVALID_RECORD
    assert send(foreign) == KafkaError.INVALID_RECORD, "registered, but under the subject of another topic"
    (tmp_path / "two.avsc").write_text(two)
    assert schema("register", "checked-value", str(tmp_path / "two.avsc")).code == 0
    # What was not registered is remembered for a second.
    deadline = time.monotonic() + 30
    while (answer := send(foreign)) is not None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert answer is None
