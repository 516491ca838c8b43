"""Our transforms against Apache Kafka's: every case of the unit tests, in one run of Java.

A case that says why Kafka answers otherwise (`java`) must get another answer there: one that became the same is told.
"""

from __future__ import annotations

import importlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from caudal import jars
from caudal.connect import plugins
from caudal.connect.configuration import REQUIRED, as_text
from caudal.connect.converters.json import JsonConverter
from caudal.connect.data import Schema
from caudal.connect.errors import ConnectError
from caudal.connect.plugins import PluginKind
from caudal.connect.records import Record, SinkRecord
from caudal.connect.transforms.casts import nearest_single
from tests.unit.connect.transforms.cases import BadConfig, Case, configured, record_of

pytestmark = pytest.mark.java

TESTS = Path(__file__).parents[1]
SOURCE = TESTS / "java" / "connect" / "TransformOracle.java"
_NOT_IN_JSON = "Kafka cannot be asked"


@dataclass(frozen=True)
class Asked:
    id: str
    plugin: str  # our name
    case: Case | BadConfig
    part: str


def all_cases() -> Iterator[Asked]:
    for file in sorted((TESTS / "unit" / "connect" / "transforms").glob("test_*.py")):
        module = importlib.import_module(f"tests.unit.connect.transforms.{file.stem}")
        tables = [*getattr(module, "CASES", []), *getattr(module, "BAD_CONFIGS", [])]
        for case in tables:
            name = "".join(word.title() for word in file.stem.removeprefix("test_").split("_"))
            parts = ["key", "value"] if hasattr(module, f"{name}Key") and isinstance(case, Case) else ["value"]
            for part in parts:
                plugin = name + part.title() if hasattr(module, f"{name}Key") else name
                kind = "" if isinstance(case, Case) else "bad configuration, "
                yield Asked(f"{plugin}: {kind}{case.name}", plugin, case, part)


def converter(with_schema: bool) -> JsonConverter:
    made = JsonConverter()
    given = {"schemas.enable": with_schema, "replace.null.with.default": False}
    made.configure(JsonConverter.config().parse(given), False)
    return made


CONVERTERS = {True: converter(True), False: converter(False)}


def written(schema: Schema | None, value: Any) -> dict[str, Any]:
    data = CONVERTERS[schema is not None].encode("t", schema, value)
    return {"schema": schema is not None, "text": "null" if data is None else data.decode()}


def read(part: dict[str, Any]) -> tuple[Schema | None, Any]:
    if not part["schema"] and part["text"] == "null":
        return None, None
    schema, value = CONVERTERS[part["schema"]].decode("t", part["text"].encode())
    return schema, as_singles(value)


def as_singles(value: Any) -> Any:
    """Both sides write a number of 32 bits with other digits, so numbers are compared as such."""
    if isinstance(value, dict):
        return {key: as_singles(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_singles(each) for each in value]
    return nearest_single(value) if isinstance(value, float) else value


def request(asked: Asked) -> dict[str, Any]:
    plugin = plugins.find(asked.plugin)
    body: dict[str, Any] = {"class": plugin.java_name, "config": asked.case.config}
    if isinstance(asked.case, BadConfig):
        return body
    return body | shown(record_of(asked.case, asked.part))


def shown(record: Record) -> dict[str, Any]:
    return {
        "source": not isinstance(record, SinkRecord),
        "topic": record.topic,
        "timestamp": record.timestamp,
        "partition": record.partition if isinstance(record, SinkRecord) else record.kafka_partition,
        "offset": record.offset if isinstance(record, SinkRecord) else None,
        "key": written(record.key_schema, record.key),
        "value": written(record.value_schema, record.value),
        "headers": [{"name": each.key, "value": written(each.schema, each.value)} for each in record.headers],
    }


def ask(lines: list[str]) -> list[Any]:
    """What Kafka's transforms answer, line by line."""
    path = jars.class_path("kafka-client", "kafka-connect")
    flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Duser.timezone=UTC"]
    command = [jars.java(), *flags, "-cp", path, str(SOURCE)]
    text = "\n".join(lines)
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=180, check=False)
    assert result.returncode == 0, result.stderr
    answered = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answered) == len(lines), result.stderr
    return answered


@cache
def answers() -> dict[str, dict[str, Any] | str]:
    """What Kafka's transforms make of all cases; a text where a record cannot be written as JSON."""
    found: dict[str, dict[str, Any] | str] = {}
    lines = {}
    for asked in all_cases():
        try:
            lines[asked.id] = json.dumps(request(asked))
        except (ConnectError, TypeError, ValueError) as error:
            found[asked.id] = f"{_NOT_IN_JSON}: {error}"
    return found | dict(zip(lines, ask(list(lines.values())), strict=True))


def ours(asked: Asked) -> Any:
    try:
        transform = configured(plugins.find(asked.plugin).cls, asked.case.config)
        if isinstance(asked.case, BadConfig):
            return {}
        record = record_of(asked.case, asked.part)
        if not hasattr(transform, "apply"):
            return {"test": transform.test(record)}
        made = transform.apply(record)
        return {"dropped": True} if made is None else normal(shown(made))
    except ConnectError as error:
        return {"error": str(error)}


def normal(answer: dict[str, Any]) -> Any:
    """Answers that can be compared: schemas and values, not the texts they are written as."""
    if "topic" not in answer or "error" in answer:
        return answer
    return {
        "topic": answer["topic"],
        "timestamp": answer["timestamp"],
        "key": read(answer["key"]),
        "value": read(answer["value"]),
        "headers": [(each["name"], read(each["value"])) for each in answer["headers"]],
    }


@pytest.mark.parametrize("asked", list(all_cases()), ids=lambda asked: asked.id)
def test_like_apache_kafka(asked: Asked) -> None:
    theirs = answers()[asked.id]
    if isinstance(theirs, str):
        assert asked.case.java, theirs
        return
    us = ours(asked)
    try:
        them = normal(theirs)
    except ConnectError as error:
        them = {"unreadable": str(error)}
    is_same = ("error" in us) == ("error" in them) and ("error" in us or us == them)
    if asked.case.java:
        assert not is_same, f"Kafka answers the same now, so this is not so any more: {asked.case.java}"
    else:
        assert is_same, f"ours:   {us}\nKafka's: {them}"


def test_properties_are_apache_kafkas() -> None:
    """Names, types, defaults and importance."""
    found = [
        plugin
        for plugin in plugins.plugins(PluginKind.TRANSFORMATION, PluginKind.PREDICATE)
        if plugin.cls.__module__.startswith("caudal.connect.transforms.")
    ]
    lines = [json.dumps({"class": plugin.java_name, "config": {}, "describe": True}) for plugin in found]
    for plugin, theirs in zip(found, ask(lines), strict=True):
        ours = {
            key.name: {
                "type": key.type.value,
                "importance": key.importance.value,
                "required": key.default is REQUIRED,
                "default": None if key.default is REQUIRED else as_text(key.default),
            }
            for key in plugin.cls.config().keys
        }
        assert ours == theirs, plugin.name
