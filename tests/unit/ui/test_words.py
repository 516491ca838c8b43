"""Every text of the pages has a translation, and every translation a text."""

from __future__ import annotations

import ast
import json
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from caudal.ui import words

SOURCE = Path(words.__file__).parents[1]
SPEAKERS = {"t": 1, "tn": 2, "translated": 1}  # how many of the first arguments are texts
TITLED = {"title", "group"}  # of @page, translated when shown


def said() -> dict[str, Path]:
    """Every English text that some file shows, with the file."""
    return {text: file for file in sorted(SOURCE.rglob("*.py")) for text in texts_of(file)}


def texts_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for argument in node.args[: SPEAKERS.get(node.func.id, 0)]:
                yield from literals(argument)
            if node.func.id == "page":
                yield from (
                    text for keyword in node.keywords if keyword.arg in TITLED for text in literals(keyword.value)
                )
        elif isinstance(node, ast.Assign) and file.name == "shell.py":
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if names & {"GROUPS", "LAST_GROUP", "NOT_FOUND"}:
                yield from literals(node.value)


def literals(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value:
            yield part.value


def translations() -> list[Path]:
    return sorted((words.FOLDER / "es").glob("*.json"))


def test_every_text_is_translated() -> None:
    known = words.dictionary("es")
    missing = {text: str(file.relative_to(SOURCE)) for text, file in said().items() if text not in known}
    assert not missing, f"add these to words/es/<page>.json: {missing}"


@pytest.mark.parametrize("file", translations(), ids=lambda file: file.stem)
def test_no_translation_is_left_over(file: Path) -> None:
    used = said()
    assert [text for text in json.loads(file.read_text(encoding="utf-8")) if text not in used] == []


def test_files_agree_on_what_they_both_translate() -> None:
    seen: dict[str, str] = {}
    for file in translations():
        for text, spanish in json.loads(file.read_text(encoding="utf-8")).items():
            assert seen.setdefault(text, spanish) == spanish, f"{file.name}: {text}"


@pytest.mark.parametrize("file", translations(), ids=lambda file: file.stem)
def test_a_translation_fills_the_same_places(file: Path) -> None:
    for text, spanish in json.loads(file.read_text(encoding="utf-8")).items():
        assert places(text) == places(spanish), text


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_a_text_is_said_in_the_language_and_filled() -> None:
    assert words.translated("Overview", "es") == "Resumen"
    assert words.translated("Overview", "en") == "Overview"
    assert words.translated("not translated", "es") == "not translated"
    assert words.t("{first}–{last} of {total}", first=1, last=2, total=3) == "1–2 of 3"
    assert words.tn("{n} row", "{n} rows", 1) == "1 row"
    assert words.tn("{n} row", "{n} rows", 0) == "0 rows"
