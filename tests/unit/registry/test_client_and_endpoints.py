"""The client against the registry's own endpoints (mock://): each question is understood, each answer is read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caudal.registry.client import RegistryClient, RegistryError
from caudal.registry.mock import forget_registry
from caudal.registry.schemas.schema import Reference

MOCK = "mock://endpoints"
OLD = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
NEW = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":0}]}'
BAD = '{"type":"record","name":"R","fields":[{"name":"c","type":"string"}]}'


@pytest.fixture
def client() -> Iterator[RegistryClient]:
    forget_registry(MOCK)
    yield RegistryClient(MOCK)
    forget_registry(MOCK)


def test_life_of_a_subject(client: RegistryClient) -> None:
    assert client.answers() and client.types() == ["AVRO", "JSON", "PROTOBUF"]
    first = client.register("s", OLD)
    assert client.register("s", OLD).id == first.id
    second = client.register("s", NEW, metadata={"properties": {"owner": "ana"}})
    assert client.versions("s") == [1, 2] and client.subjects() == ["s"]
    assert client.schema(first.id).text == client.version("s", 1).text == OLD
    assert client.latest("s").metadata == {"properties": {"owner": "ana"}}
    assert client.latest_with_metadata("s", {"owner": "ana"}).id == second.id
    assert client.lookup("s", OLD).version == 1
    assert client.versions_of_id(first.id) == [("s", 1)] and client.subjects_of_id(first.id) == ["s"]
    assert [each.version for each in client.schemas("s")] == [1, 2]
    assert client.delete_version("s", 1) == 1
    with pytest.raises(RegistryError) as caught:
        client.version("s", 1)
    assert caught.value.code in (40402, 40406)
    assert client.version("s", 1, deleted=True).text == OLD
    assert client.versions("s", deleted=True) == [1, 2]
    assert client.delete_subject("s") == [2]
    assert client.subjects() == [] and client.subjects(deleted=True) == ["s"]
    assert client.delete_subject("s", permanent=True) == [1, 2]
    assert client.subjects(deleted=True) == []


def test_compatibility_config_and_mode(client: RegistryClient) -> None:
    client.register("s", OLD)
    refused = client.check("s", BAD, version="latest")
    assert not refused.compatible and any("c" in message for message in refused.messages)
    assert client.check("s", NEW).compatible
    with pytest.raises(RegistryError) as caught:
        client.register("s", BAD)
    assert caught.value.status == 409
    assert client.config()["compatibilityLevel"] == "BACKWARD"
    client.set_config("s", compatibility="NONE")
    assert client.config("s")["compatibilityLevel"] == "NONE"
    client.register("s", BAD)
    client.delete_config("s")
    with pytest.raises(RegistryError) as caught:
        client.config("s")
    assert caught.value.status == 404
    assert client.config("s", default_to_global=True)["compatibilityLevel"] == "BACKWARD"
    assert client.set_mode("READONLY", "s") == client.mode("s") == "READONLY"
    with pytest.raises(RegistryError) as caught:
        client.register("s", OLD.replace("R", "Q"))
    assert caught.value.code == 42205
    client.delete_mode("s")
    assert client.mode("s", default_to_global=True) == "READWRITE"


def test_references_contexts_and_search(client: RegistryClient) -> None:
    client.register("inner", '{"type":"record","name":"Inner","fields":[{"name":"city","type":"string"}]}')
    outer = '{"type":"record","name":"Outer","fields":[{"name":"home","type":"Inner"}]}'
    id = client.register("outer", outer, references=[Reference("Inner", "inner", 1)]).id
    assert client.referenced_by("inner", 1) == [id]
    with pytest.raises(RegistryError) as caught:
        client.delete_version("inner", 1)
        client.delete_version("inner", 1, permanent=True)
    assert caught.value.code == 42206
    in_context = client.register(":.eu:s", OLD)
    assert client.schema(in_context.id, subject=":.eu:s").text == OLD
    assert client.contexts() == [".", ".eu"]
    assert "outer" in str(client.search("home")) and "inner" in str(client.search("city", type="AVRO", limit=5))
    proto = 'syntax = "proto3"; message M { string x = 1; }'
    number = client.register("p", proto, "PROTOBUF").id
    assert client.schema(number, format="serialized").text != client.schema(number).text
