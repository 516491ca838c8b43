"""confluent-kafka's SchemaRegistryClient and its serialisers as judges of the registry."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    ConfigCompatibilityLevel,
    Metadata,
    MetadataProperties,
    MetadataTags,
    Rule,
    RuleKind,
    RuleMode,
    RuleSet,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    ServerConfig,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.registry.process import RegistryProcess

AVRO_1 = json.dumps({"type": "record", "name": "User", "fields": [{"name": "id", "type": "int"}]})
AVRO_2 = json.dumps(
    {
        "type": "record",
        "name": "User",
        "fields": [{"name": "id", "type": "long"}, {"name": "city", "type": "string", "default": "Vigo"}],
    }
)
AVRO_BAD = json.dumps({"type": "record", "name": "User", "fields": [{"name": "id", "type": "string"}]})


def json_schema(**properties: Any) -> str:
    return json.dumps(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "User",
            "type": "object",
            "properties": properties,
            "required": ["id"],
            "additionalProperties": False,
        }
    )


JSON_1 = json_schema(id={"type": "integer"})
JSON_2 = json_schema(id={"type": "integer"}, city={"type": "string"})
JSON_BAD = json_schema(id={"type": "string"})
PROTO_1 = 'syntax = "proto3";\nmessage User {\n  int32 id = 1;\n}\n'
PROTO_2 = 'syntax = "proto3";\nmessage User {\n  int32 id = 1;\n  string city = 2;\n}\n'
PROTO_BAD = 'syntax = "proto3";\nmessage User {\n  string id = 1;\n}\n'
LANGUAGES = {
    "AVRO": (AVRO_1, AVRO_2, AVRO_BAD),
    "JSON": (JSON_1, JSON_2, JSON_BAD),
    "PROTOBUF": (PROTO_1, PROTO_2, PROTO_BAD),
}
LANGUAGE_REASON = {"AVRO": "TYPE_MISMATCH", "JSON": "TYPE_CHANGED", "PROTOBUF": "FIELD_SCALAR_KIND_CHANGED"}


@pytest.fixture(scope="module")
def client(registry: RegistryProcess) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": registry.url})


@pytest.fixture
def subject() -> str:
    return f"s-{uuid.uuid4().hex}"


@pytest.fixture(params=sorted(LANGUAGES))
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def schemas(language: str) -> tuple[Schema, Schema, Schema]:
    first, second, bad = (Schema(text, language) for text in LANGUAGES[language])
    return first, second, bad


def fresh(registry: RegistryProcess) -> SchemaRegistryClient:
    """A client without a cache."""
    return SchemaRegistryClient({"url": registry.url})


def code_of(error: pytest.ExceptionInfo[SchemaRegistryError]) -> int:
    return int(error.value.error_code)


# ---------------------------------------------------------------------- the client


def test_register_and_read(registry: RegistryProcess, subject: str, language: str) -> None:
    client = fresh(registry)
    first, second, _ = schemas(language)
    one = client.register_schema(subject, first)
    assert client.register_schema(subject, first) == one
    two = client.register_schema(subject, second)
    assert two > one
    reader = fresh(registry)
    assert reader.get_schema(one).schema_type == language
    assert reader.lookup_schema(subject, first).version == 1
    latest = reader.get_latest_version(subject)
    assert (latest.version, latest.schema_id, latest.subject) == (2, two, subject)
    assert latest.schema.schema_str == reader.get_schema(two).schema_str
    assert reader.get_version(subject, 1).schema_id == one
    assert reader.get_versions(subject) == [1, 2]
    assert subject in reader.get_subjects()
    assert reader.get_subjects(subject_prefix=subject) == [subject]
    full = fresh(registry).register_schema_full_response(subject, first)
    assert (full.schema_id, full.version) == (one, 1)
    assert fresh(registry).get_schema_by_guid(full.guid).schema_str == fresh(registry).get_schema(one).schema_str
    assert reader.get_subjects_by_schema_id(one)[0] == subject or subject in reader.get_subjects_by_schema_id(one)
    assert any(row.subject == subject for row in reader.get_schema_versions(one))
    # What is shown can be registered again, and is the same.
    again = fresh(registry).register_schema(subject, latest.schema)
    assert again == two


def test_incompatible_and_invalid(registry: RegistryProcess, subject: str, language: str) -> None:
    client = fresh(registry)
    first, second, bad = schemas(language)
    client.register_schema(subject, first)
    assert client.test_compatibility(subject, second)
    assert not client.test_compatibility(subject, bad)
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(subject, bad)
    assert (refused.value.http_status_code, code_of(refused)) == (409, 409)
    assert LANGUAGE_REASON[language] in str(refused.value)
    with pytest.raises(SchemaRegistryError) as invalid:
        client.register_schema(subject, Schema("{ this is nothing", language))
    assert (invalid.value.http_status_code, code_of(invalid)) == (422, 42201)


def test_levels(client: SchemaRegistryClient, subject: str) -> None:
    assert client.get_compatibility() == "BACKWARD"
    with pytest.raises(SchemaRegistryError) as missing:
        client.get_compatibility(subject)
    assert code_of(missing) == 40408
    assert client.set_compatibility(subject, "FULL_TRANSITIVE") == {"compatibility": "FULL_TRANSITIVE"}
    assert client.get_compatibility(subject) == "FULL_TRANSITIVE"
    with pytest.raises(SchemaRegistryError) as wrong:
        client.set_compatibility(subject, "SOMETIMES")
    assert code_of(wrong) == 42203
    client.set_config(subject, ServerConfig(ConfigCompatibilityLevel.NONE, compatibility_group="major"))
    config = client.get_config(subject)
    assert (config.compatibility_level, config.compatibility_group) == ("NONE", "major")
    assert client.delete_config(subject).compatibility_level == "NONE"


def test_delete(registry: RegistryProcess, subject: str, language: str) -> None:
    client = fresh(registry)
    first, second, _ = schemas(language)
    one = client.register_schema(subject, first)
    client.register_schema(subject, second)
    assert client.delete_version(subject, 1) == 1
    assert client.get_versions(subject) == [2]
    assert client.get_versions(subject, deleted=True) == [1, 2]
    assert client.get_version(subject, 1, deleted=True).schema_id == one
    assert client.delete_version(subject, 1, permanent=True) == 1
    assert client.delete_subject(subject) == [2]
    assert subject not in client.get_subjects()
    assert subject in client.get_subjects(deleted=True)
    assert subject in client.get_subjects(deleted_only=True)
    with pytest.raises(SchemaRegistryError) as gone:
        fresh(registry).get_latest_version(subject)
    assert code_of(gone) == 40401
    with pytest.raises(SchemaRegistryError) as twice:
        client.delete_subject(subject)
    assert code_of(twice) == 40404
    with pytest.raises(SchemaRegistryError) as early:
        fresh(registry).register_schema(subject, second)
        client.delete_subject(subject, permanent=True)
    assert code_of(early) == 40405
    assert client.delete_subject(subject) == [3]
    assert client.delete_subject(subject, permanent=True) == [3]
    assert subject not in client.get_subjects(deleted=True)


def test_modes(registry: RegistryProcess, subject: str) -> None:
    client = fresh(registry)
    assert client.get_global_mode() == "READWRITE"
    assert client.update_mode(subject, "READONLY") == "READONLY"
    assert client.get_mode(subject) == "READONLY"
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(subject, Schema(AVRO_1, "AVRO"))
    assert (refused.value.http_status_code, code_of(refused)) == (422, 42205)
    assert client.delete_mode(subject) == "READONLY"
    with pytest.raises(SchemaRegistryError) as missing:
        client.get_mode(subject)
    assert code_of(missing) == 40409
    with pytest.raises(SchemaRegistryError) as wrong:
        client.update_mode(subject, "SOMETIMES")
    assert code_of(wrong) == 42204
    assert client.register_schema(subject, Schema(AVRO_1, "AVRO"))


def test_contexts(registry: RegistryProcess, subject: str) -> None:
    client = fresh(registry)
    name = f":.team:{subject}"
    id_ = client.register_schema(name, Schema(AVRO_1, "AVRO"))
    assert ".team" in client.get_contexts()
    assert client.get_schema(id_, name).schema_str
    assert fresh(registry).get_latest_version(name).subject == name
    assert client.get_subjects(subject_prefix=":.team:") == [name]


def test_metadata_and_rules(registry: RegistryProcess, subject: str) -> None:
    client = fresh(registry)
    metadata = Metadata(
        MetadataTags({"User.id": ["PII"]}), MetadataProperties({"owner": "ana", "major": "1"}), ["owner"]
    )
    rule = Rule("check", "", RuleKind.CONDITION, RuleMode.WRITE, "CEL", None, None, "message.id > 0", None, None, False)
    rules = RuleSet(None, [rule])
    plain = client.register_schema(subject, Schema(AVRO_1, "AVRO"))
    ruled = client.register_schema(subject, Schema(AVRO_1, "AVRO", [], metadata, rules))
    assert ruled != plain
    shown = fresh(registry).get_schema(ruled)
    assert shown.metadata.properties.properties == {"owner": "ana", "major": "1"}
    assert shown.metadata.tags.tags == {"User.id": ["PII"]}
    assert shown.rule_set.domain_rules[0].expr == "message.id > 0"
    assert shown.rule_set.domain_rules[0].mode == RuleMode.WRITE
    assert fresh(registry).get_latest_with_metadata(subject, {"major": "1"}).schema_id == ruled
    assert fresh(registry).register_schema(subject, Schema(AVRO_1, "AVRO", [], metadata, rules)) == ruled


def test_unknown_things(registry: RegistryProcess, subject: str) -> None:
    client = fresh(registry)
    calls: tuple[tuple[Callable[[], Any], int], ...] = (
        (lambda: client.get_schema(999_999), 40403),
        (lambda: client.get_schema_by_guid(str(uuid.uuid4())), 40403),
        (lambda: client.get_latest_version(subject), 40401),
        (lambda: client.get_versions(subject), 40401),
        (lambda: client.lookup_schema(subject, Schema(AVRO_1, "AVRO")), 40401),
        (lambda: client.delete_subject(subject), 40401),
        (lambda: client.get_version(subject, "first"), 42202),
    )
    for call, expected in calls:
        with pytest.raises(SchemaRegistryError) as error:
            call()
        assert code_of(error) == expected


def test_types(client: SchemaRegistryClient) -> None:
    assert client.get_schema_types() == ["AVRO", "JSON", "PROTOBUF"]


def test_subjects_with_strange_names(client: SchemaRegistryClient) -> None:
    name = f"a/b ñ%{uuid.uuid4().hex}?#日本"
    id_ = client.register_schema(name, Schema(AVRO_1, "AVRO"))
    assert client.get_latest_version(name).schema_id == id_
    assert name in client.get_subjects()
    assert client.delete_subject(name) == [1]


# ---------------------------------------------------------------------- serialisers


def there_and_back(serialize: Any, deserialize: Any, value: Any, topic: str) -> Any:
    context = SerializationContext(topic, MessageField.VALUE)
    data = serialize(value, context)
    assert data[0] == 0
    return deserialize(data, context)


def test_avro_serialiser_and_evolution(registry: RegistryProcess, subject: str) -> None:
    old = AvroSerializer(fresh(registry), AVRO_1)
    new = AvroSerializer(fresh(registry), AVRO_2)
    context = SerializationContext(subject, MessageField.VALUE)
    first, second = old({"id": 7}, context), new({"id": 8, "city": "Lugo"}, context)
    assert first is not None
    assert second is not None
    reader = AvroDeserializer(fresh(registry), AVRO_2)
    assert reader(first, context) == {"id": 7, "city": "Vigo"}
    assert reader(second, context) == {"id": 8, "city": "Lugo"}
    assert AvroDeserializer(fresh(registry))(first, context) == {"id": 7}
    with pytest.raises(Exception, match="409"):
        AvroSerializer(fresh(registry), AVRO_BAD)({"id": "x"}, context)


def test_avro_with_a_reference(registry: RegistryProcess, subject: str) -> None:
    client = fresh(registry)
    inner = {"type": "record", "name": "Address", "namespace": "x", "fields": [{"name": "city", "type": "string"}]}
    client.register_schema(f"{subject}-address", Schema(json.dumps(inner), "AVRO"))
    outer = {"type": "record", "name": "Person", "namespace": "x", "fields": [{"name": "home", "type": "x.Address"}]}
    references = [SchemaReference("x.Address", f"{subject}-address", 1)]
    schema = Schema(json.dumps(outer), "AVRO", references)
    value = {"home": {"city": "Vigo"}}
    result = there_and_back(AvroSerializer(client, schema), AvroDeserializer(fresh(registry)), value, subject)
    assert result == value
    assert client.get_referenced_by(f"{subject}-address", 1) == [
        client.get_latest_version(f"{subject}-value").schema_id
    ]
    with pytest.raises(SchemaRegistryError) as refused:
        client.delete_subject(f"{subject}-address")
    assert code_of(refused) == 42206


def test_avro_of_the_latest_version(registry: RegistryProcess, subject: str) -> None:
    client = fresh(registry)
    client.register_schema(f"{subject}-value", Schema(AVRO_1, "AVRO"))
    settings = {"auto.register.schemas": False, "use.latest.version": True}
    serializer = AvroSerializer(client, AVRO_1, conf=settings)
    assert there_and_back(serializer, AvroDeserializer(fresh(registry)), {"id": 1}, subject) == {"id": 1}
    strict = AvroSerializer(fresh(registry), AVRO_1, conf={"auto.register.schemas": False})
    assert there_and_back(strict, AvroDeserializer(fresh(registry)), {"id": 1}, subject) == {"id": 1}
    normal = AvroSerializer(fresh(registry), AVRO_1, conf={"normalize.schemas": True})
    assert there_and_back(normal, AvroDeserializer(fresh(registry)), {"id": 1}, subject) == {"id": 1}


def test_json_serialiser_and_evolution(registry: RegistryProcess, subject: str) -> None:
    old = JSONSerializer(JSON_1, fresh(registry))
    new = JSONSerializer(JSON_2, fresh(registry))
    context = SerializationContext(subject, MessageField.VALUE)
    first, second = old({"id": 7}, context), new({"id": 8, "city": "Lugo"}, context)
    assert first is not None
    assert second is not None
    reader = JSONDeserializer(JSON_2, schema_registry_client=fresh(registry))
    assert reader(first, context) == {"id": 7}
    assert reader(second, context) == {"id": 8, "city": "Lugo"}
    assert JSONDeserializer(None, schema_registry_client=fresh(registry))(second, context) == {"id": 8, "city": "Lugo"}
    with pytest.raises(Exception, match="409"):
        JSONSerializer(JSON_BAD, fresh(registry))({"id": "x"}, context)


def test_json_with_a_reference(registry: RegistryProcess, subject: str) -> None:
    client = fresh(registry)
    inner = {"type": "object", "properties": {"city": {"type": "string"}}}
    client.register_schema(f"{subject}-address", Schema(json.dumps(inner), "JSON"))
    outer = {"type": "object", "title": "Person", "properties": {"home": {"$ref": "http://x/address.json"}}}
    references = [SchemaReference("http://x/address.json", f"{subject}-address", 1)]
    serializer = JSONSerializer(Schema(json.dumps(outer), "JSON", references), client)
    deserializer = JSONDeserializer(None, schema_registry_client=fresh(registry))
    value = {"home": {"city": "Vigo"}}
    assert there_and_back(serializer, deserializer, value, subject) == value


def message_class(name: str, fields: dict[str, int], file: str, imports: tuple[str, ...] = (), pool: Any = None) -> Any:
    """A Protobuf message of strings and int32 (fields named id) without a compiler; `x.Name` is another message."""
    proto = descriptor_pb2.FileDescriptorProto(name=file, package="x", syntax="proto3", dependency=imports)
    message = proto.message_type.add(name=name)
    for number, (field, kind) in enumerate(fields.items(), 1):
        added = message.field.add(name=field, number=number, type=kind, label=1)
        if kind == descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE:
            added.type_name = f".x.{field.capitalize()}"
    pool = pool or descriptor_pool.DescriptorPool()
    pool.Add(proto)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"x.{name}"))


INT, STRING, MESSAGE = 5, 9, 11


def test_protobuf_serialiser_and_evolution(registry: RegistryProcess, subject: str) -> None:
    old_class = message_class("User", {"id": INT}, "user.proto")
    new_class = message_class("User", {"id": INT, "city": STRING}, "user.proto")
    context = SerializationContext(subject, MessageField.VALUE)
    settings = {"use.deprecated.format": False}
    first = ProtobufSerializer(old_class, fresh(registry), settings)(old_class(id=7), context)
    second = ProtobufSerializer(new_class, fresh(registry), settings)(new_class(id=8, city="Lugo"), context)
    reader = ProtobufDeserializer(new_class, settings, fresh(registry))
    assert reader(first, context) == new_class(id=7)
    assert reader(second, context) == new_class(id=8, city="Lugo")
    assert "int32 id" in fresh(registry).get_latest_version(f"{subject}-value").schema.schema_str
    bad_class = message_class("User", {"id": STRING}, "user.proto")
    with pytest.raises(Exception, match="409"):
        ProtobufSerializer(bad_class, fresh(registry), settings)(bad_class(id="x"), context)


def test_protobuf_with_an_import(registry: RegistryProcess, subject: str) -> None:
    pool = descriptor_pool.DescriptorPool()
    address = message_class("Address", {"city": STRING}, f"{subject}/address.proto", pool=pool)
    person = message_class(
        "Person", {"address": MESSAGE}, f"{subject}/person.proto", (f"{subject}/address.proto",), pool
    )
    value = person(address=address(city="Vigo"))
    settings = {"use.deprecated.format": False}
    client = fresh(registry)
    serializer = ProtobufSerializer(person, client, settings)
    deserializer = ProtobufDeserializer(person, settings, fresh(registry))
    assert there_and_back(serializer, deserializer, value, subject) == value
    latest = client.get_latest_version(f"{subject}-value")
    assert [reference.name for reference in latest.schema.references] == [f"{subject}/address.proto"]
    reference = latest.schema.references[0]
    assert client.get_referenced_by(reference.subject, reference.version) == [latest.schema_id]
