"""What is wrong with a new topic or a setting, before a broker is asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from caudal.ui.services.topic_changes import (
    NewTopicForm,
    config_problem,
    config_rows,
    name_problem,
    number_problem,
    unknown_config,
)


@pytest.mark.parametrize("name", ["orders", "a.b_c-1", "x" * 249])
def test_names_that_a_topic_can_have(name: str) -> None:
    assert name_problem(name) == ""


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("", "needs a name"),
        (".", "cannot be called"),
        ("..", "cannot be called"),
        ("x" * 250, "at most 249"),
        ("a b", "not a space"),
        ("año", "not 'ñ'"),
        ("a/b", "not '/'"),
    ],
)
def test_names_that_it_cannot_have(name: str, part: str) -> None:
    assert part in name_problem(name)


@pytest.mark.parametrize(
    ("text", "is_wrong"), [("", False), (" 5 ", False), ("0", True), ("11", True), ("x", True), ("-1", True)]
)
def test_numbers_are_whole_and_within_bounds_or_left_to_the_broker(text: str, is_wrong: bool) -> None:
    assert bool(number_problem(text, 10)) is is_wrong


def test_settings_are_checked_by_the_brokers_own_table() -> None:
    assert config_problem("retention.ms", "1000") == ""
    assert config_problem("retention.ms", "soon") == "Not a valid long."
    assert "at least 0" in config_problem("max.message.bytes", "-1")
    assert config_problem("someone.elses.setting", "anything") == ""
    assert "Did you mean retention.ms" in unknown_config("retention.msec")
    assert unknown_config("retention.ms") == ""


def test_a_form_gathers_all_problems() -> None:
    form = NewTopicForm("", "0", "x", {"retention.ms": "x", "cleanup.policy": "delete"})
    assert set(form.problems()) == {"name", "partitions", "replicas", "retention.ms"}


def entry(value: str, source: int, **synonyms: tuple[str, int]) -> Any:
    found = {name.replace("_", "."): SimpleNamespace(value=text, source=at) for name, (text, at) in synonyms.items()}
    return SimpleNamespace(value=value, source=source, synonyms=found, is_read_only=False, is_sensitive=False)


def test_settings_of_the_topic_come_first_with_what_they_override_in_their_own_unit() -> None:
    rows = config_rows(
        {
            "cleanup.policy": entry("delete", 5, log_cleanup_policy=("delete", 5)),
            "retention.ms": entry("60000", 1, retention_ms=("60000", 1), log_retention_hours=("168", 5)),
        }
    )
    assert [(row.name, row.is_set, row.default) for row in rows] == [
        ("retention.ms", True, "604800000"),
        ("cleanup.policy", False, "delete"),
    ]
    assert rows[0].documentation
