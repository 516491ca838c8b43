"""docs/connect-transforms.md: its examples run, and its tables have every property as the classes do."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from caudal.connect.configuration import REQUIRED, as_text
from caudal.connect.converters.json import JsonConverter
from caudal.connect.data import Schema
from caudal.connect.plugins import PluginKind, plugins
from caudal.connect.records import Header, SinkRecord
from caudal.connect.transform_chain import transforms_of

PAGE = (Path(__file__).parents[4] / "docs" / "connect-transforms.md").read_text()
SECTIONS = dict(re.findall(r"^## (\w+)\n\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
EXAMPLES = {
    name: found
    for name, text in SECTIONS.items()
    if (found := re.search(r"```properties\n(.*?)```\n\n```json\n(.*)\n(.*)\n```", text, re.DOTALL)) is not None
}
OURS = [
    plugin
    for plugin in plugins(PluginKind.TRANSFORMATION, PluginKind.PREDICATE)
    if plugin.cls.__module__.startswith("caudal.connect.transforms.")
]


def part(given: Any) -> tuple[Schema | None, Any]:
    """A value as it is, or in the envelope of the JSON converter."""
    if isinstance(given, dict) and set(given) == {"schema", "payload"}:
        converter = JsonConverter()
        converter.configure(JsonConverter.config().parse({}), False)
        return tuple(converter.decode("t", json.dumps(given).encode()))
    return None, given


def record(text: str) -> SinkRecord | None:
    given = json.loads(text)
    if given is None:
        return None
    key_schema, key = part(given.get("key"))
    value_schema, value = part(given.get("value"))
    headers = tuple(Header(name, each) for name, each in given.get("headers", []))
    topic = given.get("topic", "orders")
    return SinkRecord(topic, 0, 42, value, value_schema, key, key_schema, given.get("timestamp"), headers=headers)


def without_header_schemas(made: Any) -> Any:
    return None if made is None else replace(made, headers=tuple(Header(each.key, each.value) for each in made.headers))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_run(name: str) -> None:
    config = dict(line.split("=", 1) for line in EXAMPLES[name][1].splitlines())
    before, after = record(EXAMPLES[name][2]), record(EXAMPLES[name][3])
    assert without_header_schemas(transforms_of(config).apply(before)) == after


def test_every_one_has_an_example() -> None:
    modules = {plugin.cls.__module__.rsplit(".", 1)[1].replace("_", "") for plugin in OURS}
    assert {name.lower() for name in EXAMPLES} == modules


@pytest.mark.parametrize("plugin", OURS, ids=lambda plugin: plugin.name)
def test_every_property_is_in_its_table(plugin: Any) -> None:
    section = next(text for text in SECTIONS.values() if f"`{plugin.name}`" in text.split("\n\n")[0])
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| ([^|]+) \| (.*) \|$", section, re.MULTILINE)
    expected = []
    for key in plugin.cls.config().keys:
        default = as_text(key.default) if key.default is not REQUIRED else None
        shown = (
            "required"
            if key.default is REQUIRED
            else "–"
            if default is None
            else f"`{default}`"
            if default
            else "empty"
        )
        expected.append((key.name, key.type.value.lower(), shown, key.doc))
    assert rows == expected


def test_the_first_example_is_a_whole_chain() -> None:
    found = re.search(r"```properties\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    chain = transforms_of(dict(line.split("=", 1) for line in found[1].splitlines()))
    made = chain.apply(SinkRecord("orders-raw", 0, 1, {"amount": "1.5"}))
    assert (made.topic, made.value) == ("orders", {"amount": 1.5})
