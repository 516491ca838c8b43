"""Every `caudal …` that a page mentions, in a block or in a sentence, is one that the command line takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from caudal.cli import broker_process
from caudal.cli.main import build_app
from tests.docs.blocks import DOCS, FENCE, blocks_of, pages
from tests.docs.terminal import HERE_DOCUMENT, typed

SPAN = re.compile(r"(?<!`)`(caudal [^`]+)`(?!`)")
INDENTED = re.compile(r"^    (caudal .*)$", re.MULTILINE)
PLACEHOLDER = re.compile(r"…|\.\.\.|^[A-Z_]{3,}$")
ROOT: Any = typer.main.get_command(build_app([]))


def mentioned(page: str) -> Iterator[str]:
    text = (DOCS / page).read_text()
    prose = FENCE.sub("", text)
    yield from SPAN.findall(prose)
    yield from INDENTED.findall(prose)
    for block in blocks_of(page):
        if block.language == "console":
            for each in typed(block.text):
                yield HERE_DOCUMENT.split(each.command)[0].replace("\\\n", " ")
        elif block.language in ("sh", ""):
            yield from re.findall(r"^.*\bcaudal .*$", block.text.replace("\\\n", " "), re.MULTILINE)


def check(line: str) -> None:
    """Every command of the line exists, and so do its flags. Values, and what stands for them, are not looked at."""
    lexer = shlex.shlex(line.partition(" #")[0], posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("|;&<>"):
            commands.append([])
        else:
            commands[-1].append(word)
    for words in commands:
        if words[:1] == ["caudal"]:
            _check_command(words[1:])


def _check_command(words: list[str]) -> None:
    command, path = ROOT, "caudal"
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        name = words.pop(0)
        if PLACEHOLDER.search(name):
            return
        assert name in command.commands, f"there is no '{path} {name}'"
        command, path = command.commands[name], f"{path} {name}"
        if words[:1] == ["/"]:
            return  # `profile show / use / remove`: several at once
    flags = _flags(command, path)
    for word in words:
        flag = re.match(r"\[?(--?[A-Za-z][\w-]*)", word)
        if flag and not re.fullmatch(r"-\d.*", word):
            known = flag[1] in flags or (not flag[1].startswith("--") and flag[1][:2] in flags)
            assert known, f"'{path}' has no {flag[1]}"


def _flags(command: Any, path: str) -> set[str]:
    everywhere = {"--help", "-h", "--cluster", "--version", "-V"}
    if path == "caudal broker":
        return {name for action in broker_process.parser()._actions for name in action.option_strings} | everywhere
    return {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | everywhere


@pytest.mark.parametrize("page", pages())
def test_commands_exist_with_their_flags(page: str) -> None:
    wrong = []
    for line in mentioned(page):
        try:
            check(line)
        except (AssertionError, ValueError) as error:
            wrong.append(f"{line}: {error}")
    assert wrong == []


@pytest.mark.parametrize("line", ["caudal topic make orders", "caudal topic create orders --parts 3", "caudal nothing"])
def test_a_wrong_command_is_noticed(line: str) -> None:
    with pytest.raises(AssertionError):
        check(line)
