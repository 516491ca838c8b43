"""PRINT guesses how keys and values are written."""

from __future__ import annotations

import struct

import pytest

from caudal.ksql.engine.printing import Guess


@pytest.mark.parametrize(
    ("data", "name", "text"),
    [
        (b'{"A": 1}', "JSON", '{"A": 1}'),
        (b"hello", "KAFKA_STRING", "hello"),
        (b"12345678", "KAFKA_STRING", "12345678"),
        (struct.pack(">i", 7), "KAFKA_INT", "7"),
        (struct.pack(">q", -1), "KAFKA_BIGINT", "-1"),
        (b"ana" + struct.pack(">q", 1_700_000_000_000), "TUMBLING(KAFKA_STRING)", "[ana@1700000000000/-]"),
        (
            b"ana" + struct.pack(">qq", 1_700_000_000_500, 1_700_000_000_000),
            "SESSION(KAFKA_STRING)",
            "[ana@1700000000000/1700000000500]",
        ),
        (b"\xff\x00\xfe", "KAFKA_BYTES", "\\xFF\\x00\\xFE"),
    ],
)
def test_guesses(data: bytes, name: str, text: str) -> None:
    guess = Guess(None, "t", False)
    assert guess.text(data) == text
    assert guess.name == name


def test_null_says_nothing_about_the_format() -> None:
    guess = Guess(None, "t", True)
    assert guess.text(None) == "<null>"
    assert guess.name is None


def test_it_is_decided_anew_where_it_does_not_fit() -> None:
    guess = Guess(None, "t", False)
    guess.text(b'{"A": 1}')
    assert guess.text(b"plain") == "plain"
    assert guess.name == "KAFKA_STRING"
