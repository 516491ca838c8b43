"""Messages as JSON lines and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from caudal.ui.services.decoding import Message, NoSchemas, Record
from caudal.ui.services.export import COLUMNS, CSV, JSON_LINES, json_line, lines


def message(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = (), offset: int = 7
) -> Message:
    return Message(Record("t", 1, offset, 1_700_000_000_000, 1, key, value, tuple(headers)), NoSchemas())


def csv_rows(*messages: Message) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(lines(messages, CSV)).decode())))


def test_a_json_line_has_the_value_as_json_and_headers_by_name() -> None:
    line = json.loads(json_line(message(b"k", b'{"a": [1]}', [("h", b"1")])))
    assert line == {
        "topic": "t",
        "partition": 1,
        "offset": 7,
        "timestamp": 1_700_000_000_000,
        "key": "k",
        "value": {"a": [1]},
        "headers": {"h": "1"},
    }


def test_bytes_that_are_no_text_go_as_base64_under_a_name_that_says_so() -> None:
    line = json.loads(json_line(message(None, b"\xff\x00")))
    assert line["value_base64"] == "/wA="
    assert "value" not in line
    assert line["key"] is None


def test_csv_has_a_head_and_quotes_what_needs_it() -> None:
    text = b"".join(lines([message(b'say "hi", you', b"two\nlines")], CSV)).decode()
    assert text.splitlines()[0] == ",".join(COLUMNS)
    (row,) = csv_rows(message(b'say "hi", you', b"two\nlines"))
    assert (row["key"], row["value"], row["offset"]) == ('say "hi", you', "two\nlines", "7")


def test_a_record_cannot_be_a_formula_in_a_spreadsheet() -> None:
    rows = csv_rows(message(b"=HYPERLINK(1)", b"@x"), message(b"-5", b"+x"), message(b"a", b"-1.5"))
    assert [(row["key"], row["value"]) for row in rows] == [("'=HYPERLINK(1)", "'@x"), ("-5", "'+x"), ("a", "-1.5")]


def test_lines_come_in_blocks_and_none_is_lost() -> None:
    many = [message(b"k", b"x" * 100, offset=one) for one in range(5000)]
    blocks = list(lines(many, JSON_LINES))
    assert 1 < len(blocks) < 50
    offsets = [json.loads(line)["offset"] for line in b"".join(blocks).splitlines()]
    assert offsets == list(range(5000))
