"""The form's texts as bytes, and messages as forms."""

from __future__ import annotations

import pytest

from caudal.ui.services.decoding import Message, NoSchemas, Record, SchemaValue
from caudal.ui.services.message_query import QueryError
from caudal.ui.services.producing import (
    HEX,
    JSON,
    NULL,
    SCHEMA,
    TEXT,
    Written,
    check,
    draft_of,
    header_pairs,
    plain_bytes,
)


class AvroEverywhere:
    def read(self, data: bytes) -> SchemaValue | None:
        return SchemaValue(7, "AVRO", {"a": 1})


@pytest.mark.parametrize(
    ("written", "data"),
    [
        (Written(TEXT, "año"), "año".encode()),
        (Written(JSON, '{"a": 1}'), b'{"a": 1}'),
        (Written(HEX, "00 ff2A"), b"\x00\xff\x2a"),
        (Written(NULL, "ignored"), None),
    ],
)
def test_texts_become_bytes(written: Written, data: bytes | None) -> None:
    check("value", written)
    assert plain_bytes(written) == data


@pytest.mark.parametrize(
    ("written", "field"),
    [
        (Written(JSON, '{"a": }'), "value"),
        (Written(HEX, "0g"), "value"),
        (Written(SCHEMA, "{", "s"), "value"),
        (Written(SCHEMA, "{}", ""), "value_subject"),
    ],
)
def test_wrong_texts_are_said_beside_their_field(written: Written, field: str) -> None:
    with pytest.raises(QueryError) as error:
        check("value", written)
    assert error.value.field == field


def test_headers_are_lines_and_a_value_may_have_an_equals_sign() -> None:
    assert header_pairs("a=1\n\n b = x=y ") == [("a", b"1"), ("b", b"x=y")]
    with pytest.raises(QueryError, match="Line 2"):
        header_pairs("a=1\nb")


def test_a_message_becomes_a_form_that_writes_the_same() -> None:
    record = Record("t", 2, 0, 0, 1, b"\x00\x01", b'{"a": 1}', (("h", b"1"),))
    draft = draft_of(Message(record, NoSchemas()), {})
    assert plain_bytes(draft.key) == b"\x00\x01"
    assert (draft.value.format, draft.value.text) == (JSON, '{\n  "a": 1\n}')
    assert (draft.headers, draft.partition) == ("h=1", 2)
    assert draft_of(Message(record._replace(value=None), NoSchemas()), {}).value.format == NULL


def test_a_value_with_a_known_schema_keeps_it_and_one_without_its_subject_keeps_its_bytes() -> None:
    message = Message(Record("t", 0, 0, 0, 1, None, b"\0\0\0\0\7x"), AvroEverywhere())
    assert draft_of(message, {7: "t-value"}).value == Written(SCHEMA, '{\n  "a": 1\n}', "t-value")
    assert draft_of(message, {}).value.format == HEX
