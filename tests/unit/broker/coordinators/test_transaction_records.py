"""The records of `__transaction_state` have Kafka's bytes: expected values are written by hand from the format."""

from __future__ import annotations

import pytest

from caudal.broker.coordinators import transaction_records
from caudal.broker.coordinators.transaction_records import TransactionState, TransactionValue, UnknownRecord

ONGOING = TransactionValue(
    producer_id=0x0102,
    producer_epoch=5,
    timeout_ms=60_000,
    state=TransactionState.ONGOING,
    partitions=frozenset({("orders", 2), ("orders", 0), ("a", 7)}),
    start_ms=0x11,
    last_update_ms=0x22,
    previous_producer_id=0x0102,
    client_version=2,
)
ONGOING_BYTES = bytes.fromhex(
    "0001"  # version 1
    "0000000000000102"  # producer id
    "0005"  # epoch
    "0000ea60"  # time-out
    "01"  # Ongoing
    "03"  # two topics (compact: plus one)
    "02 61"  # "a"
    "02 00000007"  # one partition
    "00"  # no tagged fields
    "07 6f7264657273"  # "orders"
    "03 00000000 00000002"  # two partitions
    "00"
    "0000000000000022"  # last update
    "0000000000000011"  # start
    "02"  # two tagged fields
    "00 08 0000000000000102"  # tag 0, previous producer id
    "02 02 0002"  # tag 2, client transaction version
)


def test_key_is_a_version_and_a_string() -> None:
    assert transaction_records.encode_key("app-1") == bytes.fromhex("0000 0005 6170702d31")
    assert transaction_records.decode_key(bytes.fromhex("0000 0005 6170702d31")) == "app-1"


def test_value_of_an_open_transaction() -> None:
    assert transaction_records.encode_value(ONGOING) == ONGOING_BYTES
    assert transaction_records.decode_value(ONGOING_BYTES) == ONGOING


def test_value_of_an_empty_one_has_a_null_array_and_only_the_tags_it_needs() -> None:
    value = TransactionValue(producer_id=9, producer_epoch=0, timeout_ms=1, last_update_ms=3)
    expected = bytes.fromhex("0001 0000000000000009 0000 00000001 00 00 0000000000000003 ffffffffffffffff 00")
    assert transaction_records.encode_value(value) == expected
    assert transaction_records.decode_value(expected) == value


def test_next_producer_id_is_tag_one() -> None:
    value = TransactionValue(9, 32767, 1, TransactionState.PREPARE_ABORT, frozenset(), 4, 3, 9, 10, 2)
    expected = bytes.fromhex(
        "0001 0000000000000009 7fff 00000001 03 01 0000000000000003 0000000000000004"
        "03 00 08 0000000000000009 01 08 000000000000000a 02 02 0002"
    )
    assert transaction_records.encode_value(value) == expected
    assert transaction_records.decode_value(expected) == value


def test_version_0_as_older_brokers_wrote_it_is_read() -> None:
    data = bytes.fromhex(
        "0000 0000000000000007 0001 0000ea60 02 00000001 0001 74 00000002 00000000 00000001"
        "0000000000000022 0000000000000011"
    )
    value = transaction_records.decode_value(data)
    assert value.state is TransactionState.PREPARE_COMMIT
    assert value.partitions == {("t", 0), ("t", 1)}
    assert (value.producer_id, value.producer_epoch, value.previous_producer_id) == (7, 1, -1)
    assert (value.last_update_ms, value.start_ms, value.client_version) == (0x22, 0x11, 0)


def test_version_0_with_a_null_array() -> None:
    data = bytes.fromhex("0000 0000000000000007 0001 0000ea60 00 ffffffff 0000000000000022 ffffffffffffffff")
    assert transaction_records.decode_value(data).partitions == frozenset()


def test_tags_of_later_versions_are_ignored() -> None:
    # Kafka 4.3 has a tag 3 (next producer epoch) that it writes only for kept two-phase transactions.
    data = ONGOING_BYTES.replace(bytes.fromhex("0000000000000011 02"), bytes.fromhex("0000000000000011 03"))
    assert transaction_records.decode_value(data + bytes.fromhex("03 02 0005")) == ONGOING


@pytest.mark.parametrize("data", ["0002", "0001 0000000000000007 0001 0000ea60 09"])
def test_unknown_versions_and_states_are_named(data: str) -> None:
    with pytest.raises(UnknownRecord):
        transaction_records.decode_value(bytes.fromhex(data))
    with pytest.raises(UnknownRecord):
        transaction_records.decode_key(bytes.fromhex("0001 0000"))


def test_decoded_for_people() -> None:
    key = transaction_records.encode_key("app")
    assert transaction_records.decode(key, None) == {"transactional_id": "app", "value": None}
    shown = transaction_records.decode(key, ONGOING_BYTES)["value"]
    assert shown["state"] == "Ongoing"
    assert shown["partitions"] == {"a": [7], "orders": [0, 2]}


def test_state_titles_are_those_of_the_protocol() -> None:
    assert [state.title for state in TransactionState] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]
