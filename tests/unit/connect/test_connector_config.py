"""A connector's whole configuration: Kafka Connect's answer to its validation, and the parts made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from caudal.connect import ConfigError
from caudal.connect.connector_config import converters_of, parse, parse_framework, passwords_of, validate
from caudal.connect.converters.json import JsonConverter
from caudal.connect.converters.simple import SimpleHeaderConverter
from caudal.connect.converters.string import StringConverter
from caudal.connect.runtime.settings import WorkerSettings

pytestmark = pytest.mark.usefixtures("parts")

SOURCE = {"name": "rows", "connector.class": "PartsSource", "url": "db"}
SINK = {"name": "out", "connector.class": "PartsSink", "topics": "a"}


def settings(**more: Any) -> WorkerSettings:
    return WorkerSettings(bootstrap="localhost:9092", url="http://localhost:8083", **more)


def errors(config: dict[str, Any], **more: Any) -> dict[str, list[str]]:
    body = validate(config, settings(**more))
    json.dumps(body)
    found = {line["value"]["name"]: line["value"]["errors"] for line in body["configs"] if line["value"]["errors"]}
    assert body["error_count"] == sum(len(each) for each in found.values())
    return found


def line(config: dict[str, Any], name: str, **more: Any) -> dict[str, Any]:
    return next(each for each in validate(config, settings(**more))["configs"] if each["value"]["name"] == name)


def test_the_answer_has_kafka_connects_form() -> None:
    body = validate(SOURCE, settings())
    assert (body["name"], body["error_count"]) == ("PartsSource", 0)
    assert {"Common", "Transforms", "Predicates", "Error Handling", "Topic Creation", "Database"} <= set(body["groups"])
    assert line(SOURCE, "tasks.max") == {
        "definition": {
            "name": "tasks.max",
            "type": "INT",
            "required": False,
            "default_value": "1",
            "importance": "HIGH",
            "documentation": "How many tasks the connector may have at most.",
            "group": "Common",
            "width": "SHORT",
            "display_name": "Tasks max",
            "dependents": [],
            "order": 3,
        },
        "value": {"name": "tasks.max", "value": "1", "recommended_values": [], "errors": [], "visible": True},
    }
    assert line(SOURCE, "url")["definition"]["required"] is True
    names = [each["value"]["name"] for each in body["configs"]]
    assert len(names) == len(set(names))
    assert "value.converter.schemas.enable" in names and "caudal.allowed.folders" not in names


def test_an_empty_list_of_topic_groups_asks_for_none() -> None:
    """As a task's configuration has it that was made from typed keys."""
    found = errors({"name": "x", "connector.class": "PartsSource", "url": "u", "topic.creation.groups": ""})
    assert not [key for key in found if key.startswith("topic.creation.")]


def test_every_wrong_key_is_named() -> None:
    found = errors(
        {
            "connector.class": "PartsSource",
            "tasks.max": 0,
            "batch": "many",
            "errors.tolerance": "some",
            "value.converter": "Jsn",
            "key.converter.schemas.enable": "maybe",
            "transforms": "a,b",
            "transforms.a.type": "Suffix",
            "topic.creation.groups": "g",
            "topic.creation.default.partitions": "0",
        }
    )
    assert set(found) == {
        "name",
        "tasks.max",
        "errors.tolerance",
        "value.converter",
        "key.converter.schemas.enable",
        "transforms.a.text",
        "transforms.b.type",
        "topic.creation.g.include",
        "topic.creation.default.partitions",
        "topic.creation.default.replication.factor",
        "url",
        "batch",
    }
    assert found["tasks.max"] == ["Invalid value 0 for configuration tasks.max: Value must be at least 1"]
    assert "did you mean Json" in found["value.converter"][0]


CHAIN = {**SOURCE, "transforms": "a", "transforms.a.type": "Between"}


@pytest.mark.parametrize(
    ("config", "key", "why"),
    [
        ({**CHAIN, "transforms.a.low": "3", "transforms.a.low.high": "2"}, "transforms.a.low", "less than"),
        ({**CHAIN, "transforms.a.low.high": "13"}, "transforms.a.type", "bad luck"),
        (
            {**CHAIN, "predicates": "p", "predicates.p.type": "IsLong", "predicates.p.size": "13"},
            "predicates.p.size",
            "must not be 13",
        ),
        ({**SOURCE, "transforms": "t", "transforms.t.type": "InsertField$Value"}, "transforms.t.type", "nothing"),
        (
            {**SOURCE, "transforms": "t", "transforms.t.type": "TimestampConverter$Value",
             "transforms.t.target.type": "string"},
            "transforms.t.format",
            "needs a pattern",
        ),
    ],
)  # fmt: skip
def test_keys_that_do_not_go_together_are_named(config: dict[str, str], key: str, why: str) -> None:
    found = errors(config)
    assert set(found) == {key} and why in found[key][0]


