"""A definition turns text into a typed value, refuses what Kafka refuses, and shows values as Kafka does."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.broker.config.definition import (
    ConfigDef,
    ConfigError,
    ConfigType,
    at_least,
    between,
    did_you_mean,
    items_of,
    one_of,
    table,
)


def define(type_: ConfigType, **more: Any) -> ConfigDef:
    return ConfigDef(name="x", type=type_, default=None, **more)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (ConfigType.INT, " 12 ", 12),
        (ConfigType.INT, "-2147483648", -(2**31)),
        (ConfigType.INT, "+7", 7),
        (ConfigType.LONG, "9223372036854775807", 2**63 - 1),
        (ConfigType.SHORT, "-1", -1),
        (ConfigType.DOUBLE, "0.5", 0.5),
        (ConfigType.BOOLEAN, "TRUE", True),
        (ConfigType.BOOLEAN, " false", False),
        (ConfigType.LIST, "a, b ,c", ["a", "b", "c"]),
        (ConfigType.LIST, "", []),
        (ConfigType.STRING, " padded ", "padded"),
        (ConfigType.PASSWORD, " kept ", " kept "),
    ],
)
def test_parse_accepts(type_: ConfigType, text: str, value: Any) -> None:
    assert define(type_).parse(text) == value


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "1.5"),
        (ConfigType.INT, ""),
        (ConfigType.INT, "+"),
        (ConfigType.INT, "٣"),
        (ConfigType.SHORT, "40000"),
        (ConfigType.LONG, "9223372036854775808"),
        (ConfigType.BOOLEAN, "yes"),
        (ConfigType.DOUBLE, "half"),
    ],
)
def test_parse_refuses_the_wrong_type(type_: ConfigType, text: str) -> None:
    with pytest.raises(ConfigError, match=f"for configuration x: Not a valid {type_.name.lower()}"):
        define(type_).parse(text)


@pytest.mark.parametrize(
    ("definition", "good", "bad"),
    [
        (define(ConfigType.INT, limit=at_least(1)), "1", "0"),
        (define(ConfigType.DOUBLE, limit=between(0, 1)), "1", "1.01"),
        (define(ConfigType.STRING, limit=one_of("a", "b")), "b", "c"),
        (define(ConfigType.LIST, limit=items_of("a", "b")), "b,a", "a,c"),
        (define(ConfigType.LIST, limit=items_of("a", "b")), "a", ""),
        (define(ConfigType.LIST, limit=items_of("a", "b")), "a", "a,a"),
        (define(ConfigType.LIST, limit=items_of("a", allow_empty=True)), "", "b"),
    ],
)
def test_limits(definition: ConfigDef, good: str, bad: str) -> None:
    definition.parse(good)
    with pytest.raises(ConfigError, match="Value must be"):
        definition.parse(bad)


def test_a_secret_is_not_repeated_in_its_error() -> None:
    secret = define(ConfigType.PASSWORD, limit=one_of("a"))
    with pytest.raises(ConfigError) as caught:
        secret.parse("hunter2")
    assert "hunter2" not in str(caught.value)
    assert secret.sensitive


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (ConfigType.BOOLEAN, True, "true"),
        (ConfigType.LIST, ["compact", "delete"], "compact,delete"),
        (ConfigType.LIST, [], ""),
        (ConfigType.DOUBLE, 0.5, "0.5"),
        (ConfigType.LONG, -1, "-1"),
        (ConfigType.STRING, None, None),
    ],
)
def test_format(type_: ConfigType, value: Any, text: str | None) -> None:
    assert define(type_).format(value) == text


def test_documentation_says_when_a_property_does_nothing() -> None:
    assert define(ConfigType.INT, doc="Size.").documentation == "Size."
    assert "does not act" in define(ConfigType.INT, doc="Size.", acted_on=False).documentation


def test_a_table_refuses_a_name_twice() -> None:
    with pytest.raises(ValueError, match="x is defined twice"):
        table([define(ConfigType.INT), define(ConfigType.LONG)])


def test_did_you_mean() -> None:
    assert did_you_mean("log.segment.byte", ["log.segment.bytes", "node.id"]) == " Did you mean log.segment.bytes?"
    assert did_you_mean("zzz", ["log.segment.bytes"]) == ""
