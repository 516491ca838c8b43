"""docs/serdes.md: its code runs from top to bottom in one namespace; the command line takes its commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.examples.test_headers import parse

from caudal.registry.mock import forget_registry

PAGE = (Path(__file__).parents[3] / "docs" / "serdes.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_code_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    forget_registry("mock://page")
    monkeypatch.setenv("CAUDAL_KEY_CARDS", "")  # put back as it was at the end
    names: dict[str, object] = {}
    found = blocks("python")
    assert len(found) == 5
    for number, text in enumerate(found, start=1):
        exec(compile(text, f"block {number} of docs/serdes.md", "exec"), names)
    assert capsys.readouterr().out.startswith("The rule 'seal' cannot be run: the key 'cards' is not here")
    forget_registry("mock://page")


def test_the_commands_are_understood() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(lines) == 7
    for line in lines:
        parse(line)
