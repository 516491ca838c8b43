"""What is wrong with a statement, from the server's words: the sentence, and where in the editor's text to mark it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLACE = re.compile(r"\s*line (?P<line>[0-9]+):(?P<column>[0-9]+):\s*(?P<sentence>.*)", re.DOTALL)
_SUGGESTED = re.compile(r"Did you mean '(?P<name>[^']+)'\?")
_WORD = re.compile(r"`[^`]*`|'[^']*'|[A-Za-z0-9_@]+|\S")


@dataclass(frozen=True, slots=True)
class Problem:
    """Lines and columns count from 1, within the statement that was sent."""

    sentence: str
    line: int | None = None
    column: int | None = None

    @property
    def suggestion(self) -> str | None:
        """The name that was probably meant.

        >>> Problem("There is no stream 'ORDRS'. Did you mean 'ORDERS'?").suggestion
        'ORDERS'
        """
        found = _SUGGESTED.search(self.sentence)
        return found.group("name") if found else None


def problem_of(message: str) -> Problem:
    """The server shows the line and a caret below its sentence; the editor marks the place itself.

    >>> problem_of("line 1:8: There is no column 'AGO'.\\nSELECT ago FROM s;\\n       ^")
    Problem(sentence="There is no column 'AGO'.", line=1, column=8)
    """
    placed = _PLACE.fullmatch(message)
    if placed is None:
        return Problem(message.strip())
    lines = placed.group("sentence").splitlines()
    if len(lines) > 2 and lines[-1].strip() == "^":
        lines = lines[:-2]
    return Problem("\n".join(lines).strip(), int(placed.group("line")), int(placed.group("column")))


def marked(script: str, begin: int, problem: Problem) -> tuple[int, int] | None:
    """From where to where the problem stands in the editor's text; `begin` is where its statement begins there.

    >>> script = "SHOW STREAMS;\\nSELECT ago FROM s;"
    >>> at, to = marked(script, 14, Problem("There is no column 'AGO'.", 1, 8))
    >>> script[at:to]
    'ago'
    """
    if problem.line is None or problem.column is None:
        return None
    lines = script[begin:].splitlines(keepends=True)
    if problem.line > len(lines):
        return None
    at = begin + sum(len(line) for line in lines[: problem.line - 1]) + problem.column - 1
    word = _WORD.match(script, at)
    if word is not None:
        return at, word.end()
    # At the end of the text something is missing: what stands before it is marked.
    before = script[:at].rstrip()
    return (len(before) - 1, len(before)) if before else None
