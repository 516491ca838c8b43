"""docs/streams.md: its code runs from top to bottom in one namespace and prints what the page says; its commands are
ones that the command line takes; its table of operators has them all. Blocks marked `needs-broker` run in
test_on_spark.py."""

from __future__ import annotations

import doctest
import inspect
import re
from typing import Any

import pytest
import typer

import caudal.streams
from caudal.cli.main import build_app
from tests.examples.example_files import ROOT
from tests.examples.test_headers import parse

GUIDE = (ROOT / "docs" / "streams.md").read_text()
MORE_PAGES = ("real-time.md", "scale-out.md")  # their commands are checked as well


def blocks(page: str) -> list[tuple[str, str, str]]:
    """(language, mark, text) of every block of code."""
    return re.findall(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


BLOCKS = blocks(GUIDE)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# Made by operators and told of there, or for type annotations.
WITHOUT_ROW = {"BranchedStream", "GlobalKTable", "ProcessorContext", "TimeWindowedKStream", "SessionWindowedKStream"}


def test_the_code_prints_what_the_page_says() -> None:
    names: dict[str, Any] = {"__name__": "the guide"}
    for number, (language, mark, text) in enumerate(BLOCKS):
        if language != "python" or mark == "needs-broker":
            continue
        if ">>>" not in text:
            exec(compile(text, f"block {number} of docs/streams.md", "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(text, names, f"block {number}", "docs/streams.md", 0)
        report: list[str] = []
        result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False)
        assert result.failed == 0, "".join(report)
        names = test.globs


def shell_lines() -> list[str]:
    pages = [GUIDE, *((ROOT / "docs" / name).read_text() for name in MORE_PAGES)]
    texts = [text.replace("\\\n", " ") for page in pages for language, _, text in blocks(page) if language == "sh"]
    lines = (line for text in texts for line in text.splitlines())
    return [line for line in lines if "caudal " in line and not line.startswith("#")]


@pytest.mark.parametrize("line", [line for line in shell_lines() if line != "caudal broker"])
def test_the_commands_are_understood(line: str) -> None:
    parse(line)


def test_every_operator_is_in_the_table() -> None:
    section = GUIDE[GUIDE.index("## Operators") : GUIDE.index("### Functions")]
    missing = []
    for name in caudal.streams.__all__:
        exported = getattr(caudal.streams, name)
        if not inspect.isclass(exported) or not re.match(r"K|Cogrouped|StreamsBuilder", name):
            continue
        for method, function in vars(exported).items():
            if inspect.isfunction(function) and not method.startswith("_") and f"`{method}" not in section:
                missing.append(f"{name}.{method}")
    assert missing == []


def test_every_flag_of_run_is_in_the_guide() -> None:
    command: Any = typer.main.get_command(build_app(["run"])).commands["run"]  # type: ignore[attr-defined]
    flags = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    elsewhere = {"--help", "--bootstrap-server", "--bootstrap-servers"}
    assert {flag for flag in flags - elsewhere if f"`{flag}" not in GUIDE} == set()


def test_the_links_of_the_page_lead_somewhere() -> None:
    titles = {
        re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in GUIDE.splitlines()
        if line.startswith("#")
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", GUIDE)) <= titles
    assert all((ROOT / "docs" / file).exists() for file in re.findall(r"\]\(([^)#]+\.md)\)", GUIDE))
