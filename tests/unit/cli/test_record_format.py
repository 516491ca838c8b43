"""The forms in which `caudal consume` prints a record."""

from __future__ import annotations

import json

import pytest

from caudal.broker.coordinators import offset_records
from caudal.cli.errors import UsageError
from caudal.cli.record_format import (
    Row,
    decoded_fields,
    decoded_line,
    format_writer,
    json_writer,
    plain_writer,
    unescape,
)

ROW = Row("orders", 3, 42, 1, 1_700_000_000_000, [("source", b"web"), ("empty", None)], b"k", b"v\x00\n")
NULL = ROW._replace(key=None, value=None, headers=[])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [(r"\n", b"\n"), (r"\t|", b"\t|"), (r"\x1f", b"\x1f"), ("::", b"::"), (r"\\n", b"\\n"), ("é", "é".encode())],
)
def test_delimiters_are_unescaped(typed: str, meant: bytes) -> None:
    assert unescape(typed) == meant


def test_plain_output_is_the_bytes_themselves() -> None:
    assert plain_writer(None, b"\n", False, b"")(ROW) == b"v\x00\n\n"
    assert plain_writer(b":", b"|", False, b"")(ROW) == b"k:v\x00\n|"
    assert plain_writer(b":", b"|", True, b"")(ROW) == b"42:k:v\x00\n|"
    assert plain_writer(b":", b"\n", False, b"NULL")(NULL) == b"NULL:NULL\n"


def test_every_token_of_a_format() -> None:
    write = format_writer(r"%t %p %o %k %K %S %T %h %%\t%s", b"")
    assert write(ROW) == b"orders 3 42 k 1 3 1700000000000 source=web,empty=NULL %\tv\x00\n"
    assert format_writer("%R", b"")(ROW) == b"\x00\x00\x00\x03"
    assert format_writer("%S %K %s", b"NULL")(NULL) == b"-1 -1 NULL"


def test_an_unknown_token_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="%q"):
        format_writer("%q", b"")


def test_a_json_line_has_the_fields_of_kcat() -> None:
    line = json_writer(decode=True)(ROW._replace(value="año".encode()))
    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "topic": "orders",
        "partition": 3,
        "offset": 42,
        "tstype": "create",
        "ts": 1_700_000_000_000,
        "headers": ["source", "web", "empty", None],
        "key": "k",
        "payload": "año",
    }
    assert json.loads(json_writer(decode=True)(NULL))["payload"] is None


def test_bytes_that_are_not_text_survive_in_json() -> None:
    entry = json.loads(json_writer(decode=True)(ROW._replace(value=b"\xff\xfe")))
    assert entry["payload_base64"] == "//4="
    assert "key_base64" not in entry


def test_internal_topics_are_decoded_in_every_form() -> None:
    row = Row("__consumer_offsets", 0, 1, 1, 5, [], offset_records.offset_key("g", "orders", 2), None)
    key = {"group": "g", "topic": "orders", "partition": 2}
    entry = json.loads(json_writer(decode=True)(row))
    assert (entry["type"], entry["key"], entry["payload"]) == ("OffsetCommit", key, None)
    assert json.loads(decoded_line(plain_writer(None, b"\n", False, b""))(row))["key"] == key
    assert json.loads(decoded_fields(format_writer("%k", b""))(row)) == key
    assert "key_base64" not in json.loads(json_writer(decode=False)(ROW))


def test_an_unreadable_internal_record_is_shown_not_hidden() -> None:
    row = Row("__transaction_state", 0, 1, 1, 5, [], b"\x00\x63", b"\x01")
    entry = json.loads(json_writer(decode=True)(row))
    assert entry["type"] == "Unreadable"
    assert entry["key"] == "0063"
    assert entry["reason"]
