"""The files in examples/ as tests see them: their builders, loaded as `caudal run` loads them, and the commands of
their headers, which are shell lines that a reader copies."""

from __future__ import annotations

import ast
from pathlib import Path

from caudal.cli.commands.run import load_builder
from caudal.streams import StreamsBuilder

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def load(name: str) -> StreamsBuilder:
    """The builder of examples/NAME.py, made anew."""
    return load_builder(ROOT / "examples" / f"{name}.py")


def header(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def commands(text: str) -> list[str]:
    """The shell lines of a header or a page: those that are indented (or fenced) and call `caudal`."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    return [line for line in lines if line.startswith(("caudal ", "printf ", "echo "))]
