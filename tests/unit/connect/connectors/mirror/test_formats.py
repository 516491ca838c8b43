"""MirrorMaker 2's binary records, by bytes that its own classes write."""

from __future__ import annotations

import pytest

from caudal.connect.connectors.mirror.formats import Checkpoint, Heartbeat, OffsetSync
from caudal.connect.errors import DataError


def test_an_offset_sync_has_no_version() -> None:
    sync = OffsetSync("orders", 2, 1000, 998)
    assert sync.key() == bytes.fromhex("0006") + b"orders" + bytes.fromhex("00000002")
    assert sync.value() == bytes.fromhex("00000000000003e8 00000000000003e6")
    assert OffsetSync.read(sync.key(), sync.value()) == sync


def test_a_checkpoint_has_one_before_its_value() -> None:
    checkpoint = Checkpoint("readers", "west.orders", 1, 7, 5, "é")
    assert checkpoint.key() == b"\x00\x07readers\x00\x0bwest.orders\x00\x00\x00\x01"
    assert checkpoint.value() == b"\x00\x00" + (7).to_bytes(8, "big") + (5).to_bytes(8, "big") + b"\x00\x02\xc3\xa9"
    assert Checkpoint.read(checkpoint.key(), checkpoint.value()) == checkpoint


def test_a_heartbeat() -> None:
    beat = Heartbeat("west", "east", 1_700_000_000_000)
    assert beat.key() == b"\x00\x04west\x00\x04east"
    assert beat.value() == b"\x00\x00" + (1_700_000_000_000).to_bytes(8, "big")
    assert Heartbeat.read(beat.key(), beat.value()) == beat


@pytest.mark.parametrize("key", [b"", b"\x00", b"\x00\x09short", b"\xff\xff", b"\x00\x01\xff\x00\x00\x00\x01"])
def test_bytes_that_are_something_else_are_refused(key: bytes) -> None:
    with pytest.raises(DataError, match="no offset sync"):
        OffsetSync.read(key, bytes(16))


def test_a_later_version_is_refused() -> None:
    beat = Heartbeat("west", "east", 1)
    with pytest.raises(DataError, match="version 1; this mirror reads version 0"):
        Heartbeat.read(beat.key(), b"\x00\x01" + bytes(8))
