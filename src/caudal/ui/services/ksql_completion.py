"""What the KSQL editor offers at the cursor: keywords that may follow, functions with signatures, names of all kinds.

Pure: the text and the names (of streams, tables, columns, topics) are given, nothing is asked for.

Somebody is still typing, so the text is seldom a statement: it is cut into pieces that never fail, and the pieces
before the cursor say what may come. The shell's completion (ksql/shell/completion.py) offers less, by its last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from caudal.ksql.syntax.names import written_name
from caudal.ksql.syntax.words import STATEMENTS
from caudal.ui.services import ksql_vocabulary as vocabulary

MOST = 80  # candidates in a list: more nobody reads


class Kind(StrEnum):
    KEYWORD = "keyword"
    FUNCTION = "function"
    STREAM = "stream"
    TABLE = "table"
    COLUMN = "column"
    TOPIC = "topic"
    QUERY = "query"
    TYPE = "type"
    PROPERTY = "property"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str = ""
    is_key: bool = False
    fields: tuple[Column, ...] = ()  # of a struct


@dataclass(frozen=True, slots=True)
class Source:
    name: str
    kind: Kind = Kind.STREAM
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    signatures: tuple[str, ...] = ()  # "(input VARCHAR) → VARCHAR"
    about: str = ""


@dataclass(frozen=True, slots=True)
class Names:
    """What the server knows."""

    sources: tuple[Source, ...] = ()
    functions: tuple[Function, ...] = ()
    topics: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    label: str
    kind: Kind
    insert: str
    detail: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Completions:
    """The candidates replace the text from `start` to the cursor."""

    start: int
    candidates: tuple[Candidate, ...] = ()


def complete(text: str, cursor: int, names: Names, *, asked: bool = False) -> Completions:
    """`asked` where a person pressed the key for it: then a word need not have begun.

    >>> names = Names(sources=(Source("ORDERS", Kind.STREAM, (Column("PRICE", "DOUBLE"),)),))
    >>> [one.label for one in complete("SELECT pr FROM orders;", 9, names).candidates]
    ['PRICE']
    """
    cursor = max(0, min(cursor, len(text)))
    statement = _statement(text, cursor)
    before = [piece for piece in statement if piece.end <= cursor]
    inside = next(
        (piece for piece in statement if piece.start < cursor < piece.end or _is_open_at(piece, cursor)), None
    )
    if inside is not None and inside.group == "comment":
        return Completions(cursor)
    if inside is not None and inside.group == "string":
        start = inside.start + 1
        earlier = [piece for piece in before if piece.end <= inside.start]
        return _listed(start, text[start:cursor], _in_string(earlier, names), as_typed=False)
    start = cursor
    if inside is not None and inside.group in ("word", "name"):
        start = inside.start
    elif before and before[-1].end == cursor and before[-1].group == "word":
        start = before.pop().start
    word = text[start:cursor].lstrip("`")
    follows = bool(before) and before[-1].text in (".", "->")
    if not word and not asked and not follows:
        return Completions(cursor)
    return _listed(start, word, _offered(before, statement, names), as_typed=True)


# -- pieces ------------------------------------------------------------------------------------------------------------

# What is not closed reaches to the end of the text, so that everything is a piece of some kind.
_PIECES = re.compile(
    r"""
      (?P<blank>\s+)
    | (?P<comment>--[^\r\n]*|/\*(?s:.*?)(?:\*/|\Z))
    | (?P<string>'[^']*+(?:''[^']*+)*+(?:'|\Z))
    | (?P<name>`[^`]*+(?:``[^`]*+)*+(?:`|\Z)|"[^"]*+(?:""[^"]*+)*+(?:"|\Z))
    | (?P<word>[A-Za-z_][A-Za-z0-9_@]*)
    | (?P<number>[0-9][0-9A-Za-z_.]*)
    | (?P<end>;)
    | (?P<sign>->|=>|:=|<>|!=|<=|>=|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Piece:
    group: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def upper(self) -> str:
        """The word, or the sign; a name in quotes is never a keyword."""
        return self.text.upper() if self.group == "word" else self.text if self.group == "sign" else ""

    @property
    def name(self) -> str | None:
        """As the catalog has it."""
        if self.group == "word":
            return self.text.upper()
        if self.group == "name":
            quote = self.text[0]
            return self.text.strip(quote).replace(quote * 2, quote)
        return None


def _is_open_at(piece: _Piece, cursor: int) -> bool:
    """Whether the cursor stands at the end of something that goes on: a line's comment, a string without its end."""
    if piece.end != cursor:
        return False
    if piece.group == "comment":
        return piece.text.startswith("--") or not piece.text.endswith("*/")
    if piece.group in ("string", "name"):
        quote = piece.text[0]
        return len(piece.text) == 1 or piece.text.count(quote) % 2 == 1
    return False


def _statement(text: str, cursor: int) -> list[_Piece]:
    """The pieces of the statement that the cursor is in, without blanks."""
    found: list[_Piece] = []
    for match in _PIECES.finditer(text):
        group = match.lastgroup or "sign"
        if group == "end":
            if match.start() >= cursor:
                break
            found.clear()
        elif group != "blank":
            found.append(_Piece(group, match.group(), match.start()))
    return found


# -- what may come -----------------------------------------------------------------------------------------------------

_SOURCE_AFTER = frozenset(["FROM", "JOIN", "INTO", "DESCRIBE", "EXISTS"])
_QUERY_AFTER = frozenset(["TERMINATE", "PAUSE", "RESUME", "EXPLAIN"])
_DEFINES = frozenset(["CREATE", "DROP", "ALTER", "REPLACE", "SOURCE"])


def _offered(before: list[_Piece], statement: list[_Piece], names: Names) -> Iterator[Candidate]:
    if not before:
        yield from _keywords(STATEMENTS)
        return
    last = before[-1]
    words = [piece.upper for piece in before]
    if last.text == ".":
        yield from _members(before[:-1], statement, names)
    elif last.text == "->":
        yield from _struct_fields(before[:-1], statement, names)
    elif words[-2:] == ["DESCRIBE", "FUNCTION"]:
        yield from (_function(one, called=False) for one in names.functions)
    elif words[-2:] == ["DROP", "TYPE"]:
        yield from (Candidate(one, Kind.TYPE, written_name(one)) for one in names.types)
    elif last.upper == "PRINT":
        yield from (_topic(one) for one in names.topics)
    elif last.upper in _QUERY_AFTER and len(before) == 1:
        yield from (Candidate(one, Kind.QUERY, one) for one in names.queries)
        yield from _keywords(("SELECT", "CREATE", "INSERT") if last.upper == "EXPLAIN" else ("ALL",))
    elif last.upper in _SOURCE_AFTER or (last.upper in ("STREAM", "TABLE") and words[0] in ("DROP", "ALTER")):
        yield from (_source(one) for one in names.sources)
        if last.upper == "DESCRIBE":
            yield from _keywords(("FUNCTION", "STREAMS", "TABLES", "CONNECTOR"))
        if words[0] == "DROP":
            yield from _keywords(("IF EXISTS",))
    elif words[0] == "DROP" and len(before) == 1:
        yield from _keywords(("STREAM", "TABLE", "TYPE", "CONNECTOR"))
    elif last.upper in ("STREAM", "TABLE") and words[0] == "CREATE":
        yield from _keywords(("IF NOT EXISTS",))
    elif last.group == "number" and {"WINDOW", "WITHIN", "SIZE", "PERIOD"} & set(words):
        yield from _keywords(vocabulary.UNITS)
    elif _opener(before) == "WITH":
        yield from (Candidate(one, Kind.PROPERTY, f"{one}=") for one in vocabulary.WITH)
    elif _is_column_list(before):
        yield from _column_definition(before, names)
    elif last.upper in vocabulary.AFTER:
        yield from _keywords(vocabulary.AFTER[last.upper])
    else:
        yield from _expression(before, statement, names)


def _keywords(words: Iterable[str]) -> Iterator[Candidate]:
    return (Candidate(word.strip(), Kind.KEYWORD, word if word[-1] in " ([<" else f"{word} ") for word in words)


def _expression(before: list[_Piece], statement: list[_Piece], names: Names) -> Iterator[Candidate]:
    read = _read(statement, names)
    for alias, source in read:
        for column in source.columns:
            yield _column(column, alias)
    yield from (_function(one) for one in names.functions)
    for alias, source in read:
        detail = source.name if alias != source.name else ""
        yield Candidate(alias, source.kind, written_name(alias), detail)
    yield from _keywords((*vocabulary.CLAUSES, *vocabulary.EXPRESSION))
    if any(piece.upper == "SELECT" for piece in before):
        yield from (Candidate(one, Kind.COLUMN, one) for one in vocabulary.PSEUDO)
        yield from (Candidate(one, Kind.TYPE, written_name(one)) for one in names.types)
    else:
        yield from _keywords(("SELECT", "EXTENDED", "DELETE TOPIC", "AS SELECT"))


def _members(before: list[_Piece], statement: list[_Piece], names: Names) -> Iterator[Candidate]:
    """Columns behind `alias.`"""
    wanted = before[-1].name if before else None
    for alias, source in _read(statement, names):
        if wanted in (alias, source.name):
            yield from (_column(column) for column in source.columns)
            return


def _struct_fields(before: list[_Piece], statement: list[_Piece], names: Names) -> Iterator[Candidate]:
    """Fields behind `column->` and `column->field->`."""
    path: list[str] = []
    rest = list(before)
    while rest and (name := rest[-1].name) is not None:
        path.insert(0, name)
        rest.pop()
        if not rest or rest[-1].text != "->":
            break
        rest.pop()
    for _, source in _read(statement, names):
        fields = source.columns
        for name in path:
            fields = next((one.fields for one in fields if one.name == name), ())
        if fields:
            yield from (_column(one) for one in fields)
            return


def _column_definition(before: list[_Piece], names: Names) -> Iterator[Candidate]:
    """Within CREATE STREAM s (…): a type behind a column's name, and what the column is behind the type."""
    if before[-1].name is not None and len(before) > 1 and before[-2].text in ("(", ","):
        yield from (Candidate(one.rstrip("<("), Kind.TYPE, one) for one in vocabulary.TYPES)
        yield from (Candidate(one, Kind.TYPE, written_name(one)) for one in names.types)
    elif before[-1].text not in ("(", ","):
        yield from _keywords(("KEY", "PRIMARY KEY", "HEADERS", "HEADER("))


def _in_string(before: list[_Piece], names: Names) -> Iterator[Candidate]:
    """Within quotes: the topic of PRINT and of KAFKA_TOPIC, a format, where to begin."""
    words = [piece.upper for piece in before]
    if words[-1:] == ["PRINT"] or words[-2:] == ["KAFKA_TOPIC", "="]:
        yield from (Candidate(one, Kind.TOPIC, one) for one in names.topics)
    elif len(words) > 1 and words[-1] == "=" and words[-2] in ("FORMAT", "KEY_FORMAT", "VALUE_FORMAT"):
        yield from (Candidate(one, Kind.VALUE, one) for one in vocabulary.FORMATS)
    elif words == ["SET"]:
        yield Candidate("auto.offset.reset", Kind.PROPERTY, "auto.offset.reset")
    elif words[:1] == ["SET"] and words[-1] == "=" and "auto.offset.reset" in before[1].text:
        yield from (Candidate(one, Kind.VALUE, one) for one in ("earliest", "latest"))


def _opener(before: list[_Piece]) -> str | None:
    """The word before the nearest parenthesis that is still open; "" before one that has none."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        if before[at].text == ")":
            depth += 1
        elif before[at].text == "(":
            if depth == 0:
                return before[at - 1].upper if at else ""
            depth -= 1
    return None


def _is_column_list(before: list[_Piece]) -> bool:
    if before[0].upper != "CREATE" or _opener(before) is None:
        return False
    words = {piece.upper for piece in before}
    return "SELECT" not in words and "WITH" not in words and bool(words & {"STREAM", "TABLE"})


def _read(statement: list[_Piece], names: Names) -> list[tuple[str, Source]]:
    """What the statement reads, by alias. Also what stands behind the cursor: people write SELECT first."""
    by_name = {source.name: source for source in names.sources}
    found: list[tuple[str, Source]] = []
    for at, piece in enumerate(statement[:-1]):
        if piece.upper not in ("FROM", "JOIN", "INTO"):
            continue
        source = by_name.get(statement[at + 1].name or "")
        if source is None:
            continue
        rest = statement[at + 2 :]
        if rest and rest[0].upper == "AS":
            rest = rest[1:]
        alias = rest[0].name if rest else None
        if alias is None or rest[0].upper in _NO_ALIAS:
            alias = source.name
        found.append((alias, source))
    return found


_NO_ALIAS = frozenset([*vocabulary.CLAUSES, "ON", "AND", "SELECT", "OUTER", "BY", "AS"])


# -- candidates --------------------------------------------------------------------------------------------------------


def _column(column: Column, alias: str = "") -> Candidate:
    detail = f"{column.type} KEY" if column.is_key else column.type
    return Candidate(column.name, Kind.COLUMN, written_name(column.name), detail, alias)


def _source(source: Source) -> Candidate:
    about = ", ".join(f"{one.name} {one.type}".strip() for one in source.columns)
    return Candidate(source.name, source.kind, written_name(source.name), source.kind.upper(), about)


def _function(function: Function, called: bool = True) -> Candidate:
    first = function.signatures[0] if function.signatures else ""
    more = "\n".join(f"{function.name}{one}" for one in function.signatures)
    about = "\n\n".join(part for part in (function.about, more) if part)
    return Candidate(function.name, Kind.FUNCTION, f"{function.name}(" if called else function.name, first, about)


def _topic(name: str) -> Candidate:
    return Candidate(name, Kind.TOPIC, "'" + name.replace("'", "''") + "'")


def _listed(start: int, word: str, offered: Iterable[Candidate], *, as_typed: bool) -> Completions:
    """Those that begin with the word, in their order, and behind them the names that have it within."""
    wanted, seen = word.upper(), set[tuple[str, Kind]]()
    beginning, having = list[Candidate](), list[Candidate]()
    for one in offered:
        label = one.label.upper()
        if (one.label, one.kind) in seen or label == wanted == one.insert.upper():
            continue
        seen.add((one.label, one.kind))
        if label.startswith(wanted):
            beginning.append(one)
        elif len(wanted) > 1 and one.kind is not Kind.KEYWORD and wanted in label:
            having.append(one)
    found = [*beginning, *having][:MOST]
    if as_typed and word.islower():
        found = [_lower(one) for one in found]
    return Completions(start, tuple(found))


def _lower(one: Candidate) -> Candidate:
    """Who types in lower case goes on in lower case; names in quotes stay as they are."""
    if one.kind in (Kind.TOPIC, Kind.QUERY) or "`" in one.insert:
        return one
    return Candidate(one.label, one.kind, one.insert.lower(), one.detail, one.about)
