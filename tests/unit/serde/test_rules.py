"""Rules with values: what each type does on writing and on reading, and what is said when one fails or is broken."""

from __future__ import annotations

import datetime
import json
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader

from caudal.registry.client import RegistryClient
from caudal.registry.mock import forget_registry
from caudal.serde import Avro, SerdeError
from caudal.serde.rules.avro_shape import avro_shape
from caudal.serde.rules.cel import compiled
from caudal.serde.rules.json_shape import json_shape
from caudal.serde.rules.policy import READ, WRITE, rules_of
from caudal.serde.rules.shapes import Shape, walked
from caudal.serde.serde import SchemasUnavailable

MOCK = "mock://rules"
KEY = b64encode(bytes(range(32))).decode()
CUSTOMER: dict[str, Any] = {
    "type": "record",
    "name": "Customer",
    "namespace": "shop",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "age", "type": "int"},
        {"name": "card", "type": ["null", "string"], "default": None, "confluent:tags": ["PII"]},
        {"name": "mails", "type": {"type": "array", "items": "string"}, "default": [], "confluent:tags": ["PII"]},
        {"name": "photo", "type": "bytes", "default": "", "confluent:tags": ["PII"]},
    ],
}
ANA: dict[str, Any] = {
    "name": "ana",
    "age": 30,
    "card": "1234567812345678",
    "mails": ["a@x.es", "b@x.es"],
    "photo": b"\1\2",
}


@pytest.fixture(autouse=True)
def registry() -> Iterator[RegistryClient]:
    forget_registry(MOCK)
    yield RegistryClient(MOCK)
    forget_registry(MOCK)


def rule(name: str, type: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "TRANSFORM", "mode": "WRITEREAD", "type": type, **more}


def customers(registry: RegistryClient, *rules: dict[str, Any], metadata: Any = None, **settings: Any) -> Avro:
    """A serde whose schema has these rules."""
    text = json.dumps(CUSTOMER)
    registry.register("customers-value", text, rule_set={"domainRules": list(rules)}, metadata=metadata)
    return Avro(use_latest_version=True, registry=MOCK, topic="customers", **settings)


def written(serde: Avro, value: Any) -> Any:
    """What lies in the topic: the record without the rules of reading."""
    return schemaless_reader(BytesIO(serde.serialize(value)[5:]), parse_schema(CUSTOMER), None)


def test_a_condition_must_hold(registry: RegistryClient) -> None:
    adult = rule("adult", "CEL", kind="CONDITION", mode="WRITE", expr="message.age >= 18")
    serde = customers(registry, adult)
    assert serde.deserialize(serde.serialize(ANA)) == ANA
    with pytest.raises(SerdeError, match=r"The rule 'adult' refuses the value: 'message.age >= 18' is not true"):
        serde.serialize({**ANA, "age": 17})


def test_a_condition_on_reading(registry: RegistryClient) -> None:
    adult = rule("adult", "CEL", kind="CONDITION", mode="READ", expr="message.age >= 18")
    serde = customers(registry, adult)
    data = serde.serialize({**ANA, "age": 17})
    with pytest.raises(SerdeError, match="The rule 'adult' refuses"):
        serde.deserialize(data)


def test_rules_come_with_the_writers_id_too(registry: RegistryClient) -> None:
    adult = rule("adult", "CEL", kind="CONDITION", mode="READ", expr="message.age >= 18")
    data = customers(registry, adult).serialize({**ANA, "age": 17})
    with pytest.raises(SerdeError, match="The rule 'adult' refuses"):
        Avro(registry=MOCK).deserialize(data)


def test_a_schema_of_ones_own_does_not_pass_by_the_rules(registry: RegistryClient) -> None:
    customers(registry, rule("adult", "CEL", kind="CONDITION", mode="WRITE", expr="message.age >= 18"))
    more = {**CUSTOMER, "fields": [*CUSTOMER["fields"], {"name": "more", "type": "int", "default": 0}]}
    for own in (CUSTOMER, more):
        with pytest.raises(SerdeError, match="The rule 'adult' refuses"):
            Avro(own, registry=MOCK, topic="customers").serialize({**ANA, "age": 17})