def test_what_is_wrong_with_one_key_is_said_once() -> None:
    assert errors({**CHAIN, "transforms.a.low": "many"}) == {
        "transforms.a.low": ["Invalid value many for configuration transforms.a.low: Not a number of type INT"]
    }


VERSIONS = ("connector", "value.converter", "transforms.a", "predicates.p")


@pytest.mark.parametrize("what", VERSIONS)
@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("latest", None),
        ("[0.0.1,)", None),
        ("[99.0,)", "is installed in version"),
        ("99.0", "is installed in version"),
        ("[1.0", "Expected a range"),
        ("(1.0)", "A single version"),
        ("[2.0,1.0]", "ends (1.0) before it begins (2.0)"),
    ],
)
def test_the_version_of_a_plugin_can_be_required(what: str, wanted: str, why: str | None) -> None:
    config = {
        **CHAIN, "predicates": "p", "predicates.p.type": "IsLong", "predicates.p.size": "1",
        f"{what}.plugin.version": wanted,
    }  # fmt: skip
    found = errors(config)
    if why is None:
        assert found == {}
        parse(config, settings())
        return
    assert set(found) == {f"{what}.plugin.version"} and why in found[f"{what}.plugin.version"][0]
    assert len(found[f"{what}.plugin.version"]) == 1


def test_a_plugin_that_is_not_of_its_version_any_more_does_not_start() -> None:
    with pytest.raises(ConfigError, match="is installed in version") as raised:
        parse({**SOURCE, "connector.plugin.version": "0.5"}, settings())
    assert raised.value.key == "connector.plugin.version"
    with pytest.raises(ConfigError) as raised:
        converters_of({"key.converter": "String", "key.converter.plugin.version": "[0.0.1]"}, settings())
    assert raised.value.key == "key.converter.plugin.version"
    version = line(SOURCE, "connector.plugin.version")["value"]
    assert version["recommended_values"] == ["1.0"] and version["value"] is None


def test_where_a_task_runs_is_a_key() -> None:
    name = "caudal.task.isolation"
    assert set(errors({**SOURCE, name: "container"})) == {name}
    assert errors({**SOURCE, name: "Process"}) == {}
    assert line(SINK, name)["value"]["recommended_values"] == ["thread", "process"]


@pytest.mark.parametrize(
    ("given", "why"), [({}, "Missing required"), ({"connector.class": "PartSource"}, "did you mean PartsSource")]
)
def test_the_class_is_missing_or_unknown(given: dict[str, str], why: str) -> None:
    assert why in errors({"name": "x", **given})["connector.class"][0]


def test_a_sink_needs_topics_or_a_pattern() -> None:
    both = {**SINK, "topics.regex": "a.*"}
    neither = {"name": "out", "connector.class": "PartsSink"}
    assert set(errors(both)) == set(errors(neither)) == {"topics", "topics.regex"}
    assert "mutually exclusive" in errors(both)["topics"][0]
    assert errors(SINK) == {}
    assert "topics" not in [each["value"]["name"] for each in validate(SOURCE, settings())["configs"]]


def test_a_sink_does_not_read_its_own_dead_letters() -> None:
    dead = "errors.deadletterqueue.topic.name"
    assert set(errors({**SINK, dead: "a"})) == {"topics"}
    pattern = {"name": "out", "connector.class": "PartsSink", "topics.regex": "dead.*"}
    assert set(errors({**pattern, dead: "dead-letters"})) == {"topics.regex"}
    assert set(errors({**pattern, "topics.regex": "(", dead: "x"})) == {"topics.regex"}
    assert errors({**SINK, dead: "other"}) == {}


@pytest.mark.parametrize(("answer", "wrong"), [("yes", False), ("no", True), ("unknown", True)])
def test_exactly_once_can_be_required(answer: str, wrong: bool) -> None:
    config = {**SOURCE, "exactly.once.support": "required", "once": answer}
    assert ("exactly.once.support" in errors(config)) is wrong
    assert errors({**config, "exactly.once.support": "requested"}) == {}
    assert "exactly.once.support" in errors(config, exactly_once_source=False)


def test_the_connector_checks_when_each_key_is_right() -> None:
    assert errors({**SOURCE, "url": "bad:db"}) == {"url": ["There is no such database: bad:db"]}
    assert set(errors({**SOURCE, "url": "bad:db", "batch": "0"})) == {"batch"}
    assert "could not check its configuration" in errors({**SOURCE, "url": "down:db"})["connector.class"][0]


