"""Java .properties text, with the corners of its format."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caudal.broker.config.definition import ConfigError
from caudal.broker.config.properties_file import format_properties, parse_properties, read_properties


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("a=1", {"a": "1"}),
        ("a = 1 ", {"a": "1 "}),
        ("a:1\nb 2", {"a": "1", "b": "2"}),
        ("  a=1", {"a": "1"}),
        ("# no\n! no\n\na=1", {"a": "1"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=\nb", {"a": "", "b": ""}),
        ("a=x\\\n   y", {"a": "xy"}),
        ("a=x\\\\\nb=1", {"a": "x\\", "b": "1"}),
        ("a=x\\\n#y", {"a": "x#y"}),
        ("a\\ b\\==c=d", {"a b=": "c=d"}),
        ("a=\\u00e9\\t", {"a": "é\t"}),
        ("a=1\r\nb=2\r", {"a": "1", "b": "2"}),
        ("a=x\\", {"a": "x"}),
    ],
)
def test_parse(text: str, properties: dict[str, str]) -> None:
    assert parse_properties(text) == properties


def test_a_malformed_escape_is_said() -> None:
    with pytest.raises(ConfigError, match="malformed escape"):
        parse_properties("a=\\uzzzz")


_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=1000, exclude_characters="\x85\u2028\u2029"))


@given(st.dictionaries(_TEXT.filter(bool), _TEXT))
def test_what_is_written_is_read_back(properties: dict[str, str]) -> None:
    assert parse_properties(format_properties(properties, "comment")) == properties


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_properties(tmp_path / "missing.properties")
    binary = tmp_path / "binary.properties"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not text in UTF-8"):
        read_properties(binary)
