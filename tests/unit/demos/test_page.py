"""docs/demos.md: its commands are ones that the command line takes, and its table has every option."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from caudal.cli.commands import demo
from caudal.demos.chess import topics as chess_topics
from caudal.demos.elections import topics

PAGE = (Path(__file__).parents[3] / "docs" / "demos.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def command(name: str) -> click.Command:
    app = typer.Typer()
    demo.register(app)
    group: Any = typer.main.get_command(app)
    group = group.commands.get("demo", group)
    found: click.Command = group.commands[name]
    return found


@pytest.mark.parametrize("line", LINES)
def test_the_command_line_takes_the_commands_of_the_page(line: str) -> None:
    caudal, word, name, *arguments = shlex.split(line)
    assert (caudal, word) == ("caudal", "demo")
    command(name).make_context(name, arguments)  # parses; runs nothing


def test_the_page_names_every_option_of_the_elections() -> None:
    hidden = {"--ready-fd", "--stop-on-stdin-eof"}
    options = {name for one in command("elections").params for name in one.opts if name.startswith("--")}
    assert {name for name in options - hidden if name not in PAGE} == set()


def test_the_page_names_every_topic() -> None:
    names = [*topics.TOPICS, chess_topics.SQUARES, chess_topics.REFUSED]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
