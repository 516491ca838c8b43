"""Every example says what it shows and how to feed it, and its commands are ones that the command line takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from caudal.cli.main import build_app
from tests.examples.example_files import EXAMPLES, ROOT, commands, header, load

# The specification's own example stays as it stands there, without a header.
WITH_HEADER = [path for path in EXAMPLES if path.name != "orders.py"]


def parse(line: str) -> None:
    """Lets the command line parse the `caudal` part of a shell line, without running it."""
    words = shlex.split(line[line.index("caudal ") :])[1:]
    command: Any = typer.main.get_command(build_app(words))
    context = None
    while hasattr(command, "resolve_command"):
        context = command.make_context("caudal", words[:1], parent=context, resilient_parsing=True)
        _, command, words = command.resolve_command(context, words)
    command.make_context(command.name, words, parent=context)


@pytest.mark.parametrize("path", WITH_HEADER, ids=lambda path: path.stem)
def test_the_commands_of_the_header_are_understood(path: Path) -> None:
    lines = commands(header(path))
    assert f"caudal run examples/{path.name}" in lines
    for line in lines:
        parse(line)


@pytest.mark.parametrize("path", WITH_HEADER, ids=lambda path: path.stem)
def test_the_header_creates_feeds_and_shows_the_topics_of_the_topology(path: Path) -> None:
    topology = load(path.stem).build()
    internal = topology.internal_topics.keys()
    subs = [*topology.subtopologies, *topology.global_subtopologies]
    sources = {topic for sub in subs for topic in sub.source_topics} - internal
    sinks = {topic for sub in subs for topic in sub.sink_topics} - internal
    text = "\n".join(commands(header(path)))
    created = set(re.findall(r"caudal topic create (\S+)", text))
    assert sources <= created <= sources | sinks
    assert set(re.findall(r"caudal produce (\S+)", text)) == sources
    shown = {topic for line in re.findall(r"caudal consume ([^-]\S*(?: [^-]\S*)*)", text) for topic in line.split()}
    assert shown == sinks


@pytest.mark.parametrize("path", WITH_HEADER, ids=lambda path: path.stem)
def test_the_header_says_what_it_shows(path: Path) -> None:
    assert "\nShows: " in header(path)


def test_a_wrong_command_is_noticed() -> None:
    with pytest.raises(Exception, match=r"No such (option|command)"):
        parse("caudal produce lines --no-such-option")


def test_the_readme_of_the_examples_is_the_guide() -> None:
    guide = (ROOT / "docs" / "streams.md").read_text()
    assert [path.name for path in EXAMPLES if f"examples/{path.name}" not in guide] == []
