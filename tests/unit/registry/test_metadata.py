"""Metadata and rule sets: their canonical form, and what configs and earlier versions add."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.registry.errors import RegistryError
from caudal.registry.metadata import canonical_metadata, canonical_rule_set, filled_in, has_fillers, with_version


def rule(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "type": "CEL", **fields}


def test_equal_metadata_is_written_in_one_way() -> None:
    one = canonical_metadata(
        {"tags": {"b": ["y", "x", "x"], "a": []}, "properties": {"z": "1", "a": "2"}, "sensitive": []}
    )
    two = canonical_metadata({"properties": {"a": "2", "z": "1"}, "tags": {"a": [], "b": ["x", "y"]}, "other": 1})
    assert one == two == {"tags": {"a": [], "b": ["x", "y"]}, "properties": {"a": "2", "z": "1"}}
    assert list((one or {})["properties"]) == ["a", "z"]
    assert canonical_metadata(None) is None


def test_a_rule_gets_its_defaults() -> None:
    rules = canonical_rule_set({"domainRules": [rule("d")], "migrationRules": [rule("m", kind="transform")]})
    assert rules == {
        "migrationRules": [{"name": "m", "kind": "TRANSFORM", "mode": "UPDOWN", "type": "CEL", "disabled": False}],
        "domainRules": [{"name": "d", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "CEL", "disabled": False}],
    }


@pytest.mark.parametrize(
    "given",
    [
        {"domainRules": {"x": 1}},
        {"domainRules": ["x"]},
        {"domainRules": [{"type": "CEL"}]},
        {"domainRules": [{"name": "x"}]},
        {"domainRules": [rule("x", kind="WISH")]},
        {"domainRules": [rule("x", mode="SOMETIMES")]},
        {"domainRules": [rule("x", mode="UPGRADE")]},
        {"migrationRules": [rule("x", mode="WRITE")]},
        {"domainRules": [rule("x", params=[])]},
        {"domainRules": [rule("x", tags="PII")]},
        {"domainRules": [rule("x")], "migrationRules": [rule("x")]},
    ],
)
def test_a_wrong_rule_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(RegistryError) as refused:
        canonical_rule_set(given)
    assert refused.value.code == 42210


def test_defaults_give_way_and_overrides_win() -> None:
    config = {
        "defaultMetadata": {"properties": {"a": "default", "b": "default"}, "tags": {"x": ["T"]}},
        "overrideMetadata": {"properties": {"c": "override"}},
        "defaultRuleSet": {"domainRules": [rule("one", expr="default"), rule("two")]},
        "overrideRuleSet": {"domainRules": [rule("three")]},
    }
    metadata, rules = filled_in(
        config,
        {"properties": {"a": "mine", "c": "mine"}, "tags": {"x": ["S"]}},
        {"domainRules": [rule("one")]},
        (None, None),
    )
    assert metadata == {"tags": {"x": ["S", "T"]}, "properties": {"a": "mine", "b": "default", "c": "override"}}
    assert rules == {"domainRules": [rule("two"), rule("one"), rule("three")]}


def test_a_version_inherits_only_what_it_does_not_say() -> None:
    previous = ({"properties": {"owner": "ana"}}, {"domainRules": [rule("r")]})
    assert filled_in({}, None, None, previous) == previous
    assert filled_in({}, {}, {}, previous) == ({}, {})
    assert filled_in({}, None, None, (None, None)) == (None, None)


def test_the_version_property() -> None:
    assert with_version(None, 3) == {"properties": {"confluent:version": "3"}}
    assert with_version({"properties": {"z": "1"}}, 3)["properties"] == {"confluent:version": "3", "z": "1"}


def test_whether_a_config_adds_something() -> None:
    assert not has_fillers({"compatibilityLevel": "FULL"})
    assert has_fillers({"defaultRuleSet": {"domainRules": [rule("x")]}})
