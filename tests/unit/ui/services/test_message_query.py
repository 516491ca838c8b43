"""A query of messages and its address."""

from __future__ import annotations

import pytest

from caudal.ui.services.decoding import Readings
from caudal.ui.services.filters import Filter
from caudal.ui.services.message_query import OFFSET, TIME, Query, QueryError, parse_cursor, parse_partitions


def test_a_query_comes_back_from_its_address() -> None:
    query = Query(
        start=OFFSET,
        offset="17",
        partitions=(0, 2),
        filter=Filter("text", "key", "h=1", "value.a > 1"),
        readings=Readings("int64", "hex"),
        size=100,
        cursor={0: 5, 2: 9},
    )
    assert Query.of(query.params()) == query


def test_the_default_needs_no_parameters() -> None:
    assert Query().params() == {}
    assert Query.of({}) == Query()


def test_what_cannot_be_meant_is_ignored() -> None:
    assert Query.of({"from": "x", "size": "7", "partition": "a,1", "at": "0:x", "key_as": "yaml"}) == Query(
        partitions=(1,)
    )


@pytest.mark.parametrize("offset", ["", "-1", "x", "1.5"])
def test_a_wrong_offset_is_said_beside_its_field(offset: str) -> None:
    with pytest.raises(QueryError) as error:
        _ = Query(start=OFFSET, offset=offset).start_offset
    assert error.value.field == "offset"


def test_times_are_read_as_on_the_command_line_and_wrong_ones_are_said_beside_their_field() -> None:
    assert Query(start=TIME, time="2023-11-14T22:13:20Z").start_ms == 1_700_000_000_000
    with pytest.raises(QueryError) as error:
        _ = Query(start=TIME, time="yesterday").start_ms
    assert error.value.field == "time"


def test_partitions_are_numbers_and_ranges_of_those_that_exist() -> None:
    assert parse_partitions("", 3) == ()
    assert parse_partitions(" 0, 2-3 ", 4) == (0, 2, 3)
    for wrong in ("x", "1-", "4", "0-999999999999"):
        with pytest.raises(QueryError) as error:
            parse_partitions(wrong, 4)
        assert error.value.field == "partition"


def test_a_damaged_cursor_is_none() -> None:
    assert parse_cursor("0:1,") is None
    assert parse_cursor("x") is None