def test_a_transform_of_the_whole(registry: RegistryClient) -> None:
    expr = "{'name': message.name + '!', 'age': message.age + 1}"
    serde = customers(registry, rule("louder", "CEL", mode="WRITE", expr=expr))
    assert serde.deserialize(serde.serialize(ANA)) == {
        "name": "ana!",
        "age": 31,
        "card": None,
        "mails": [],
        "photo": b"",
    }


def test_a_transform_of_fields_by_guard_and_by_tag(registry: RegistryClient) -> None:
    guarded = rule("x", "CEL_FIELD", mode="WRITE", expr="typeName == 'STRING' && name == 'name' ; value + '-x'")
    tagged = rule("y", "CEL_FIELD", mode="WRITE", tags=["PII"], expr="typeName == 'STRING' ; value + '-y'")
    assert written(customers(registry, guarded, tagged), ANA) == {
        **ANA,
        "name": "ana-x",
        "card": "1234567812345678-y",
        "mails": ["a@x.es-y", "b@x.es-y"],
    }
    assert ANA["name"] == "ana"  # the caller's own is not touched


def test_a_condition_on_fields_names_the_field(registry: RegistryClient) -> None:
    serde = customers(
        registry, rule("short", "CEL_FIELD", kind="CONDITION", expr="typeName == 'STRING' ; size(value) < 9")
    )
    with pytest.raises(SerdeError, match=r"The rule 'short' refuses the value: the field 'shop\.Customer\.card'"):
        serde.serialize(ANA)
    assert serde.serialize({**ANA, "card": None})


def test_tags_of_the_metadata(registry: RegistryClient) -> None:
    hide = rule("hide", "MASK", mode="WRITE", tags=["SECRET"])
    serde = customers(registry, hide, metadata={"tags": {"shop.*.name": ["SECRET"], "other.**": ["SECRET"]}})
    assert written(serde, ANA) == {**ANA, "name": "***"}


