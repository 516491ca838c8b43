"""The processing log: the form of its lines, and that a flood of them does not get into Python's log."""

from __future__ import annotations

import logging

import pytest

from caudal.ksql import processing_log
from caudal.ksql.processing_log import LogSink, collected, report, report_deserialization, report_serialization


def test_lines_have_the_form_of_ksqldb() -> None:
    with collected() as lines:
        try:
            raise ValueError("outer") from KeyError("inner")
        except ValueError as error:
            report("Q1.Project", error, record="1,2")
        report_deserialization("Q1.Source", ValueError("no JSON"), topic="t", data=b"{")
        report_serialization("Q1.Sink", ValueError("too wide"), topic="t", target="key")
    assert [line["logger"] for line in lines] == ["Q1.Project", "Q1.Source", "Q1.Sink"]
    assert lines[0]["level"] == "ERROR" and lines[0]["time"] > 1_700_000_000_000
    assert lines[0]["message"] == {
        "type": 1,
        "recordProcessingError": {"errorMessage": "outer", "cause": ["'inner'"], "record": "1,2"},
    }
    assert lines[1]["message"] == {
        "type": 0,
        "deserializationError": {
            "errorMessage": "no JSON", "cause": [], "target": "value", "topic": "t", "recordB64": "ew==",
        },
    }  # fmt: skip
    assert lines[2]["message"]["type"] == 3
    assert processing_log.message_of(lines[1]) == "no JSON"


def test_an_error_without_words_has_the_name_of_its_class() -> None:
    with collected() as lines:
        report("Q1", KeyError())
    assert processing_log.message_of(lines[0]) == "KeyError"


def test_pythons_log_is_not_flooded(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    before = processing_log.set_sink(LogSink(limit=3, clock=lambda: now[0]))
    try:
        with caplog.at_level(logging.WARNING, "caudal.ksql.processing"):
            for _ in range(100):
                report("Q1", ValueError("bad"))
            report("Q2", ValueError("other"))
            now[0] = 61
            report("Q1", ValueError("bad"))
    finally:
        processing_log.set_sink(before)
    assert caplog.messages == [
        "Q1: bad",
        "Q1: bad",
        "Q1: bad",
        "Q2: other",
        "Q1: bad (97 more like this were left out)",
    ]


def test_a_sink_that_fails_does_not_fail_the_query(caplog: pytest.LogCaptureFixture) -> None:
    def broken(line: processing_log.Line) -> None:
        raise OSError("no broker")

    before = processing_log.set_sink(broken)
    try:
        report("Q1", ValueError("bad"))
    finally:
        processing_log.set_sink(before)
    assert "could not be written" in caplog.text
