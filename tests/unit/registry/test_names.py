"""Subjects and contexts: what a name means."""

from __future__ import annotations

import pytest

from caudal.registry.names import Name, is_valid_subject, normal_context, parse_name, qualify


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders", Name(".", "orders")),
        (":.team:orders", Name(".team", "orders")),
        (":.:orders", Name(".", "orders")),
        (":.team:a:b", Name(".team", "a:b")),
        (":.team:", Name(".team", "")),
        (":.team", Name(".team", "")),
        (":plain", Name(".", ":plain")),
    ],
)
def test_a_name_is_a_context_and_a_subject(text: str, name: Name) -> None:
    assert parse_name(text) == name
    assert parse_name(name.qualified) == name


def test_a_reference_is_meant_in_the_context_of_its_schema() -> None:
    assert qualify("orders", ".team") == ":.team:orders"
    assert qualify(":.other:orders", ".team") == ":.other:orders"
    assert qualify("orders", ".") == "orders"


@pytest.mark.parametrize("text", ["team", ".team", ":.team:"])
def test_a_context_may_be_written_in_three_ways(text: str) -> None:
    assert normal_context(text) == ".team"


@pytest.mark.parametrize("subject", ["a", "a/b", "año", ":.c:a", "x" * 1000, "sp ace"])
def test_nearly_anything_is_a_subject(subject: str) -> None:
    assert is_valid_subject(subject)


@pytest.mark.parametrize("subject", ["", ":.c:", "a\nb", "\x7f", "__EMPTY", "x" * 2000, ":.__GLOBAL:a"])
def test_some_texts_are_no_subjects(subject: str) -> None:
    assert not is_valid_subject(subject)
