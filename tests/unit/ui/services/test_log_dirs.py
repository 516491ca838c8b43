"""DescribeLogDirs by hand: the request's bytes and the answer's."""

from __future__ import annotations

import asyncio
import struct

import pytest

from caudal.broker.wire.api_keys import ApiKey
from caudal.ui.services.log_dirs import API_KEY, partition_sizes, request, sizes_of


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def answer() -> bytes:
    partitions = struct.pack(">iqq?", 0, 100, 0, False) + struct.pack(">iqq?", 1, 50, 0, True)
    topic = text("orders") + struct.pack(">i", 2) + partitions
    folder = struct.pack(">h", 0) + text("/data") + struct.pack(">i", 1) + topic
    return struct.pack(">iii", 1, 0, 1) + folder


def test_the_request_asks_for_all_partitions() -> None:
    data = request()
    assert API_KEY == ApiKey.DESCRIBE_LOG_DIRS
    assert struct.unpack(">i", data[:4])[0] == len(data) - 4
    assert struct.unpack(">hhi", data[4:12]) == (35, 1, 1)
    assert data.endswith(struct.pack(">i", -1))


def test_sizes_are_read_and_replicas_on_their_way_left_out() -> None:
    assert sizes_of(answer()) == {("orders", 0): 100}


@pytest.mark.parametrize("length", [3, 12, 20, 30])
def test_a_damaged_answer_is_an_error(length: int) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        sizes_of(answer()[:length])


def test_where_a_plain_connection_is_not_enough_nothing_is_known() -> None:
    assert asyncio.run(partition_sizes([("127.0.0.1", 9)], {"security.protocol": "SASL_SSL"})) is None
