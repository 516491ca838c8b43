"""Configurations are parsed as Kafka's ConfigDef does it, and every wrong one is named."""

from __future__ import annotations

from typing import Any

import pytest

from caudal.connect import ConfigDef, ConfigError, Key, Type
from caudal.connect.configuration import as_text, matches, not_empty, valid_regex


def one(type: Type, given: Any, **more: Any) -> Any:
    return ConfigDef((Key(name="it", type=type, doc="", **more),)).parse({"it": given})["it"]


def refusal(type: Type, given: Any, **more: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        one(type, given, **more)
    assert raised.value.key == "it"
    return str(raised.value)


@pytest.mark.parametrize(
    ("type", "given", "expected"),
    [
        (Type.BOOLEAN, "TRUE", True),
        (Type.BOOLEAN, " false ", False),
        (Type.BOOLEAN, True, True),
        (Type.INT, " 12 ", 12),
        (Type.INT, 12, 12),
        (Type.INT, "-2147483648", -2147483648),
        (Type.LONG, "2147483648", 2147483648),
        (Type.DOUBLE, "1.5", 1.5),
        (Type.DOUBLE, 2, 2.0),
        (Type.STRING, " a b ", "a b"),
        (Type.STRING, 7, "7"),
        (Type.LIST, "a , b,c", ["a", "b", "c"]),
        (Type.LIST, "", []),
        (Type.LIST, ["a", 1], ["a", "1"]),
        (Type.CLASS, "x.Y", "x.Y"),
        (Type.PASSWORD, "secret", "secret"),
    ],
)
def test_texts_and_json_values_get_their_types(type: Type, given: Any, expected: Any) -> None:
    assert one(type, given) == expected


@pytest.mark.parametrize(
    ("type", "given", "why"),
    [
        (Type.BOOLEAN, "yes", "Expected value to be either true or false"),
        (Type.INT, "1.5", "Not a number of type INT"),
        (Type.INT, "", "Not a number of type INT"),
        (Type.INT, "1_000", "Not a number of type INT"),
        (Type.INT, "2147483648", "Not a number of type INT"),
        (Type.LONG, "9223372036854775808", "Not a number of type LONG"),
        (Type.DOUBLE, "wide", "Not a number of type DOUBLE"),
    ],
)
def test_a_wrong_value_is_refused_in_kafkas_words(type: Type, given: str, why: str) -> None:
    assert refusal(type, given) == f"Invalid value {given} for configuration it: {why}"


def test_an_object_is_no_value() -> None:
    assert "not an object" in refusal(Type.STRING, {"a": 1})


def test_a_required_key_must_be_there_and_null_is_not() -> None:
    definition = ConfigDef((Key(name="file", doc=""),))
    for given in ({}, {"file": None}):
        with pytest.raises(ConfigError, match='Missing required configuration "file" which has no default value') as e:
            definition.parse(given)
        assert e.value.key == "file"


def test_defaults_are_typed_and_none_stays_none() -> None:
    definition = ConfigDef(
        (
            Key(name="size", type=Type.INT, default="5", doc=""),
            Key(name="list", type=Type.LIST, default=("a",), doc=""),
            Key(name="none", type=Type.INT, default=None, minimum=1, doc=""),
        )
    )
    assert definition.parse({}) == {"size": 5, "list": ["a"], "none": None}


def test_choices_are_given_as_they_are_declared() -> None:
    assert one(Type.STRING, "ALL", choices=("none", "all")) == "all"
    assert one(Type.LIST, "B,a", choices=("a", "b")) == ["b", "a"]
    assert "String must be one of (case insensitive): none, all" in refusal(
        Type.STRING, "some", choices=("none", "all")
    )


def test_ranges() -> None:
    assert one(Type.INT, "1", minimum=1, maximum=3) == 1
    assert refusal(Type.INT, "0", minimum=1).endswith("Value must be at least 1")
    assert refusal(Type.INT, "4", maximum=3).endswith("Value must be no more than 3")


def test_validators() -> None:
    assert one(Type.STRING, "ab", validator=matches("[a-z]+", "letters")) == "ab"
    assert refusal(Type.STRING, "1", validator=matches("[a-z]+", "letters")).endswith("Expected letters")
    assert "not a regular expression" in refusal(Type.STRING, "(", validator=valid_regex)
    assert refusal(Type.STRING, "", validator=not_empty).endswith("String must be non-empty")


def test_passwords_do_not_show() -> None:
    def refuse(name: str, value: Any) -> None:
        raise ValueError(f"{value} is too short")

    definition = ConfigDef((Key(name="pw", type=Type.PASSWORD, doc="", default="dflt"),))
    parsed = definition.parse({"pw": "geheim"})
    assert parsed["pw"] == "geheim" and f"{parsed['pw']}" == "geheim"
    assert "geheim" not in repr(parsed)
    assert [value.value for value in definition.validate({"pw": "geheim"})] == ["[hidden]"]
    assert [value.value for value in definition.validate({})] == ["[hidden]"]
    assert "geheim" not in refusal(Type.PASSWORD, "geheim", validator=refuse)


def test_a_validation_tells_of_all_keys_and_all_errors() -> None:
    definition = ConfigDef(
        (
            Key(name="mode", choices=("bulk", "incrementing"), doc=""),
            Key(name="port", type=Type.INT, default=80, minimum=1, doc=""),
            Key(name="host", doc=""),
        )
    )
    values = {value.key.name: value for value in definition.validate({"mode": "x", "port": "0", "other": "1"})}
    assert list(values) == ["mode", "port", "host"]
    assert values["mode"].value == "x" and values["mode"].recommended == ("bulk", "incrementing")
    assert values["port"].errors == ("Invalid value 0 for configuration port: Value must be at least 1",)
    assert values["host"].value is None and len(values["host"].errors) == 1


def test_recommenders_see_the_configuration_and_their_failure_is_an_error() -> None:
    def broken(config: Any) -> list[Any]:
        raise OSError("no database")

    definition = ConfigDef(
        (
            Key(name="table", default="", doc="", recommender=lambda config: [config.get("schema", "") + ".t"]),
            Key(name="column", default="", doc="", recommender=broken),
        )
    )
    table, column = definition.validate({"schema": "s"})
    assert table.recommended == ("s.t",) and table.errors == ()
    assert "no database" in column.errors[0]


def test_a_key_that_depends_on_a_switch_is_visible_with_it() -> None:
    definition = ConfigDef(
        (
            Key(name="on", type=Type.BOOLEAN, default=False, doc=""),
            Key(name="detail", default="", doc="", depends_on=("on",)),
        )
    )
    assert [value.visible for value in definition.validate({})] == [True, False]
    assert [value.visible for value in definition.validate({"on": "true"})] == [True, True]
    assert [value.visible for value in definition.validate({"on": "perhaps"})] == [True, True]
    assert definition.dependents("on") == ["detail"]


def test_values_as_texts() -> None:
    assert [as_text(value) for value in (None, False, 1.5, ("a", "b"), int)] == [
        None, "false", "1.5", "a,b", "builtins.int",
    ]  # fmt: skip
