"""Kafka Connect's bytes: computed by hand from the published schema, and there and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caudal.connect.runtime.group_protocol import (
    CONFIG_MISMATCH,
    Assignment,
    Load,
    MalformedMessage,
    WorkerMetadata,
    by_connector,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
    load,
)
from caudal.connect.runtime.model import TaskId

# Version 2; error 0; leader "m1"; its address "u"; config offset 5; assigned: connector "a" itself and its task 0;
# revoked: "b" with task 3; delay 1000 ms.
BY_HAND = bytes.fromhex(
    "0002"
    "0000"
    "0002 6d31"
    "0001 75"
    "0000000000000005"
    "00000001 0001 61 00000002 ffffffff 00000000"
    "00000001 0001 62 00000001 00000003"
    "000003e8".replace(" ", "")
)
ASSIGNMENT = Assignment("m1", "u", 5, load(["a"], [TaskId("a", 0)]), load([], [TaskId("b", 3)]), 1000)


def test_an_assignment_has_the_published_layout() -> None:
    assert encode_assignment(ASSIGNMENT, 2) == BY_HAND
    assert decode_assignment(BY_HAND) == ASSIGNMENT


def test_metadata_has_the_published_layout() -> None:
    by_hand = (
        bytes.fromhex("0002 0001 75 0000000000000007".replace(" ", "")) + len(BY_HAND).to_bytes(4, "big") + BY_HAND
    )
    assert encode_metadata(WorkerMetadata("u", 7, ASSIGNMENT), 2) == by_hand
    assert decode_metadata(by_hand) == WorkerMetadata("u", 7, ASSIGNMENT)


def test_a_worker_without_an_assignment_sends_null() -> None:
    by_hand = bytes.fromhex("0001 0001 75 ffffffffffffffff ffffffff".replace(" ", ""))
    assert encode_metadata(WorkerMetadata("u", -1), 1) == by_hand
    assert decode_metadata(by_hand) == WorkerMetadata("u", -1)


def test_what_older_workers_leave_out_is_empty() -> None:
    short = BY_HAND[: 2 + 2 + 4 + 3 + 8]
    assert decode_assignment(short) == Assignment("m1", "u", 5)


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
loads = st.builds(load, st.lists(names, max_size=4), st.lists(st.builds(TaskId, names, st.integers(0, 99)), max_size=6))
assignments = st.builds(
    Assignment, names, names, st.integers(-1, 2**60), loads, loads, st.integers(0, 2**31 - 1), st.just(CONFIG_MISMATCH)
)


@given(assignments)
def test_there_and_back(assignment: Assignment) -> None:
    assert decode_assignment(encode_assignment(assignment, 1)) == assignment


@given(st.binary(max_size=60))
def test_other_bytes_are_refused_and_no_more(data: bytes) -> None:
    try:
        decode_metadata(data)
    except (MalformedMessage, UnicodeDecodeError):
        pass


def test_an_announced_length_is_not_believed() -> None:
    with pytest.raises(MalformedMessage):
        decode_metadata(BY_HAND[:2] + b"\x7f\xff")


def test_the_connector_itself_comes_first() -> None:
    assert by_connector(Load(frozenset("b"), frozenset([TaskId("b", 1), TaskId("a", 0)]))) == {"a": [0], "b": [-1, 1]}