def test_encryption_and_back(registry: RegistryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUDAL_KEY_CUSTOMER_KEY", KEY)
    serde = customers(registry, rule("seal", "ENCRYPT", tags=["PII"], params={"encrypt.kek.name": "customer-key"}))
    lying = written(serde, ANA)
    assert lying["name"] == "ana"
    assert lying["card"] != ANA["card"] and lying["photo"] != ANA["photo"]
    assert not set(lying["mails"]) & set(ANA["mails"]) and len(lying["mails"]) == 2
    assert serde.deserialize(serde.serialize(ANA)) == ANA
    assert serde.serialize(ANA) != serde.serialize(ANA)  # never the same text for the same value


def test_keys_in_files(registry: RegistryClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k1").write_text(KEY + "\n")
    monkeypatch.setenv("CAUDAL_KEYS", str(tmp_path))
    serde = customers(registry, rule("seal", "ENCRYPT", tags=["PII"], params={"encrypt.kek.name": "k1"}))
    assert serde.deserialize(serde.serialize(ANA)) == ANA


def test_another_key_and_no_key(registry: RegistryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUDAL_KEY_K", KEY)
    data = customers(registry, rule("seal", "ENCRYPT", tags=["PII"], params={"encrypt.kek.name": "k"})).serialize(ANA)
    monkeypatch.setenv("CAUDAL_KEY_K", b64encode(bytes(32)).decode())
    with pytest.raises(SerdeError, match=r"'seal'.*shop\.Customer\.card': it was encrypted with another key"):
        Avro(registry=MOCK).deserialize(data)
    monkeypatch.delenv("CAUDAL_KEY_K")
    for act in (lambda: Avro(registry=MOCK).deserialize(data), lambda: _latest().serialize(ANA)):
        with pytest.raises(SerdeError, match="The rule 'seal' cannot be run: the key 'k' is not here: set CAUDAL_KEY"):
            act()
    monkeypatch.setenv("CAUDAL_KEY_K", "c2hvcnQ=")
    with pytest.raises(SerdeError, match="CAUDAL_KEY_K is not a key: 16, 24 or 32 bytes in base64 are needed"):
        _latest().serialize(ANA)


def _latest() -> Avro:
    return Avro(use_latest_version=True, registry=MOCK, topic="customers")


def test_readers_without_the_key_see_masks(registry: RegistryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUDAL_KEY_K", KEY)
    name = {"encrypt.kek.name": "k"}
    seal = rule("seal", "ENCRYPT", tags=["PII"], params=name)
    hide = rule("hide", "MASK", mode="READ", tags=["PII"], params=name)
    data = customers(registry, seal, hide).serialize(ANA)
    assert Avro(registry=MOCK).deserialize(data) == ANA
    monkeypatch.delenv("CAUDAL_KEY_K")
    masked = Avro(registry=MOCK).deserialize(data)
    assert masked == {**ANA, "card": "********", "mails": ["********"] * 2, "photo": b""}


def test_a_mask_keeps_the_last_four(registry: RegistryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"keep_last": "4", "encrypt.kek.name": "k"}
    data = customers(registry, rule("hide", "MASK", mode="READ", tags=["PII"], params=params)).serialize(ANA)
    masked = Avro(registry=MOCK).deserialize(data)
    assert (masked["card"], masked["mails"][0], masked["name"]) == ("*" * 12 + "5678", "**x.es", "ana")
    monkeypatch.setenv("CAUDAL_KEY_K", KEY)
    assert Avro(registry=MOCK).deserialize(data) == ANA


def test_what_follows_failure_and_success(registry: RegistryClient) -> None:
    expr = "message.age >= 18"
    condition = {"kind": "CONDITION", "expr": expr}
    passing = customers(registry, rule("r", "CEL", **condition, onFailure="NONE"))
    assert passing.deserialize(passing.serialize({**ANA, "age": 3}))["age"] == 3
    only_reading = customers(registry, rule("r", "CEL", **condition, onFailure="NONE,ERROR"))
    data = only_reading.serialize({**ANA, "age": 3})
    with pytest.raises(SerdeError, match="'r' refuses"):
        only_reading.deserialize(data)
    letters = customers(registry, rule("r", "CEL", **condition, onFailure="DLQ", mode="WRITE"))
    with pytest.raises(SerdeError, match="'r' refuses"):
        letters.serialize({**ANA, "age": 3})
    unwanted = customers(registry, rule("r", "CEL", **condition, onSuccess="ERROR", mode="WRITE"))
    with pytest.raises(SerdeError, match="The rule 'r' holds, and its onSuccess is ERROR"):
        unwanted.serialize(ANA)
    assert customers(registry, rule("r", "CEL", **condition, disabled=True)).serialize({**ANA, "age": 3})


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (rule("b", "CEL", expr="message.age >="), "The rule 'b' cannot be run: 'message.age >=' is not CEL"),
        (rule("b", "CEL_FIELD", expr="((value"), "is not CEL"),
        (rule("b", "CEL", expr="message.nothing > 1"), r"The rule 'b' refuses the value: 'message.nothing > 1' fails"),
        (rule("b", "JSONATA", expr="x"), "its type is JSONATA; there are CEL, CEL_FIELD, ENCRYPT and MASK"),
        (rule("b", "ENCRYPT"), r"the parameter encrypt\.kek\.name must name the key"),
        (rule("b", "ENCRYPT", params={"encrypt.kek.name": "../x"}), "cannot be the name of a key"),
        (rule("b", "ENCRYPT", params={"encrypt.kek.name": "k", "encrypt.kms.type": "aws-kms"}), "keys are local here"),
        (rule("b", "MASK", params={"keep_last": "x"}), "keep_last takes a number, not 'x'"),
        (rule("b", "MASK", kind="CONDITION"), "MASK is of the kind TRANSFORM"),
    ],
)
def test_a_broken_rule_is_said_with_its_name(registry: RegistryClient, broken: dict[str, Any], said: str) -> None:
    with pytest.raises(SerdeError, match=said) as caught:
        customers(registry, broken).serialize(ANA)
    assert "'b'" in str(caught.value)


def test_encryption_of_numbers_is_refused(registry: RegistryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUDAL_KEY_K", KEY)
    serde = customers(registry, rule("seal", "ENCRYPT", params={"encrypt.kek.name": "k"}))
    with pytest.raises(SerdeError, match=r"the field 'shop\.Customer\.age': text and bytes can be encrypted, not int"):
        serde.serialize(ANA)


def test_what_the_registry_would_not_take() -> None:
    wrong = {"domainRules": [rule("k", "CEL", kind="CHECK", expr="true")]}  # the registry would not take it
    with pytest.raises(SerdeError, match="The rule 'k' cannot be run: its kind is CHECK"):
        rules_of(wrong, None, lambda: Shape("STRING"), WRITE)
    with pytest.raises(SerdeError, match="The rule 'e' is an encoding rule"):
        rules_of({"encodingRules": [{"name": "e"}]}, None, lambda: Shape("STRING"), WRITE)
    assert rules_of({"domainRules": []}, None, lambda: Shape("STRING"), READ) is None


def test_cel_knows_dates_numbers_and_bytes() -> None:
    moment = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)
    variables = {"message": {"at": moment, "n": 3, "x": 1.5, "ok": True, "b": b"ab", "l": [1, 2], "none": None}}
    for text, result in [
        ("message.at.getFullYear()", 2026),
        ("message.n + 1", 4),
        ("message.x * 2.0", 3.0),
        ("message.ok", True),
        ("message.b", b"ab"),
        ("message.l", [1, 2]),
        ("message.l.exists(e, e == 2)", True),
        ("message.none == null", True),
        ("{'a': message.n}", {"a": 3}),
        ("has(message.missing)", False),
        ("message.at", moment),
    ]:
        found = compiled(text)(variables)
        assert found == result and type(found) is type(result), text


def visited(shape: Shape, value: Any) -> list[tuple[str, str, Any, list[str]]]:
    seen = []

    def visit(field: Any, type_name: str, item: Any, record: Any) -> Any:
        seen.append((field.full_name, type_name, item, sorted(field.tags)))
        return item

    assert walked(shape, value, visit) == value
    return seen


def test_shape_of_avro_with_recursion_and_unions() -> None:
    schema = {
        "type": "record",
        "name": "Node",
        "fields": [
            {"name": "v", "type": ["null", "long", "string"]},
            {"name": "next", "type": ["null", "Node"]},
            {"name": "by", "type": {"type": "map", "values": "Node"}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ],
    }
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    value = {"v": 1, "next": {"v": "x", "next": None, "by": {}, "at": moment}, "by": {}, "at": moment}
    assert visited(avro_shape(parse_schema(schema)), value) == [
        ("Node.v", "LONG", 1, []),
        ("Node.v", "STRING", "x", []),
        ("Node.at", "LONG", moment, []),
        ("Node.at", "LONG", moment, []),
    ]


def test_shape_of_json_with_references() -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "confluent:tags": ["PII"]},
            "home": {"$ref": "address.json"},
            "parent": {"$ref": "#"},
            "list": {"type": "array", "items": {"$ref": "#/definitions/n"}},
            "maybe": {"type": ["null", "string"]},
            "one": {"oneOf": [{"type": "null"}, {"type": "object", "properties": {"z": {"type": "boolean"}}}]},
        },
        "definitions": {"n": {"type": "integer"}},
    }
    address = {"type": "object", "properties": {"city": {"type": "string", "confluent:tags": ["GEO"]}}}
    value = {"name": "a", "home": {"city": "c"}, "parent": {"name": "b"}, "list": [1], "maybe": "m", "one": {"z": True}}
    assert visited(json_shape(schema, {"address.json": address}), value) == [
        ("$.name", "STRING", "a", ["PII"]),
        ("$.home.city", "STRING", "c", ["GEO"]),
        ("$.name", "STRING", "b", ["PII"]),
        ("$.list", "LONG", 1, []),
        ("$.maybe", "STRING", "m", []),
        ("$.one.z", "BOOLEAN", True, []),
    ]


def test_a_registry_that_is_away_is_no_rule_that_failed() -> None:
    """With onFailure NONE a failed rule is passed over; what was to be masked must not be written in clear for that."""

    def away() -> Shape:
        raise SchemasUnavailable("There is no registry.")

    masked = rule("mask", "MASK", mode="WRITE", tags=["PII"], onFailure="NONE")
    with pytest.raises(SchemasUnavailable):
        rules_of({"domainRules": [masked]}, None, away, WRITE)
