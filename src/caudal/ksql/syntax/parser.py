"""From text to tree: the entry points. The grammar is in `administration.py` (which statement), `definitions.py`,
`queries.py`, `expressions.py` and `type_names.py`, each building on the next, over `cursor.py` and `lexer.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from caudal.ksql.errors import Position, SyntaxProblem
from caudal.ksql.syntax.administration import StatementParser
from caudal.ksql.syntax.lexer import Kind, Text
from caudal.ksql.syntax.statements import Statement
from caudal.ksql.syntax.tree import Expression, TypeName
from caudal.ksql.syntax.type_names import Custom
from caudal.ksql.types import SqlType

_T = TypeVar("_T")


def parse_script(text: str) -> list[Statement]:
    """The statements of a script; positions are those in the script. The last one's semicolon may be missing.

    >>> [type(statement).__name__ for statement in parse_script("SHOW STREAMS; SELECT * FROM s EMIT CHANGES;")]
    ['Show', 'Query']
    """

    def read(parser: StatementParser) -> list[Statement]:
        found: list[Statement] = []
        while parser.token.kind is not Kind.END:
            if parser.take_sign(";"):
                continue
            found.append(parser.statement())
            if not parser.is_end():
                raise parser.unexpected("the end of the statement")
        return found

    return _parsed(text, read)


def parse_statement(text: str) -> Statement:
    """The one statement of this text, with or without its semicolon."""

    def read(parser: StatementParser) -> Statement:
        found = parser.statement()
        if not parser.is_end():
            raise parser.unexpected("the end of the statement")
        while parser.take_sign(";"):
            pass
        if parser.token.kind is not Kind.END:
            raise parser.problem("Only one statement is expected here.", parser.at())
        return found

    return _parsed(text, read)


def parse_expression(text: str) -> Expression:
    """
    >>> parse_expression("a + 1").left.name
    'A'
    """
    return _parsed(text, lambda parser: _whole(parser, parser.expression))


def parse_type(text: str, custom: Custom | None = None) -> SqlType | TypeName:
    """A type; `custom` says what names mean that are not built in: without it the answer may be a TypeName.

    >>> str(parse_type("map<string, array<int>>"))
    'MAP<STRING, ARRAY<INTEGER>>'
    """
    return _parsed(text, lambda parser: _whole(parser, parser.type), custom)


def resolve_type(of: SqlType | TypeName, lookup: Callable[[str, Position], SqlType]) -> SqlType:
    """The type that is meant, with custom types looked up: `resolve_type(column.type, catalog.type)`."""
    if isinstance(of, SqlType):
        return of
    found = parse_type(of.text, lambda name, at: lookup(name, of.at))
    assert isinstance(found, SqlType)
    return found


def _whole(parser: StatementParser, read: Callable[[], _T]) -> _T:
    found = read()
    if parser.token.kind is not Kind.END:
        raise parser.unexpected("the end")
    return found


def _parsed(text: str, read: Callable[[StatementParser], _T], custom: Custom | None = None) -> _T:
    source = Text(text)
    parser = StatementParser(source, custom)
    try:
        return read(parser)
    except RecursionError:
        # The limits of the cursor come first, unless the caller was itself deep in recursion.
        raise SyntaxProblem("The statement is nested too deeply.", parser.at(), text) from None
