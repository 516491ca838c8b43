"""The time of a row from its column; in a topology of the test driver, too."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from caudal.ksql import types
from caudal.ksql.formats.timestamps import ColumnTime, timestamp_extractor
from caudal.ksql.processing_log import collected
from caudal.ksql.schema import Column, Place, Schema
from caudal.runtime.record import Windowed

SCHEMA = Schema(
    (
        Column("K", types.BIGINT, Place.KEY),
        Column("H", types.BYTES, Place.HEADERS, "h"),
        Column("L", types.BIGINT),
        Column("T", types.TIMESTAMP),
        Column("S", types.STRING),
    )
)
ROW = (None, 5000, datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC), "1970-01-01 00:00:03")
PATTERN = "yyyy-MM-dd HH:mm:ss"


def extractor(name: str, pattern: str | None = None, is_windowed: bool = False) -> ColumnTime:
    made = timestamp_extractor(SCHEMA, name, pattern, is_windowed=is_windowed)
    assert made is not None
    return made


@pytest.mark.parametrize(("name", "pattern", "expected"), [("L", None, 5000), ("T", None, 2000), ("S", PATTERN, 3000)])
def test_columns_of_the_value(name: str, pattern: str | None, expected: int) -> None:
    made = extractor(name, pattern)
    again = pickle.loads(pickle.dumps(made))
    assert again == made and hash(again) == hash(made)
    for each in (made, again):
        assert each((1,), ROW, 99) == expected
        assert each(None, None, 99) == 99  # a tombstone keeps the record's time


def test_names_are_read_without_regard_to_case() -> None:
    made = extractor("S", "d MMM yyyy")
    assert [made((1,), (None, 0, None, text), 99) for text in ("2 JAN 1970", "2 jan 1970")] == [86_400_000] * 2


def test_columns_of_the_key() -> None:
    assert extractor("K")((7000,), ROW, 99) == 7000
    assert extractor("K", is_windowed=True)(Windowed((7000,), 0, 10), ROW, 99) == 7000
    assert extractor("K")(None, ROW, 99) == 99


BAD: list[tuple[str, str | None, Any]] = [
    ("L", None, None),
    ("L", None, -1),
    ("T", None, None),
    ("S", PATTERN, None),
    ("S", PATTERN, "yesterday"),
]


@pytest.mark.parametrize(("name", "pattern", "value"), BAD)
def test_a_row_without_time_is_dropped_with_a_line(name: str, pattern: str | None, value: Any) -> None:
    row = tuple(value if column.name == name else None for column in SCHEMA.value)
    with collected() as lines:
        assert extractor(name, pattern)((1,), row, 99) == -1
    assert len(lines) == 1


def test_no_column_no_extractor() -> None:
    assert timestamp_extractor(SCHEMA, None) is None
