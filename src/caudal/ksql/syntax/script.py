"""Scripts: where one statement ends and the next begins, and `${variable}` filled in.

As in ksqlDB, a variable stands for a name, a number or a string, or for a part of the text within quotes; names are
case-insensitive; `$${name}` is `${name}` as text. A variable that is not defined stays as it is: within quotes it is
text, elsewhere the parser says which one is missing. A value cannot bring in anything but one token, so nobody smuggles
a statement in with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping

from caudal.ksql.errors import KsqlError, Position, SyntaxProblem
from caudal.ksql.syntax.lexer import Kind, Text, tokens
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.statements import Define, Statement, Undefine

# What may hold a semicolon or a ${…} that is none. What is not closed reaches to the end of the text.
_PIECE = re.compile(
    r"""
      (?P<comment>--[^\r\n]*|/\*(?s:.*?)(?:\*/|\Z))
    | (?P<quoted>'[^']*+(?:''[^']*+)*+(?:'|\Z)|`[^`]*+(?:``[^`]*+)*+(?:`|\Z)|"[^"]*+(?:""[^"]*+)*+(?:"|\Z))
    | (?P<variable>\$?\$\{[A-Za-z_][A-Za-z0-9_@]*\})
    | (?P<end>;)
    | (?P<other>[^-/'`"$;]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_VARIABLE = re.compile(r"(\$?)\$\{([A-Za-z_][A-Za-z0-9_@]*)\}")
_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT)


def split(text: str) -> list[tuple[str, Position]]:
    """The statements, without semicolons and the comments around them, each with where it begins.

    >>> [one for one, _ in split("SHOW STREAMS; -- all; of them\\nINSERT INTO s VALUES (';');")]
    ['SHOW STREAMS', "INSERT INTO s VALUES (';')"]
    """
    source, found = Text(text), list[tuple[str, Position]]()
    start = end = -1
    for piece in _PIECE.finditer(text):
        if piece.lastgroup == "end":
            if start >= 0:
                found.append((text[start:end], source.position(start)))
            start = -1
        elif piece.lastgroup != "comment" and not piece.group().isspace():
            written = piece.group()
            if start < 0:
                start = piece.start() + len(written) - len(written.lstrip())
            end = piece.start() + len(written.rstrip())
    if start >= 0:
        found.append((text[start:end], source.position(start)))
    return found


def is_complete(text: str) -> bool:
    """Whether the last statement has its semicolon, so that nothing more is awaited.

    >>> is_complete("SELECT ';'"), is_complete("SELECT * FROM s; -- done"), is_complete("")
    (False, True, True)
    """
    complete = True
    for piece in _PIECE.finditer(text):
        if piece.lastgroup == "end":
            complete = True
        elif piece.lastgroup == "comment":
            complete = complete and not _is_open_comment(piece.group())
        elif not piece.group().isspace():
            complete = False
    return complete


def _is_open_comment(comment: str) -> bool:
    return comment.startswith("/*") and (not comment.endswith("*/") or len(comment) < 4)


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """The text with its variables filled in.

    >>> substitute("SELECT '$${a} is ${a}' FROM ${A}", {"a": "it"})
    "SELECT '${a} is it' FROM it"
    """
    if "${" not in text:
        return text
    known = {name.upper(): value for name, value in variables.items()}
    filled = []
    for piece in _PIECE.finditer(text):
        written = piece.group()
        if piece.lastgroup == "quoted":
            written = _within_quotes(written, known)
        elif piece.lastgroup == "variable":
            written = _alone(written, known, text, piece.start())
        filled.append(written)
    return "".join(filled)


def _within_quotes(written: str, known: Mapping[str, str]) -> str:
    quote = written[0]

    def fill(match: re.Match[str]) -> str:
        escape, name = match.groups()
        if escape:
            return f"${{{name}}}"
        value = known.get(name.upper())
        return match.group() if value is None else value.replace(quote, quote * 2)

    return _VARIABLE.sub(fill, written)


def _alone(written: str, known: Mapping[str, str], text: str, start: int) -> str:
    if written.startswith("$$"):
        return written[1:]
    name = written[2:-1]
    value = known.get(name.upper())
    if value is None:
        return written
    if not _is_one_token(value):
        message = f"The value of the variable '{name}' must be a name, a number or a string to stand here: {value}"
        raise SyntaxProblem(message, Text(text).position(start), text)
    return value


def _is_one_token(value: str) -> bool:
    try:
        found = tokens(Text(value))[:-1]
    except SyntaxProblem:
        return False
    if found and found[0].text == "-":
        return len(found) == 2 and found[1].kind in _NUMBERS and value.strip().endswith(found[1].text)
    # The text as well: a comment behind the token would swallow what follows it.
    alone = len(found) == 1 and found[0].text == value.strip()
    return alone and found[0].kind in (Kind.WORD, Kind.QUOTED, Kind.STRING, *_NUMBERS)


def read_script(text: str, variables: MutableMapping[str, str]) -> Iterator[Statement]:
    """The statements one by one, each parsed with the variables as they are then: DEFINE and UNDEFINE change them (and
    come out as well). Positions are those in the script, unless a variable changed the statement's text."""
    for written, at in split(text):
        try:
            filled = substitute(written, variables)
        except KsqlError as error:
            raise _moved(error, at, text) from None
        try:
            statement = parse_statement(filled)
        except KsqlError as error:
            raise (_moved(error, at, text) if filled == written else error) from None
        if isinstance(statement, Define | Undefine):
            for name in [name for name in variables if name.upper() == statement.name.upper()]:
                del variables[name]
        if isinstance(statement, Define):
            variables[statement.name] = statement.value
        yield statement


def _moved(error: KsqlError, begin: Position, script: str) -> KsqlError:
    """The error of a statement as one of the script that it is part of."""
    if error.at is not None:
        line, column, offset = error.at
        if line == 1:
            column += begin.column - 1
        error.at = Position(line + begin.line - 1, column, offset + begin.offset)
    error.text = script
    return error
