"""Keys, values and headers as people read them."""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from typing import Any

import pytest

from caudal.ui.services.decoding import (
    Message,
    NoSchemas,
    Note,
    Part,
    Readings,
    Record,
    SchemaValue,
    header_text,
    preview,
    read_part,
    readable,
)


class FixedSchemas:
    """Every value has this schema."""

    def __init__(self, found: SchemaValue) -> None:
        self.found = found
        self.asked = 0

    def read(self, data: bytes) -> SchemaValue | None:
        self.asked += 1
        return self.found


def read(data: bytes | None, reading: str = "auto", *, is_key: bool = False) -> Part:
    return read_part(data, NoSchemas(), reading, is_key=is_key)


@pytest.mark.parametrize(
    ("data", "kind", "value"),
    [
        (None, "null", None),
        (b"", "text", ""),
        (b"hello", "text", "hello"),
        ("año ✓".encode(), "text", "año ✓"),
        (b'{"a": [1, 2.5]}', "json", {"a": [1, 2.5]}),
        (b" [1]\n", "json", [1]),
        (b"{broken", "text", "{broken"),
        (b"42", "json", 42),
        (b"-1.5", "json", -1.5),
        (b"true", "json", True),
        (b'"quoted"', "json", "quoted"),
        (b"none of it", "text", "none of it"),
        (b"two\nlines\tand a tab", "text", "two\nlines\tand a tab"),
    ],
)
def test_values_are_guessed_from_their_bytes(data: bytes | None, kind: str, value: Any) -> None:
    part = read(data)
    assert (part.kind, part.value) == (kind, value)


def test_a_key_of_digits_is_text_because_keys_are_names() -> None:
    assert read(b"0042", is_key=True).value == "0042"
    assert read(b'{"id": 1}', is_key=True).value == {"id": 1}


def test_bytes_that_are_no_text_are_hexadecimal_and_small_ones_say_what_number_they_could_be() -> None:
    part = read(struct.pack(">q", 7))
    assert (part.kind, part.text, part.note) == ("bytes", "00 00 00 00 00 00 00 07", Note("could-be", "int64 7"))
    assert read(b"\xff\xfe\x00").note is None


@pytest.mark.parametrize(
    ("reading", "data", "text"),
    [
        ("int32", struct.pack(">i", -5), "-5"),
        ("int64", struct.pack(">q", 1 << 40), str(1 << 40)),
        ("float", struct.pack(">f", 0.5), "0.5"),
        ("double", struct.pack(">d", 2.25), "2.25"),
        ("text", b"\xffa", "\ufffda"),
        ("hex", b"ab", "61 62"),
    ],
)
def test_a_reading_that_was_asked_for_wins(reading: str, data: bytes, text: str) -> None:
    assert read(data, reading).text == text


def test_bytes_of_the_wrong_length_are_shown_with_the_reason() -> None:
    part = read(b"abc", "int64")
    assert (part.text, part.note) == ("61 62 63", Note("not-a-number", "int64"))


def test_a_value_with_a_schema_keeps_its_id_and_language() -> None:
    schemas = FixedSchemas(SchemaValue(7, "AVRO", {"when": datetime.date(2026, 1, 31), "sum": Decimal("1.50")}))
    part = read_part(b"\0\0\0\0\7xyz", schemas)
    assert (part.kind, part.schema_id) == ("AVRO", 7)
    assert part.value == {"when": "2026-01-31", "sum": Decimal("1.50")}
    assert part.text == '{"when":"2026-01-31","sum":"1.50"}'


def test_a_value_whose_schema_is_unknown_is_shown_as_it_is_with_the_reason() -> None:
    part = read_part(b"\0\0\0\0\7xyz", FixedSchemas(SchemaValue(7, "", None, Note("unknown-schema", "7"))))
    assert (part.kind, part.schema_id, part.note) == ("bytes", 7, Note("unknown-schema", "7"))


def test_readable_gives_what_json_has() -> None:
    moment = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)
    value = {"b": b"\xff", "t": moment, 1: (1, {2})}
    assert readable(value) == {"b": "/w==", "t": "2026-01-31T12:00:00+00:00", "1": [1, [2]]}


def message(key: bytes | None, value: bytes | None, topic: str = "t", **more: Any) -> Message:
    return Message(Record(topic, 0, 1, 2, 1, key, value, more.get("headers", ())), more.get("schemas", NoSchemas()))


def test_a_message_reads_its_parts_once_and_only_when_asked() -> None:
    schemas = FixedSchemas(SchemaValue(7, "AVRO", {"a": 1}))
    one = message(b"k", b"v", schemas=schemas)
    assert schemas.asked == 0
    assert one.value is one.value
    assert schemas.asked == 1


def test_of_headers_with_one_name_the_last_counts_and_bytes_are_hexadecimal() -> None:
    one = message(None, None, headers=(("a", b"1"), ("a", b"2"), ("b", b"\xff\x00"), ("c", None)))
    assert one.headers == {"a": "2", "b": "ff 00", "c": None}
    assert header_text(b"plain") == "plain"


def test_an_offset_commit_is_readable() -> None:
    key = struct.pack(">hh2sh1si", 1, 2, b"gr", 1, b"t", 3)
    one = message(key, None, topic="__consumer_offsets")
    assert one.key.kind == "internal"
    assert one.key.value["group"] == "gr"
    assert one.value.kind == "null"


def test_an_internal_record_that_cannot_be_read_says_why() -> None:
    one = message(b"\x00\x01\x00", b"x", topic="__consumer_offsets")
    assert one.key.note is not None and one.key.note.code == "unreadable"


def test_an_internal_topic_can_be_shown_raw() -> None:
    record = Record("__consumer_offsets", 0, 1, 2, 1, b"\x00\x01", None)
    assert Message(record, NoSchemas(), Readings("hex", "hex")).key.text == "00 01"


def test_a_preview_is_one_short_line() -> None:
    assert preview("a\nb\tc") == "a b c"
    assert preview("x" * 400).endswith("…") and len(preview("x" * 400)) <= 302
