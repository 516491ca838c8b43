"""The records of __consumer_offsets against bytes written down by hand from Kafka's published format."""

from __future__ import annotations

from uuid import UUID

import pytest

from caudal.broker.coordinators.offset_records import (
    GroupValue,
    MemberValue,
    OffsetValue,
    decode,
    group_key,
    group_value,
    offset_key,
    offset_value,
    read_group_key,
    read_group_value,
    read_offset_key,
    read_offset_value,
)

TOPIC_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")

OFFSET_KEY = bytes.fromhex("00010002673100066f726465727300000003")
OFFSET_VALUE_4 = bytes.fromhex(
    "0004"  # version
    "000000000000002a"  # offset 42
    "00000007"  # leader epoch
    "05"
    "6d657461"  # compact "meta"
    "0000018bcfe56800"  # commit timestamp
    "01"
    "00"
    "10"
    "00112233445566778899aabbccddeeff"  # one tagged field: tag 0, 16 bytes
)
OFFSET_VALUE_4_NO_ID = bytes.fromhex("0004000000000000002affffffff010000018bcfe5680000")
OFFSET_VALUE_1 = bytes.fromhex("0001000000000000002a00046d6574610000018bcfe568000000018bcfe56be8")
OFFSET_VALUE_3 = bytes.fromhex("0003000000000000002a0000000700046d6574610000018bcfe56800")
OFFSET_VALUE_0 = bytes.fromhex("0000000000000000002a00000000018bcfe56800")
GROUP_KEY = bytes.fromhex("000200026731")
GROUP_VALUE_3 = bytes.fromhex(
    "0003"
    "0008"
    "636f6e73756d6572"  # consumer
    "00000005"  # generation
    "0005"
    "72616e6765"  # range
    "0002"
    "6d31"  # leader m1
    "0000018bcfe56800"
    "00000001"  # one member
    "0002"
    "6d31"  # m1
    "ffff"  # no instance id
    "0001"
    "63"  # client id c
    "0002"
    "2f68"  # host /h
    "0000ea60"  # rebalance time-out 60000
    "0000afc8"  # session time-out 45000
    "00000002"
    "0102"
    "00000001"
    "03"
)
GROUP_VALUE_0 = bytes.fromhex(
    "0000" "0008" "636f6e73756d6572" "00000005" "ffff" "ffff" "00000001"
    "0002" "6d31" "0001" "63" "0002" "2f68" "0000afc8" "00000002" "0102" "00000001" "03"
)  # fmt: skip


def test_offset_key() -> None:
    assert offset_key("g1", "orders", 3) == OFFSET_KEY
    assert read_offset_key(OFFSET_KEY) == ("g1", "orders", 3)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (OffsetValue(42, 7, "meta", 1_700_000_000_000, -1, TOPIC_ID), OFFSET_VALUE_4),
        (OffsetValue(42, -1, "", 1_700_000_000_000, -1, None), OFFSET_VALUE_4_NO_ID),
        (OffsetValue(42, -1, "meta", 1_700_000_000_000, 1_700_000_001_000, None), OFFSET_VALUE_1),
    ],
)
def test_offset_value_is_written_and_read(value: OffsetValue, data: bytes) -> None:
    assert offset_value(value).hex() == data.hex()
    assert read_offset_value(data) == value


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (OFFSET_VALUE_3, OffsetValue(42, 7, "meta", 1_700_000_000_000, -1, None)),
        (OFFSET_VALUE_0, OffsetValue(42, -1, "", 1_700_000_000_000, -1, None)),
    ],
)
def test_older_offset_values_are_read(data: bytes, value: OffsetValue) -> None:
    assert read_offset_value(data) == value


def test_a_long_metadata_text_has_a_two_byte_length() -> None:
    value = OffsetValue(1, -1, "ü" * 100, 5, -1, TOPIC_ID)
    assert offset_value(value)[14:16] == bytes([201 & 0x7F | 0x80, 1])
    assert read_offset_value(offset_value(value)) == value


def test_group_records() -> None:
    member = MemberValue("m1", None, "c", "/h", 60000, 45000, b"\x01\x02", b"\x03")
    value = GroupValue("consumer", 5, "range", "m1", 1_700_000_000_000, (member,))
    assert group_key("g1") == GROUP_KEY
    assert read_group_key(GROUP_KEY) == "g1"
    assert group_value(value).hex() == GROUP_VALUE_3.hex()
    assert read_group_value(GROUP_VALUE_3) == value


def test_the_oldest_group_value_gets_defaults() -> None:
    value = read_group_value(GROUP_VALUE_0)
    assert value.state_timestamp == -1
    assert value.members[0].rebalance_timeout_ms == 45000, "version 0 had one time-out for both"


@pytest.mark.parametrize("data", [OFFSET_VALUE_4, OFFSET_VALUE_3, OFFSET_VALUE_1])
def test_every_cut_of_an_offset_value_is_refused_not_misread(data: bytes) -> None:
    for size in range(len(data)):
        with pytest.raises(ValueError):
            read_offset_value(data[:size])


def test_every_cut_of_a_group_value_is_refused() -> None:
    for size in range(len(GROUP_VALUE_3)):
        with pytest.raises(ValueError):
            read_group_value(GROUP_VALUE_3[:size])


def test_unknown_versions_are_refused() -> None:
    with pytest.raises(ValueError, match="version 9"):
        read_offset_value(b"\x00\x09" + OFFSET_VALUE_4[2:])


def test_decode_for_people() -> None:
    assert decode(OFFSET_KEY, OFFSET_VALUE_4) == {
        "type": "OffsetCommit",
        "key": {"group": "g1", "topic": "orders", "partition": 3},
        "value": {
            "offset": 42,
            "leader_epoch": 7,
            "metadata": "meta",
            "commit_timestamp": 1_700_000_000_000,
            "topic_id": str(TOPIC_ID),
        },
    }
    assert decode(GROUP_KEY, None) == {"type": "GroupMetadata", "key": {"group": "g1"}, "value": None}
    shown = decode(GROUP_KEY, GROUP_VALUE_3)
    assert shown["value"]["members"][0]["subscription"] == "0102", (
        "bytes that are no subscription are shown as they are"
    )
    assert decode(b"\x00\x05\x01", b"\x00")["type"] == "ConsumerGroupMemberMetadata"
