"""Java's hash must agree bit for bit, or clients look for a group in the wrong partition."""

from __future__ import annotations

import pytest

from caudal.broker.coordinators.java_hash import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(2**31)),  # the famous string with the smallest hash
        ("ñ", 241),
        ("\U0001f600", 55357 * 31 + 56832),  # two UTF-16 units
    ],
)
def test_known_hashes(text: str, expected: int) -> None:
    assert java_hash(text) == expected


def test_the_smallest_hash_has_a_partition() -> None:
    assert partition_for("polygenelubricants", 50) == 0
    assert partition_for("hello", 50) == 99162322 % 50
