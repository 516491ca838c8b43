"""Tokens: the words, names, strings, numbers and signs of a statement, each with where it stands.

Comments (`-- …` and `/* … */`) and blanks are dropped here. A `${variable}` that nobody filled in comes out as a token,
so that the parser can say which one it is. One regular expression without backtracking: time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from typing import NamedTuple

from caudal.ksql.errors import Position, SyntaxProblem


class Kind(Enum):
    WORD = "word"  # a keyword or a name without quotes
    QUOTED = "quoted name"
    STRING = "string"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    SIGN = "sign"
    VARIABLE = "variable"
    END = "end"


class Token(NamedTuple):
    """`text` is as written; `value` what it means: a word in upper case, a name or string without its quotes."""

    kind: Kind
    text: str
    value: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


# The possessive `*+` keeps a string that is not closed from being read as a shorter one that is.
_TOKEN = re.compile(
    r"""
      (?P<blank>\s+|--[^\r\n]*|/\*(?s:.*?)\*/)
    | (?P<string>'[^']*+(?:''[^']*+)*+')
    | (?P<back>`[^`]*+(?:``[^`]*+)*+`)
    | (?P<double>"[^"]*+(?:""[^"]*+)*+")
    | (?P<word>[A-Za-z_][A-Za-z0-9_@]*)
    | (?P<digits>(?![0-9]+[eE](?:[+-][0-9]|[0-9]+(?![A-Za-z0-9_@])))[0-9]+[A-Za-z_@][A-Za-z0-9_@]*)
    | (?P<float>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+)
    | (?P<decimal>[0-9]+\.[0-9]*|\.[0-9]+)
    | (?P<integer>[0-9]+)
    | (?P<variable>\$\{[A-Za-z_][A-Za-z0-9_@]*\})
    | (?P<sign>=>|:=|->|\|\||<>|!=|<=|>=|/(?!\*)|[-+*%=<>().,;\[\]])
    """,
    re.VERBOSE,
)
_KINDS = {
    "float": Kind.FLOAT,
    "decimal": Kind.DECIMAL,
    "integer": Kind.INTEGER,
    "sign": Kind.SIGN,
    "variable": Kind.VARIABLE,
}
_NOT_CLOSED = {
    "'": "This string is not closed: a ' is missing.",
    "`": "This name is not closed: a ` is missing.",
    '"': 'This name is not closed: a " is missing.',
    "/*": "This comment is not closed: a */ is missing.",
}


class Text:
    """The text of a script, able to say at which line and column an offset lies."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]

    def position(self, offset: int) -> Position:
        line = bisect_right(self._lines, offset)
        return Position(line, offset - self._lines[line - 1] + 1, offset)


def tokens(source: Text) -> list[Token]:
    """All tokens, with one of Kind.END behind them. Raises where the text has something that is none.

    >>> [(token.kind.name, token.value) for token in tokens(Text("a->`b c` >= 'it''s' -- why"))][:4]
    [('WORD', 'A'), ('SIGN', '->'), ('QUOTED', 'b c'), ('SIGN', '>=')]
    """
    text, found, at = source.text, list[Token](), 0
    read = _TOKEN.match
    while at < len(text):
        one = read(text, at)
        if one is None:
            raise _unreadable(source, at)
        group, written = one.lastgroup, one.group()
        match group:
            case "blank":
                pass
            case "word" | "digits":
                found.append(Token(Kind.WORD, written, written.upper(), at))
            case "string":
                found.append(Token(Kind.STRING, written, written[1:-1].replace("''", "'"), at))
            case "back" | "double":
                quote = written[0]
                name = written[1:-1].replace(quote * 2, quote)
                if not name:
                    raise SyntaxProblem("A name cannot be empty.", source.position(at), text)
                found.append(Token(Kind.QUOTED, written, name, at))
            case _:
                found.append(Token(_KINDS[group or ""], written, "<>" if written == "!=" else written, at))
        at = one.end()
    found.append(Token(Kind.END, "", "", len(text)))
    return found


def _unreadable(source: Text, at: int) -> SyntaxProblem:
    text = source.text
    for opening, message in _NOT_CLOSED.items():
        if text.startswith(opening, at):
            return SyntaxProblem(message, source.position(at), text)
    sign = text[at]
    if text.startswith("${", at):
        message = "A variable is written ${name}, with letters, digits and _ in its name."
    elif sign.isalpha():
        message = f"A name with '{sign}' in it must be written in back-quotes."
    else:
        message = f"'{sign}' is not expected here."
    return SyntaxProblem(message, source.position(at), text)
