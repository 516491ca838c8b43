"""A session of the shell: its properties and variables, and what becomes of each statement.

SELECT and PRINT stream; SET, UNSET, DEFINE, UNDEFINE, RUN SCRIPT and SPOOL are the shell's own, since they live as long
as the session; all else goes to the server, with the session's properties and variables. Only the first word decides:
the shell does not have to understand what it sends.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from caudal.ksql.errors import KsqlError
from caudal.ksql.shell.client import Rows, Server, ServerError
from caudal.ksql.shell.drawing import draw
from caudal.ksql.shell.rows import RowTable, json_text
from caudal.ksql.shell.screen import Screen
from caudal.ksql.syntax import statements as ast
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.script import split, substitute

MAX_SCRIPTS = 16  # that run each other
_FIRST_WORD = re.compile(r"(?:\s|--[^\r\n]*|/\*(?s:.*?)\*/)*([A-Za-z]+)")


class ShellError(Exception):
    """A statement of the shell's own that cannot be done: one sentence."""


class Session:
    def __init__(self, server: Server, screen: Screen, *, as_json: bool = False) -> None:
        self.server = server
        self.screen = screen
        self.as_json = as_json
        self.properties: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.changed: Callable[[], None] = lambda: None  # called when names may have come or gone
        self._scripts: list[Path] = []

    def run_text(self, text: str) -> None:
        """All statements of a text, in order, up to the first that fails: with ServerError, KsqlError, ShellError or
        NotAnswering."""
        for statement, _ in split(text):
            self.run(statement)

    def run_file(self, path: Path) -> None:
        """The statements of a file. What fails says where in the file it stands."""
        if len(self._scripts) >= MAX_SCRIPTS:
            raise ShellError(f"More than {MAX_SCRIPTS} scripts run each other; the last one is {path}.")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ShellError(f"Cannot read {path}: {_reason(error)}.") from None
        self._scripts.append(path)
        try:
            for statement, at in split(text):
                try:
                    self.run(statement)
                except ServerError as error:
                    message = f"{path}, statement at line {at.line}: {error.message}"
                    raise ServerError(message, error.code, error.entities) from None
                except KsqlError as error:
                    raise ShellError(f"{path}, statement at line {at.line}: {error.explained()}") from None
        finally:
            self._scripts.pop()

    def run(self, statement: str) -> None:
        """One statement, without its semicolon."""
        self.screen.typed(f"{statement};")
        match first_word(statement):
            case "SELECT":
                self._select(statement)
            case "PRINT":
                self._print(statement)
            case "SET" | "UNSET" | "DEFINE" | "UNDEFINE" | "RUN":
                self._own(statement)
            case "SPOOL":
                self._spool(statement)
            case word:
                self._execute(statement)
                if word not in ("SHOW", "LIST", "DESCRIBE", "EXPLAIN", "INSERT", "ASSERT"):
                    self.changed()

    # -- the server's --------------------------------------------------------------------------------------------------

    def _execute(self, statement: str) -> None:
        try:
            entities = self.server.execute(f"{statement};", self.properties, self.variables)
        except ServerError as error:
            self._draw(error.entities)
            raise
        self._draw(entities)

    def _draw(self, entities: list[dict[str, Any]]) -> None:
        for entity in entities:
            if self.as_json:
                self.screen.json(entity)
            else:
                draw(entity, self.screen)

    def _select(self, statement: str) -> None:
        text = substitute(statement, self.variables)
        with self.server.query(f"{text};", self.properties) as answer:
            try:
                count = self._show_rows(answer)
            except KeyboardInterrupt:
                self.screen.line("Query terminated")
                raise
        if not self.as_json:
            self.screen.line(_end(text, count))

    def _show_rows(self, answer: Rows) -> int:
        count = 0
        shown = RowTable(answer.names, answer.types, self.screen.width)
        if not self.as_json:
            self.screen.line("\n".join(shown.head()))
        for row in answer.rows:
            count += 1
            if self.as_json:
                self.screen.line(json_text(dict(zip(answer.names, row, strict=False))))
            else:
                self.screen.line("\n".join(shown.row(row)))
        return count

    def _print(self, statement: str) -> None:
        text = substitute(statement, self.variables)
        with self.server.print_topic(f"{text};", self.properties) as lines:
            try:
                for line in lines:
                    self.screen.line(line)
            except KeyboardInterrupt:
                self.screen.line("Topic printing ceased")
                raise

    # -- the shell's own -----------------------------------------------------------------------------------------------

    def _own(self, statement: str) -> None:
        text = substitute(statement, self.variables)
        match parse_statement(text):
            case ast.SetProperty(name=name, value=value):
                reason = self.server.is_valid_property(name)
                if reason is not None:
                    raise ShellError(reason)
                before = self.properties.get(name)
                self.properties[name] = value
                changed = f" (it was '{before}')" if before is not None else ""
                self._say(f"Successfully changed local property '{name}' to '{value}'{changed}.")
            case ast.UnsetProperty(name=name):
                if name not in self.properties:
                    raise ShellError(f"Cannot unset '{name}': it was not set in this session.")
                before = self.properties.pop(name)
                self._say(f"Successfully unset local property '{name}' (value was '{before}').")
            case ast.Define(name=name, value=value):
                self._forget(name)
                self.variables[name] = value
            case ast.Undefine(name=name):
                if not self._forget(name):
                    raise ShellError(f"Cannot undefine '{name}': it was not defined.")
            case ast.RunScript(path=path):
                self.run_file(Path(path).expanduser())

    def _forget(self, variable: str) -> bool:
        """Variables are case-insensitive."""
        known = [name for name in self.variables if name.upper() == variable.upper()]
        for name in known:
            del self.variables[name]
        return bool(known)

    def _say(self, text: str) -> None:
        if not self.as_json:
            self.screen.line(text)

    def _spool(self, statement: str) -> None:
        target = statement.strip()[len("SPOOL") :].strip().strip("'\"`")
        if not target:
            raise ShellError("SPOOL needs a file, or OFF to end.")
        if target.upper() == "OFF":
            if not self.screen.is_spooling:
                raise ShellError("There is no SPOOL to end.")
            self.screen.spool_off()
            return
        try:
            self.screen.spool_to(Path(target).expanduser())
        except OSError as error:
            raise ShellError(f"Cannot write {target}: {_reason(error)}.") from None
        self._say(f"Session will be spooled to {target}")


def first_word(statement: str) -> str:
    """In upper case; comments before it do not count.

    >>> first_word("/* all */ -- of them\\n select * FROM s")
    'SELECT'
    """
    found = _FIRST_WORD.match(statement)
    return found.group(1).upper() if found else ""


def _end(query: str, rows: int) -> str:
    """What is said when no more rows come."""
    if not re.search(r"\bEMIT\s+(CHANGES|FINAL)\b", query, re.IGNORECASE):
        return "Query Completed: 1 row" if rows == 1 else f"Query Completed: {rows} rows"
    limit = re.search(r"\bLIMIT\s+([0-9]+)\s*$", query, re.IGNORECASE)
    return "Limit Reached\nQuery terminated" if limit and rows >= int(limit.group(1)) else "Query terminated"


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "it is not UTF-8 text"
