"""The table of exit codes in docs/cli.md, line by line, as a script meets them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from caudal.cli import errors
from caudal.testing import EmbeddedBroker

from .conftest import Caudal

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"


def test_the_page_lists_the_codes_that_there_are() -> None:
    listed = {int(number) for number in re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)}
    known = {errors.FAILED, errors.WRONG_USAGE, errors.SOMETHING_LEFT, errors.NOT_FOUND, errors.INTERRUPTED}
    assert listed == {0, *known}


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ["--version"]),
        (0, []),
        (0, ["topic", "--help"]),
        (0, ["topic", "list"]),
        (0, ["topic", "delete", "no-such-topic", "--if-exists"]),
        (1, ["topic", "create", "bad name!"]),
        (1, ["topic", "list", "-b", "127.0.0.1:1"]),
        (1, ["schema", "list", "--registry", "http://127.0.0.1:1"]),
        (1, ["connector", "list", "--connect", "http://127.0.0.1:1"]),
        (1, ["doctor", "-b", "127.0.0.1:1", "-q"]),
        (2, ["nonsense"]),
        (2, ["topic", "nonsense"]),
        (2, ["topic", "list", "--nonsense"]),
        (2, ["topic", "create"]),
        (2, ["topic", "list", "-b", "host:port"]),
        (2, ["broker", "--port", "x"]),
        (2, ["completion", "tcsh"]),
        (4, ["topic", "describe", "no-such-topic"]),
        (4, ["topic", "alter", "no-such-topic", "-p", "9"]),
        (4, ["topic", "delete", "no-such-topic"]),
        (4, ["consume", "no-such-topic", "-e"]),
        (4, ["group", "describe", "no-such-group"]),
        (4, ["group", "delete", "no-such-group"]),
        (4, ["cluster", "profile", "show", "no-such-cluster"]),
        (4, ["topic", "list", "--cluster", "no-such-cluster"]),
    ],
)
def test_exit_codes(on_broker: Caudal, code: int, arguments: list[str]) -> None:
    outcome = on_broker(*arguments)
    assert outcome.code == code, outcome.err
    assert "Traceback" not in outcome.err


def test_interrupted(broker: EmbeddedBroker) -> None:
    """A person who presses Ctrl-C at `caudal produce`; what was typed before is sent."""
    broker.create_topic("typed")
    command = [sys.executable, "-m", "caudal.cli.main", "produce", "typed", "-b", broker.bootstrap, "-T", "-q"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as producing:
        assert producing.stdin is not None and producing.stdout is not None
        producing.stdin.write(b"one\n" + b"x" * 9000 + b"\n")
        producing.stdin.flush()
        os.read(producing.stdout.fileno(), 3)  # it is on: -T has copied the first record
        producing.send_signal(signal.SIGINT)
        assert producing.wait(60) == errors.INTERRUPTED


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("topc", "topic"), ("consum", "consume"), ("docter", "doctor")],
)
def test_a_mistyped_command_is_told_what_was_meant(caudal: Caudal, typed: str, meant: str) -> None:
    outcome = caudal(typed)
    assert outcome.code == 2
    assert f"Did you mean '{meant}'" in outcome.err


def test_without_arguments_the_commands_are_shown_by_what_they_are_for(caudal: Caudal) -> None:
    outcome = caudal()
    titles = [line.rstrip(":") for line in outcome.lines if re.fullmatch(r"[A-Z]\w+:", line)]
    assert titles[:5] == ["Options", "Servers", "Administration", "Data", "SQL"]
    assert "Tools" in titles
    assert "..." not in outcome.out.partition("Servers")[2], "whole sentences"
