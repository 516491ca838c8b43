"""What the client process of `caudal bench registry` does: fill topics with schemas, and ask over HTTP.

Schemas are made as teams have them: a record of a dozen fields, one more field with each version. HTTP clients keep
their connections open and ask one question at a time each.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

from caudal.bench.http_load import drive
from caudal.bench.workloads import STALL_TIMEOUT, Deliveries, bulk_producer, produce_bulk, workload
from caudal.registry import records
from caudal.registry.index import digest_of
from caudal.registry.records import CONFIG, Key, SchemaValue

FIELDS = 12
LEVEL = "BACKWARD_TRANSITIVE"
KIND = "application/vnd.schemaregistry.v1+json"


def avro(name: str, versions: int = 0) -> str:
    fields: list[dict[str, Any]] = [
        {"name": f"field_{number}", "type": ["null", "string"], "default": None, "doc": f"what field {number} says"}
        for number in range(FIELDS)
    ]
    fields += [{"name": f"later_{number}", "type": "long", "default": 0} for number in range(versions)]
    schema = {"type": "record", "name": name, "namespace": "bench", "fields": fields}
    return json.dumps(schema, separators=(",", ":"))


def json_schema(name: str, versions: int = 0) -> str:
    properties: dict[str, Any] = {f"field_{number}": {"type": "string"} for number in range(FIELDS)}
    properties |= {f"later_{number}": {"type": "integer"} for number in range(versions)}
    schema = {"title": name, "type": "object", "properties": properties, "additionalProperties": False}
    return json.dumps(schema, separators=(",", ":"))


def protobuf(name: str, versions: int = 0) -> str:
    lines = [f"  string field_{number} = {number + 1};" for number in range(FIELDS)]
    lines += [f"  int64 later_{number} = {FIELDS + number + 1};" for number in range(versions)]
    return "\n".join(['syntax = "proto3";', "package bench;", "", f"message {name} {{", *lines, "}", ""])


LANGUAGES = {"AVRO": avro, "JSON": json_schema, "PROTOBUF": protobuf}


@workload
def fill_subjects(port: int, topic: str, subjects: int) -> dict[str, Any]:
    """As many subjects with one Avro schema each."""
    rows = [("AVRO", f"subject-{number}-value", 1, avro(f"Record{number}")) for number in range(subjects)]
    return _fill(port, topic, rows)


@workload
def fill_versions(port: int, topic: str, versions: int) -> dict[str, Any]:
    """A subject with as many versions in each language."""
    rows = [
        (language, language.lower(), number + 1, make("Evolving", number))
        for language, make in LANGUAGES.items()
        for number in range(versions)
    ]
    return _fill(port, topic, rows)


def _fill(port: int, topic: str, rows: Sequence[tuple[str, str, int, str]]) -> dict[str, Any]:
    deliveries = Deliveries()
    producer = bulk_producer(port, "all", deliveries)
    messages = []
    for id_, (language, subject, version, text) in enumerate(rows, 1):
        value = SchemaValue(subject, version, id_, language, text, (), None, None, deleted=False)
        key, data = records.encode_schema(value, digest_of(text, (), None, None))
        messages.append({"key": key, "value": data, "partition": 0})
    key, data = records.encode(Key(CONFIG), {"compatibilityLevel": LEVEL})
    messages.append({"key": key, "value": data, "partition": 0})
    produce_bulk(producer, topic, len(messages), messages)
    deliveries.check(producer.flush(STALL_TIMEOUT))
    return {}


@workload
def ask(http_port: int, requests: list[list[str]], connections: int, seconds: float) -> dict[str, Any]:
    """`requests` are method, path and body; they go round, as fast as answers come."""
    host = f"127.0.0.1:{http_port}"
    packets = itertools.cycle([_packet(host, *request) for request in requests])
    return drive(http_port, lambda: next(packets), connections, seconds)


def _packet(host: str, method: str, path: str, body: str) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAccept: {KIND}\r\n"
    data = body.encode()
    if method == "POST":
        head += f"Content-Type: {KIND}\r\nContent-Length: {len(data)}\r\n"
    return head.encode() + b"\r\n" + data
