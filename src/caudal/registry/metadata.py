"""Metadata and rule sets that travel with a schema: their canonical form, their checks, and how configs fill them in.

Kept as plain JSON values with nothing empty in them, so that equal ones are equal. What rules do is the serialisers'
business (`caudal.serde`); here they are only checked for their shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caudal.registry import errors

VERSION_PROPERTY = "confluent:version"
KINDS = ("TRANSFORM", "CONDITION")
MODES = ("UPGRADE", "DOWNGRADE", "UPDOWN", "WRITE", "READ", "WRITEREAD")
RULE_LISTS = ("migrationRules", "domainRules", "encodingRules")

Json = dict[str, Any]


def canonical_metadata(given: object) -> Json | None:
    """None stays None; raises where the shape is wrong."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise errors.unprocessable("metadata must be an object with tags, properties and sensitive")
    result: Json = {}
    tags = given.get("tags") or {}
    if not isinstance(tags, dict) or not all(_is_texts(names) for names in tags.values()):
        raise errors.unprocessable("metadata.tags must map paths to lists of tags")
    if tags:
        result["tags"] = {path: sorted(set(names)) for path, names in sorted(tags.items())}
    properties = given.get("properties") or {}
    if not isinstance(properties, dict) or not all(isinstance(value, str) for value in properties.values()):
        raise errors.unprocessable("metadata.properties must map names to texts")
    if properties:
        result["properties"] = dict(sorted(properties.items()))
    sensitive = given.get("sensitive") or []
    if not _is_texts(sensitive):
        raise errors.unprocessable("metadata.sensitive must be a list of names of properties")
    if sensitive:
        result["sensitive"] = sorted(set(sensitive))
    return result


def canonical_rule_set(given: object) -> Json | None:
    """None stays None; raises 42210 where a rule is incomplete."""
    if given is None:
        return None
    if not isinstance(given, dict):
        raise errors.invalid_rule_set("it must be an object with migrationRules and domainRules")
    result: Json = {}
    names: set[str] = set()
    for group in RULE_LISTS:
        rules = given.get(group) or []
        if not isinstance(rules, list):
            raise errors.invalid_rule_set(f"{group} must be a list")
        if rules:
            result[group] = [_canonical_rule(rule, group, names) for rule in rules]
    if given.get("enableOnlyAt") is not None:
        result["enableOnlyAt"] = given["enableOnlyAt"]
    return result


def _canonical_rule(rule: object, group: str, names: set[str]) -> Json:
    if not isinstance(rule, dict):
        raise errors.invalid_rule_set(f"a rule in {group} is not an object")
    name = rule.get("name")
    if not isinstance(name, str) or not name:
        raise errors.invalid_rule_set(f"a rule in {group} has no name")
    if name in names:
        raise errors.invalid_rule_set(f"there are two rules named '{name}'")
    names.add(name)
    kind, mode = str(rule.get("kind") or "TRANSFORM").upper(), str(rule.get("mode") or "").upper()
    if kind not in KINDS:
        raise errors.invalid_rule_set(f"rule '{name}' has the kind '{kind}'; it can be {' or '.join(KINDS)}")
    if not mode:
        mode = "UPDOWN" if group == "migrationRules" else "WRITEREAD"
    if mode not in MODES:
        raise errors.invalid_rule_set(f"rule '{name}' has the mode '{mode}'; it can be {', '.join(MODES)}")
    if (mode in MODES[:3]) != (group == "migrationRules"):
        allowed = MODES[:3] if group == "migrationRules" else MODES[3:]
        raise errors.invalid_rule_set(f"rule '{name}' of {group} has the mode {mode}; it can be {', '.join(allowed)}")
    if not isinstance(rule.get("type"), str) or not rule["type"]:
        raise errors.invalid_rule_set(f"rule '{name}' has no type")
    params = rule.get("params")
    if params is not None and not isinstance(params, dict):
        raise errors.invalid_rule_set(f"the params of rule '{name}' are not an object")
    kept: Json = {"name": name, "kind": kind, "mode": mode, "type": rule["type"]}
    for field in ("doc", "tags", "params", "expr", "onSuccess", "onFailure"):
        if rule.get(field):
            kept[field] = rule[field]
    kept["disabled"] = bool(rule.get("disabled"))
    if "tags" in kept:
        if not _is_texts(kept["tags"]):
            raise errors.invalid_rule_set(f"the tags of rule '{name}' are not a list of names")
        kept["tags"] = sorted(set(kept["tags"]))
    return kept


def filled_in(
    config: Mapping[str, Any], metadata: Json | None, rule_set: Json | None, previous: tuple[Json | None, Json | None]
) -> tuple[Json | None, Json | None]:
    """What a new version gets: its own, or else the previous version's, between the config's defaults and overrides."""
    metadata = metadata if metadata is not None else previous[0]
    rule_set = rule_set if rule_set is not None else previous[1]
    metadata = _merged_metadata(
        _merged_metadata(config.get("defaultMetadata"), metadata), config.get("overrideMetadata")
    )
    rule_set = _merged_rule_sets(
        _merged_rule_sets(config.get("defaultRuleSet"), rule_set), config.get("overrideRuleSet")
    )
    return metadata, rule_set


def has_fillers(config: Mapping[str, Any]) -> bool:
    return any(
        config.get(name) for name in ("defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet")
    )


def with_version(metadata: Json | None, version: int) -> Json:
    """The metadata with the version property that some clients ask for."""
    properties = {**((metadata or {}).get("properties") or {}), VERSION_PROPERTY: str(version)}
    return {**(metadata or {}), "properties": dict(sorted(properties.items()))}


def _merged_metadata(first: Json | None, second: Json | None) -> Json | None:
    if first is None or second is None:
        return second if first is None else first
    tags = dict(first.get("tags") or {})
    for path, names in (second.get("tags") or {}).items():
        tags[path] = sorted({*tags.get(path, ()), *names})
    return canonical_metadata(
        {
            "tags": tags,
            "properties": {**(first.get("properties") or {}), **(second.get("properties") or {})},
            "sensitive": [*(first.get("sensitive") or ()), *(second.get("sensitive") or ())],
        }
    )


def _merged_rule_sets(first: Json | None, second: Json | None) -> Json | None:
    if first is None or second is None:
        return second if first is None else first
    result: Json = {}
    for group in RULE_LISTS:
        # A rule of the second replaces the first's of the same name, in its new place.
        newer = second.get(group) or []
        names = {rule["name"] for rule in newer}
        rules = [rule for rule in first.get(group) or [] if rule["name"] not in names] + list(newer)
        if rules:
            result[group] = rules
    return result


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
