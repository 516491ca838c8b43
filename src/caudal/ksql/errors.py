"""What is wrong with a statement: one sentence, where it stands, and the words around it with a caret below."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, NamedTuple

AROUND = 100  # characters that are shown before and after the place


class Position(NamedTuple):
    """Where something begins in the text of a statement. Lines and columns count from 1, as people do."""

    line: int
    column: int
    offset: int = 0


class KsqlError(Exception):
    """`str(error)` is the sentence; `explained()` adds line, column and the caret. `code` is that of the REST body."""

    code = 40000  # a bad request

    def __init__(self, message: str, at: Position | None = None, text: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.text = text  # of the statement, or of the script that it is part of
        self.entities: list[dict[str, Any]] = []  # what the statements before it in a request answered

    def within(self, text: str) -> KsqlError:
        """The same error, knowing the text it is about; whoever has the text calls it."""
        if self.text is None:
            self.text = text
        return self

    def explained(self) -> str:
        """The sentence with the place it is about.

        >>> print(KsqlError("There is no column 'AGO'.", Position(1, 8)).within("SELECT ago FROM s;").explained())
        line 1:8: There is no column 'AGO'.
        SELECT ago FROM s;
               ^
        """
        if self.at is None:
            return self.message
        shown = f"line {self.at.line}:{self.at.column}: {self.message}"
        lines = self.text.splitlines() if self.text is not None else []
        if self.at.line > len(lines):
            return shown
        line = lines[self.at.line - 1]
        first = max(0, self.at.column - 1 - AROUND)
        before, after = line[first : self.at.column - 1], line[self.at.column - 1 : self.at.column - 1 + AROUND]
        caret = "".join("\t" if sign == "\t" else " " for sign in before) + "^"
        return f"{shown}\n{before}{after}\n{caret}"


class SyntaxProblem(KsqlError):
    """The text is not a statement."""

    code = 40001


class NotSupported(KsqlError):
    """The statement is well formed, and asks for something that is not there."""


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """ " Did you mean 'X'?", or nothing where nothing is near.

    >>> suggestion("UCSE", ["UCASE", "LCASE", "LEN"])
    " Did you mean 'UCASE'?"
    """
    near = difflib.get_close_matches(wrong.upper(), {name.upper(): None for name in known}, n=1, cutoff=0.7)
    return f" Did you mean '{near[0]}'?" if near else ""
