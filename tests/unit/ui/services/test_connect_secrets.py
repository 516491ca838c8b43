"""Secrets leave for no browser, and come back where they were left as they are."""

from __future__ import annotations

from caudal.ui.services.connect_secrets import HIDDEN, is_secret, masked, unmasked

STORED = {
    "connection.url": "postgresql://ana:geheim@db/shop",
    "own.key": "s3cret",
    "sasl.jaas.config": "…password='x'",
    "ssl.password": "${file:secrets:ssl}",
    "topic": "orders",
    "empty.password": "",
}


def test_passwords_by_type_by_name_and_in_addresses_are_hidden() -> None:
    shown = masked(STORED, {"own.key"})
    assert shown == {
        "connection.url": f"postgresql://ana:{HIDDEN}@db/shop",
        "own.key": HIDDEN,
        "sasl.jaas.config": HIDDEN,
        "ssl.password": "${file:secrets:ssl}",
        "topic": "orders",
        "empty.password": "",
    }


def test_what_was_not_touched_is_stored_again_and_what_was_is_taken() -> None:
    shown = masked(STORED, {"own.key"})
    assert unmasked(shown, STORED) == STORED
    edited = {**shown, "own.key": "new", "connection.url": f"postgresql://ana:{HIDDEN}@other/shop"}
    sent = unmasked(edited, STORED)
    assert sent["own.key"] == "new"
    assert sent["connection.url"] == "postgresql://ana:geheim@other/shop"


def test_a_name_that_only_sounds_so_is_no_secret() -> None:
    assert not is_secret("key.converter")
    assert not is_secret("tokenizer")
    assert is_secret("s3.secret")
