"""Where the shell's words go: the terminal, and the file of SPOOL beside it.

What comes from topics is data: a control character in it is shown, and never obeyed by the terminal.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.text import Text

PIPE_WIDTH = 1000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    r"""Without what a terminal would obey; lines and tabs stay.

    >>> clean("a\x1b[2Jb\n")
    'a\\x1b[2Jb\n'
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


class Screen:
    def __init__(self, console: Console | None = None, errors: Console | None = None) -> None:
        # Into a pipe or file, tables are as wide as what is in them.
        width = None if sys.stdout.isatty() else PIPE_WIDTH
        self.console = console or Console(highlight=False, markup=False, emoji=False, width=width)
        self.errors = errors or Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._spool_file: TextIO | None = None
        self._spool: Console | None = None

    @property
    def width(self) -> int:
        return self.console.width

    @property
    def is_spooling(self) -> bool:
        return self._spool is not None

    # -- showing -------------------------------------------------------------------------------------------------------

    def show(self, what: RenderableType) -> None:
        """A table or the like, without the blanks that fill up its lines."""
        for console in self._consoles():
            with console.capture() as drawn:
                console.print(what)
            console.file.write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))
            console.file.flush()

    def line(self, text: str = "", style: str = "") -> None:
        """Text as it is, however long its lines."""
        for console in self._consoles():
            if style:
                console.print(Text(clean(text), style=style), soft_wrap=True)
            else:  # rows may come fast, and need no drawing
                console.file.write(clean(text) + "\n")
                console.file.flush()

    def json(self, value: Any) -> None:
        self.line(json.dumps(value, ensure_ascii=False, default=str))

    def error(self, text: str) -> None:
        for console in (self.errors, *([self._spool] if self._spool else [])):
            console.print(Text(clean(text), style="red"), soft_wrap=True)

    def typed(self, statement: str) -> None:
        """What the person typed: on the terminal it is there already."""
        if self._spool is not None:
            self._spool.print(Text(f"ksql> {clean(statement)}"), soft_wrap=True)

    def _consoles(self) -> list[Console]:
        return [self.console, *([self._spool] if self._spool is not None else [])]

    # -- spooling ------------------------------------------------------------------------------------------------------

    def spool_to(self, path: Path) -> None:
        """Raises OSError where the file cannot be written."""
        self.spool_off()
        self._spool_file = path.open("w", encoding="utf-8")
        self._spool = Console(
            file=self._spool_file, width=self.width, highlight=False, markup=False, emoji=False, no_color=True
        )

    def spool_off(self) -> None:
        if self._spool_file is not None:
            self._spool_file.close()
        self._spool_file = self._spool = None
