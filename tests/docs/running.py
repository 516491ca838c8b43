"""Runs the blocks of one page from top to bottom, in a folder, a namespace and an SQL engine of the page's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from caudal.ksql.testing.in_process import InProcess
from tests.docs.blocks import Block
from tests.docs.languages import check_settings, run_python, run_sql
from tests.docs.platform import Platform
from tests.docs.terminal import Terminal, matches

SETTINGS = ("json", "yaml", "toml", "properties")
UNCHANGED: Callable[[str], str] = str


class PageRun:
    def __init__(self, page: str, folder: Path, platform: Platform | None = None, **names: Any) -> None:
        """Without a platform the page has no commands to type, and its code talks to brokers of its own."""
        self._page = page
        self._folder = folder
        self._addressed = UNCHANGED if platform is None else platform.addressed
        environment = {} if platform is None else platform.environment(folder)
        self._terminal = Terminal(folder, environment, self._addressed)
        self._names: dict[str, Any] = {"__name__": "page", **names}
        self._engine: InProcess | None = None
        self._printed: str | None = None

    def run(self, blocks: Iterable[Block]) -> None:
        before = Path.cwd()
        os.chdir(self._folder)
        try:
            for block in blocks:
                self._run(block)
        finally:
            os.chdir(before)
            self._terminal.close()
            if self._engine is not None:
                self._engine.close()

    def _run(self, block: Block) -> None:
        if block.is_output:
            if self._printed is not None:
                assert matches(block.text, self._printed), f"{block}: printed was\n{self._printed}"
            return
        self._printed = None
        if block.note == "not run":
            return
        if block.title is not None:
            file = self._folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._addressed(block.text))
            if block.language == "sql":
                return  # a file for a command
        if block.language == "python":
            self._printed = run_python(block, self._addressed(block.text), self._names)
        elif block.language == "console":
            self._terminal.type(block)
        elif block.language == "sql":
            self._engine = self._engine or InProcess()
            run_sql(block, self._engine)
        elif block.language in SETTINGS:
            check_settings(block, self._folder)
        else:
            assert block.language in ("", "text"), f"{block}: nobody runs {block.language}"
