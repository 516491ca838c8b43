"""RegexRouter: topics by Java's regular expressions."""

from __future__ import annotations

import pytest
from tests.unit.connect.transforms.cases import BadConfig, Case, check, check_bad_config

from caudal.connect.data import STRING
from caudal.connect.transforms.regex_router import RegexRouter


def route(name: str, regex: str, replacement: str, topic: str, new: str | None, **more: object) -> Case:
    config = {"regex": regex, "replacement": replacement}
    changes = {} if new is None else {"topic": new}
    return Case(name, config, "v", STRING, record={"topic": topic}, changes=changes, **more)  # type: ignore[arg-type]


CASES = [
    route("a prefix", "(.*)", "copy.$1", "orders", "copy.orders"),
    route("a part", r"(.*)-(\d+)", "$1", "orders-20240501", "orders"),
    route("groups change places", r"(\w+)\.(\w+)", "$2.$1", "db.orders", "orders.db"),
    route("the whole match", ".*", "x-$0", "orders", "x-orders"),
    route("a named group", "(?<table>.*)-raw", "${table}", "orders-raw", "orders"),
    route("no group", "orders", "sales", "orders", "sales"),
    route("not the whole topic", "order", "sales", "orders", None),
    route("no match", r"\d+", "sales", "orders", None),
    route("the same topic", "(.*)", "$1", "orders", None),
    route("an escaped dollar", "(.*)", r"\$1-$1", "orders", "$1-orders"),
    route("an escaped backslash", "(.*)", r"a\\b", "orders", r"a\b"),
    route("digits behind a group", "(o)(.*)", "$13", "orders", "o3"),
    route("a group that is not there in this match", "(a)?orders", "x$1", "orders", "x"),
    route("the first match of an odd expression", "a|ab", "x", "ab", "xb"),
    route("Java's character classes", r"\p{Lower}+", "x", "orders", "x"),
    route("a source's record", "(.*)", "copy.$1", "orders", "copy.orders", is_source=True),
    Case("a tombstone", {"regex": ".*", "replacement": "x"}, changes={"topic": "x"}),
]
BAD_CONFIGS = [
    BadConfig("no regex", {"replacement": "x"}, "regex"),
    BadConfig("no replacement", {"regex": "x"}, "replacement"),
    BadConfig("an open bracket", {"regex": "(a", "replacement": "x"}, "is no regular expression"),
    BadConfig(
        "a group that does not exist",
        {"regex": "(a)", "replacement": "$2"},
        "the expression has no group 2",
        java="Kafka finds out with the first record",
    ),
    BadConfig(
        "a name that does not exist",
        {"regex": "(a)", "replacement": "${b}"},
        "the expression has no group b",
        java="Kafka finds out with the first record",
    ),
    BadConfig(
        "a dollar alone",
        {"regex": "(a)", "replacement": "x$"},
        r"has a \$ that escapes or names nothing",
        java="Kafka finds out with the first record",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_regex_router(case: Case) -> None:
    check(RegexRouter, case)


@pytest.mark.parametrize("case", BAD_CONFIGS, ids=lambda case: case.name)
def test_bad_configuration(case: BadConfig) -> None:
    check_bad_config(RegexRouter, case)