def test_secrets_are_checked_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUDAL_TEST_PASSWORD", "geheim-1")
    (tmp_path / "url").write_text("down:geheim-2")
    config = {**SOURCE, "password": "${env:CAUDAL_TEST_PASSWORD}", "url": f"${{file:{tmp_path}/url}}"}
    body = validate(config, settings(allowed_folders=(tmp_path,)))
    assert body["error_count"] == 1 and "could not check" in json.dumps(body)
    assert "geheim" not in json.dumps(body)
    assert line(config, "password", allowed_folders=(tmp_path,))["value"]["value"] == "${env:CAUDAL_TEST_PASSWORD}"
    # A wrong secret is not shown either.
    (tmp_path / "batch").write_text("geheim-3")
    found = errors({**SOURCE, "batch": f"${{file:{tmp_path}/batch}}"}, allowed_folders=(tmp_path,))
    assert "geheim" not in found["batch"][0] and "${file:" in found["batch"][0]
    # Plain passwords are hidden.
    assert line({**SOURCE, "password": "geheim-4"}, "password")["value"]["value"] == "[hidden]"
    assert "geheim" not in json.dumps(validate({**SOURCE, "url": "down:x", "password": "geheim-5"}, settings()))


def test_passwords_in_addresses_are_not_shown() -> None:
    config = {**SOURCE, "url": "bad://ana:geheim@db/shop"}
    assert line(config, "url")["value"]["value"] == "bad://ana:[hidden]@db/shop"
    assert "geheim" not in json.dumps(validate(config, settings()))


def test_a_secret_that_is_not_to_be_had_is_an_error_of_its_property() -> None:
    assert set(errors({**SOURCE, "url": "${env:CAUDAL_NOT_SET}"})) == {"url"}
    found = errors({**SOURCE, "producer.override.x": "${file:/etc/hostname}"})
    assert set(found) == {"producer.override.x"}


def test_the_worker_s_converters_hold_where_the_connector_says_nothing() -> None:
    worker = settings(value_converter="Json", converter_properties={"value.converter.schemas.enable": "false"})
    key, value, header = converters_of({}, worker)
    assert isinstance(key, JsonConverter) and isinstance(header, SimpleHeaderConverter)
    assert value.encode("t", None, 1) == b"1"
    assert key.encode("t", None, 1) == b'{"schema":null,"payload":1}'
    # The same class again: the worker's properties are still meant, and each can be changed.
    named = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    assert converters_of(named, worker).value.encode("t", None, 1) == b"1"
    own = {**named, "value.converter.schemas.enable": "true"}
    assert converters_of(own, worker).value.encode("t", None, 1) == b'{"schema":null,"payload":1}'
    other = converters_of({"value.converter": "String"}, worker)
    assert isinstance(other.value, StringConverter)
    other.close()


def test_the_worker_s_registry_is_the_default_of_converters() -> None:
    worker = settings(registry="mock://connect-defaults")
    value = converters_of({"value.converter": "Avro"}, worker).value
    assert value.decode("t", value.encode("t", None, "text")).value == "text"
    assert line({**SOURCE, "value.converter": "Avro"}, "value.converter.schema.registry.url", registry="mock://x")[
        "value"
    ]["value"] == ("mock://x")


def test_wrong_converters_name_the_property() -> None:
    with pytest.raises(ConfigError, match=r"value\.converter\.schemas\.enable") as raised:
        converters_of({"value.converter.schemas.enable": "maybe"}, settings())
    assert raised.value.key == "value.converter.schemas.enable"
    with pytest.raises(ConfigError, match="header converter") as raised:
        converters_of({"header.converter": "Avro"}, settings())
    assert raised.value.key == "header.converter"


def test_what_a_connector_is_started_with(tmp_path: Path) -> None:
    typed = parse({**SOURCE, "own.property": "x", "caudal.allowed.folders": "/"}, settings(allowed_folders=(tmp_path,)))
    assert typed["batch"] == 100 and typed["tasks.max"] == 1 and typed["own.property"] == "x"
    assert typed["caudal.allowed.folders"] == str(tmp_path)  # the worker's word
    assert parse_framework(SINK)["errors.deadletterqueue.topic.replication.factor"] == -1
    with pytest.raises(ConfigError, match="url"):
        parse({"name": "x", "connector.class": "PartsSource"}, settings())


def test_the_passwords_of_a_configuration_are_known() -> None:
    config = {**SOURCE, "password": "geheim", "value.converter": "Avro", "value.converter.basic.auth.user.info": "a:b"}
    assert passwords_of(config, settings()) == {"geheim", "a:b"}
