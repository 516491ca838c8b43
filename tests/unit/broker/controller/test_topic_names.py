"""Kafka's rules for topic names."""

from __future__ import annotations

import pytest

from caudal.broker.controller.topic_names import collision_key, has_collision_chars, name_fault


@pytest.mark.parametrize("name", ["a", "orders", "A-b_c.9", "...", "__consumer_offsets", "x" * 249])
def test_allowed(name: str) -> None:
    assert name_fault(name) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (None, "empty string"),
        ("", "empty string"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "at most 249"),
        ("a b", "other characters"),
        ("a/b", "other characters"),
        ("año", "other characters"),
        ("a\n", "other characters"),
    ],
)
def test_refused(name: str | None, words: str) -> None:
    assert words in (name_fault(name) or "")


def test_dots_and_underscores_collide() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c")
    assert collision_key("a-b") != collision_key("a_b")
    assert has_collision_chars("a.b")
    assert not has_collision_chars("a-b")
