"""Keys, values and commands survive the way over the topic; what is not ours is left out, never an error."""

from __future__ import annotations

import pytest

from caudal.pipelines.records import Command, Key, Order, Part, decode, encode, parse_command, parse_key


def test_a_key_is_read_as_it_was_written() -> None:
    key = Key("orders.by-user_1", "host-12-ab", Part.FIGURES)
    assert parse_key(key.encode()) == key


@pytest.mark.parametrize(
    "data", [None, b"", b"a/b", b"a/b/c", b"a//about", b"/i/about", b"a/b/about/c", b"\xff/b/about"]
)
def test_other_keys_are_nobodys(data: bytes | None) -> None:
    assert parse_key(data) is None


def test_a_value_is_read_as_it_was_written_and_other_versions_are_left_out() -> None:
    assert decode(encode({"state": "RUNNING"})) == {"v": 1, "state": "RUNNING"}
    for data in (b"", b"{", b"[1]", b'{"state":"RUNNING"}', b'{"v":2}', b"\x80\x04K\x01."):
        assert decode(data) is None


def test_a_command_is_for_all_instances_or_for_one() -> None:
    everybody = parse_command(Command(Order.PAUSE, "app").encode())
    one = parse_command(Command(Order.STOP, "app", "i1").encode())
    assert everybody is not None and everybody.is_for("app", "i1") and everybody.is_for("app", "i2")
    assert one is not None and one.is_for("app", "i1") and not one.is_for("app", "i2")
    assert not everybody.is_for("other", "i1")


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"stop",
        b'{"v":1,"command":"delete","application":"a","id":"1","time":1}',
        b'{"v":1,"command":"stop","application":7,"id":"1","time":1}',
        b'{"v":1,"command":"stop","application":"a","time":1}',
        b'{"v":1,"command":"stop","application":"a","id":"1","time":"now"}',
        b'{"v":1,"command":"stop","application":"a","id":"1","time":1,"instance":[]}',
        b'{"v":1,"command":["stop"],"application":"a","id":"1","time":1}',
        b'{"v":1,"command":"stop","application":"' + b"a" * 5000 + b'","id":"1","time":1}',
    ],
)
def test_what_is_no_command_is_left_out(data: bytes | None) -> None:
    assert parse_command(data) is None
