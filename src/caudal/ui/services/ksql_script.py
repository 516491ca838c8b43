"""The editor's text as steps: which statement goes where, and the properties and variables that a visitor has set.

SELECT and PRINT stream; SET, UNSET, DEFINE and UNDEFINE hold for the rest of the visit and are kept here; everything
else is the server's. Only the first words decide: the statement need not be understood to be sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from caudal.ksql.errors import KsqlError
from caudal.ksql.syntax import statements as ast
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.script import split, substitute
from caudal.ui.services.ksql import Refused
from caudal.ui.services.ksql_problem import Problem

_FIRST_WORD = re.compile(r"(?:\s|--[^\r\n]*|/\*(?s:.*?)\*/)*([A-Za-z]+)")
_EMITS = re.compile(r"\bEMIT\s+(?:CHANGES|FINAL)\b", re.IGNORECASE)


class Kind(Enum):
    PUSH = "push"
    PULL = "pull"
    PRINT = "print"
    SESSION = "session"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Step:
    """One statement, without its semicolon, and where it begins in the text."""

    text: str
    begin: int

    @property
    def kind(self) -> Kind:
        """
        >>> Step("/* all */ select * FROM s emit changes", 0).kind
        <Kind.PUSH: 'push'>
        """
        match self.first_word:
            case "SELECT":
                return Kind.PUSH if _EMITS.search(self.text) else Kind.PULL
            case "PRINT":
                return Kind.PRINT
            case "SET" | "UNSET" | "DEFINE" | "UNDEFINE":
                return Kind.SESSION
        return Kind.OTHER

    @property
    def first_word(self) -> str:
        found = _FIRST_WORD.match(self.text)
        return found.group(1).upper() if found else ""

    @property
    def changes_names(self) -> bool:
        """Whether streams, tables, types or queries may be others afterwards."""
        return self.first_word in ("CREATE", "DROP", "ALTER", "TERMINATE", "PAUSE", "RESUME", "INSERT")


def steps(text: str) -> list[Step]:
    return [Step(statement, at.offset) for statement, at in split(text)]


def step_at(text: str, cursor: int) -> Step | None:
    """The statement that the cursor is in or behind; the first one where it is before all."""
    found = steps(text)
    behind = [step for step in found if step.begin <= cursor]
    return behind[-1] if behind else found[0] if found else None


@dataclass(slots=True)
class Settings:
    """What SET and DEFINE left behind."""

    properties: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    def filled(self, step: Step) -> str:
        """The statement with its variables, as it is sent."""
        try:
            return f"{substitute(step.text, self.variables)};"
        except KsqlError as error:
            raise _refused(error) from None

    def apply(self, step: Step) -> None:
        """Keeps what a SET, UNSET, DEFINE or UNDEFINE says."""
        try:
            statement = parse_statement(substitute(step.text, self.variables))
        except KsqlError as error:
            raise _refused(error) from None
        match statement:
            case ast.SetProperty(name=name, value=value):
                self.properties[name] = value
            case ast.UnsetProperty(name=name):
                self._drop(self.properties, name)
            case ast.Define(name=name, value=value):
                self._drop(self.variables, name)
                self.variables[name] = value
            case ast.Undefine(name=name):
                self._drop(self.variables, name)

    @staticmethod
    def _drop(known: dict[str, str], name: str) -> None:
        for one in [one for one in known if one.upper() == name.upper()]:
            del known[one]


def _refused(error: KsqlError) -> Refused:
    if error.at is None:
        return Refused(Problem(error.message))
    return Refused(Problem(error.message, error.at.line, error.at.column))
