"""Log lines for people and for machines, and the brake on repeated warnings."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from caudal.broker import logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:], root.level = before, level
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = True


def test_json_lines_carry_level_time_message_and_fields(stream: io.StringIO) -> None:
    logs.set_up("info", "json", stream)
    logging.getLogger("caudal.broker.server").warning("closing %s", "10.0.0.7", extra={"reason": "idle", "after": 3})
    logging.getLogger("caudal.broker.server").debug("not shown")
    entry = json.loads(stream.getvalue())
    assert entry["message"] == "closing 10.0.0.7"
    assert (entry["level"], entry["logger"]) == ("warning", "caudal.broker.server")
    assert (entry["reason"], entry["after"]) == ("idle", 3)
    assert entry["ts"].endswith("+00:00")


def test_an_exception_stays_on_its_json_line(stream: io.StringIO) -> None:
    logs.set_up("info", "json", stream)
    try:
        raise ValueError("odd")
    except ValueError:
        logging.getLogger("x").exception("failed")
    assert stream.getvalue().count("\n") == 1
    assert "ValueError: odd" in json.loads(stream.getvalue())["exception"]


def test_text_is_one_short_line_without_colour_off_a_terminal(stream: io.StringIO) -> None:
    logs.set_up("debug", "text", stream)
    logging.getLogger("caudal.broker.server").error("disk full", extra={"folder": "/data"})
    line = stream.getvalue()
    assert line.endswith("disk full  folder=/data\n")
    assert "ERROR server" in line
    assert "\x1b" not in line


def test_a_client_cannot_forge_lines(stream: io.StringIO) -> None:
    logs.set_up("info", "text", stream)
    logging.getLogger("x").warning("client %s", "a\n12:00:00 INFO  all is well\x1b[2J")
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


@pytest.mark.parametrize(("level", "style"), [("loud", "text"), ("info", "xml")])
def test_a_wrong_setting_is_refused(level: str, style: str) -> None:
    with pytest.raises(ValueError, match="choose one of"):
        logs.set_up(level, style, io.StringIO())


def test_a_repeated_warning_is_said_once_and_then_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("caudal.broker.logs.time.monotonic", lambda: now)
    quiet = logs.Quiet(logging.getLogger("caudal.test"), seconds=10)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            quiet.warning("crc", "wrong CRC from %s", "a")
        quiet.warning("size", "too large")
        assert [record.getMessage() for record in caplog.records] == ["wrong CRC from a", "too large"]
        now += 11
        quiet.warning("crc", "wrong CRC from %s", "b")
    assert vars(caplog.records[-1])["repeated"] == 4


def test_the_table_of_kinds_does_not_grow_with_hostile_clients() -> None:
    quiet = logs.Quiet(logging.getLogger("caudal.test.silent"), seconds=3600)
    logging.getLogger("caudal.test.silent").disabled = True
    for number in range(5000):
        quiet.warning(f"client-{number}", "x")
    assert len(quiet._kinds) <= logs.Quiet.MAX_KINDS
