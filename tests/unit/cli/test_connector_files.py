"""What `caudal connector` reads: files of both kinds, properties on the command line, offsets."""

from __future__ import annotations

from pathlib import Path

import pytest

from caudal.cli.connector_files import ConnectorFile, read_connector, read_offsets
from caudal.cli.errors import CliError

CONFIG = {"connector.class": "FileStreamSource", "file": "f"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.properties", "# lines\nname=lines\nconnector.class = FileStreamSource\nfile=f\n"),
        ("c.json", '{"name": "lines", "config": {"connector.class": "FileStreamSource", "file": "f"}}'),
        ("c.json", '{"name": "lines", "connector.class": "FileStreamSource", "file": "f"}'),
        ("c.json", '{"config": {"name": "lines", "connector.class": "FileStreamSource", "file": "f"}}'),
    ],
)
def test_files(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert read_connector(str(file)) == ConnectorFile("lines", {**CONFIG, "name": "lines"})
    changed = read_connector(str(file), ["file=g", "tasks.max=2"], "other")
    assert changed == ConnectorFile("other", {**CONFIG, "file": "g", "tasks.max": "2", "name": "other"})


def test_the_state_to_begin_with(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text('{"name": "lines", "config": {"connector.class": "X"}, "initial_state": "PAUSED"}')
    assert read_connector(str(file)).initial_state == "PAUSED"


def test_without_a_file() -> None:
    assert read_connector(None, ["name=a", "connector.class=X"]).name == "a"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c.json", "{", "is not JSON"),
        ("c.json", "[]", "must hold a JSON object"),
        ("c.json", '{"name": "a", "config": 3}', "'config' must be a JSON object"),
        ("c.json", '{"name": "a", "config": {"name": "b", "connector.class": "X"}}', "two names"),
        ("c.json", '{"config": {"connector.class": "X"}}', "has no name"),
        ("c.properties", "name=a\n", "has no connector.class"),
        ("c.properties", "  \n", "is empty"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str, words: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(CliError, match=words):
        read_connector(str(file))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(CliError, match="cannot read no-such-file"):
        read_connector("no-such-file.properties")


def test_offsets(tmp_path: Path) -> None:
    one = {"partition": {"file": "f"}, "offset": {"position": 3}}
    for text in (
        '{"partition": {"file": "f"}, "offset": {"position": 3}}',
        '[{"partition": {"file": "f"}, "offset": {"position": 3}}]',
        ' {"offsets": [{"partition": {"file": "f"}, "offset": {"position": 3}}]}',
    ):
        assert read_offsets(text) == {"offsets": [one]}
        file = tmp_path / "offsets.json"
        file.write_text(text)
        assert read_offsets(str(file)) == {"offsets": [one]}
    with pytest.raises(CliError, match="not JSON"):
        read_offsets("{")
