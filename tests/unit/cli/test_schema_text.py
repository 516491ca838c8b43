"""How schemas and reasons are shown."""

from __future__ import annotations

import sys

import pytest

from caudal.cli.schema_text import diff_lines, pretty, print_schema, reasons

ONE = (
    "{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', "
    "description:'The field 'total' at path '/fields/1' has no default', additionalInfo:'total'}"
)
OTHER = "{errorType:'TYPE_MISMATCH', description:'int\n is not string', additionalInfo:'reader type: INT not {x}'}"


def test_json_is_indented_and_protobuf_left_alone() -> None:
    assert pretty("AVRO", '{"type":"string","doc":"ü"}') == '{\n  "type": "string",\n  "doc": "ü"\n}'
    assert pretty("PROTOBUF", "message A {}\n") == "message A {}"
    assert pretty("JSON", "{") == "{"


def test_a_terminal_gets_colour_and_a_pipe_does_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_schema("AVRO", '{"a":1}')
    assert capsys.readouterr().out == '{\n  "a": 1\n}\n'
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    print_schema("AVRO", '{"a":1}')
    assert "\x1b[" in capsys.readouterr().out


def test_a_diff_is_of_the_indented_text() -> None:
    lines = diff_lines(("a@1", "AVRO", '{"x":1,"y":2}'), ("a@2", "AVRO", '{ "x": 1, "y": 3 }'))
    assert lines[:2] == ["--- a@1", "+++ a@2"]
    assert [line for line in lines[2:] if line[0] in "+-"] == ['-  "y": 2', '+  "y": 3']
    assert diff_lines(("a", "AVRO", '{"x":1}'), ("b", "AVRO", '{ "x": 1 }')) == []


def test_reasons_are_the_sentences() -> None:
    first = "The field 'total' at path '/fields/1' has no default (READER_FIELD_MISSING_DEFAULT_VALUE)"
    second = "int is not string (TYPE_MISMATCH)"
    assert reasons([ONE, OTHER, "{oldSchemaVersion: 1}", "{oldSchema: '{}'}", "{compatibility: 'FULL'}"]) == [
        first,
        second,
    ]
    assert reasons(
        [f'Schema being registered is incompatible, details: [{ONE}, {OTHER}, {{compatibility: "FULL"}}]']
    ) == [
        first,
        second,
    ]
    assert reasons(["something\nelse"]) == ["something else"]
