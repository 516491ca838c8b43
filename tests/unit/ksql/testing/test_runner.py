"""The test tool itself: what it reads from a file, and that it says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.ksql.testing.cases import BadFile, Case, Record, read_cases
from caudal.ksql.testing.runner import run_case

SOURCE = "CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
QUERY = "CREATE STREAM o AS SELECT * FROM s;"


def cases(folder: Path, *lines: str) -> list[Case]:
    file = folder / "cases.sql"
    file.write_text("\n".join(("--@test: one", *lines)))
    return read_cases(file)


def failure(folder: Path, *lines: str) -> str | None:
    (case,) = cases(folder, *lines)
    return run_case(case).failure


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("s | a | {} | 5 | h=v, i=0xff", Record(2, "s", b"a", b"{}", 5, (("h", b"v"), ("i", b"\xff")))),
        ("s | null | null", Record(2, "s", None, None, 0, ())),
        ("s | 0x0001 | a|b,c | 7", Record(2, "s", b"\x00\x01", b"a|b,c", 7, ())),
        ("s | a | b | 1 | h=null", Record(2, "s", b"a", b"b", 1, (("h", None),))),
    ],
)
def test_a_record(tmp_path: Path, text: str, record: Record) -> None:
    (case,) = cases(tmp_path, f"--@record: {text}")
    assert case.records == [record]


@pytest.mark.parametrize("line", ["--@record: s | a", "--@record: s | a | b | noon", "--@record: s | 0xx | b"])
def test_a_record_that_is_none(tmp_path: Path, line: str) -> None:
    with pytest.raises(BadFile, match=r"cases.sql:2: --@record: topic"):
        cases(tmp_path, line)


def test_records_are_written_at_their_place(tmp_path: Path) -> None:
    assert (
        failure(
            tmp_path,
            SOURCE,
            QUERY,
            "INSERT INTO s VALUES ('a', 1);",
            '--@record: s | b | {"A": 2}',
            "INSERT INTO s VALUES ('c', 3);",
            "ASSERT VALUES o (k, a) VALUES ('a', 1);",
            "ASSERT VALUES o (k, a) VALUES ('b', 2);",
            "ASSERT VALUES o (k, a) VALUES ('c', 3);",
        )
        is None
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["ASSERT VALUES o (k, a) VALUES ('a', 2);"], "Expected {K: 'a', A: 2}, got {K: 'a', A: 1}."),
        (["ASSERT NULL VALUES o (k) KEY ('a');"], "Expected a tombstone"),
        (["ASSERT VALUES o (a) VALUES (1);"] * 2, "O has no further record; it had 1."),
        (
            ["ASSERT VALUES o (a) VALUES (1);", '--@record: s | b | {"A": 2}'],
            "topic O has 1 more records than were asserted.",
        ),
        (["ASSERT STREAM o (k STRING KEY, a BIGINT) WITH (KAFKA_TOPIC='O', VALUE_FORMAT='JSON');"], "The columns of O"),
        (["--@expected.message: x"], "Expected an error, and there was none."),
        (["DROP STREAM nothing;"], "Unexpected error: line 5:"),
        (["DROP STREAM nothing;", "--@expected.message: other words"], "Expected an error with «other words»"),
    ],
)
def test_what_does_not_hold_is_said(tmp_path: Path, lines: list[str], said: str) -> None:
    found = failure(tmp_path, SOURCE, QUERY, "INSERT INTO s VALUES ('a', 1);", *lines)
    assert found is not None
    assert said in found
