"""What a SELECT or PRINT gives, whichever kind it is: portions of rows until there are no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from caudal.ksql.engine.push import PushQuery, Tombstone
from caudal.ksql.errors import KsqlError
from caudal.ksql.schema import Schema
from caudal.ksql.syntax.parser import parse_script
from caudal.ksql.syntax.script import substitute
from caudal.ksql.syntax.statements import PrintTopic, Query

if TYPE_CHECKING:
    from caudal.ksql.engine.engine import Engine
    from caudal.ksql.engine.pull import PullResult

PORTION = 500
WAIT_SECONDS = 1.0  # for the first row of a portion: how soon a thread is free after its client has gone


class Rows:
    """`next` gives (row, is it taken back?) in portions, None at the end; it waits a second at most, and then the
    portion is empty. Of PRINT there are `lines` instead."""

    query_id: str | None = None
    schema = Schema(())
    has_limit = False
    is_at_hand = False  # all of it, and little: `next` does not wait
    lines: Callable[[], str | None] | None = None

    def next(self) -> list[tuple[Any, bool]] | None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class PushRows(Rows):
    def __init__(self, query: PushQuery, has_limit: bool) -> None:
        self._query = query
        self.query_id = query.query_id
        self.schema = query.schema
        self.has_limit = has_limit

    def next(self) -> list[tuple[Any, bool]] | None:
        found = self._query.poll(WAIT_SECONDS)
        return None if found is None else [(row, isinstance(row, Tombstone)) for row in found]

    def close(self) -> None:
        self._query.close()


class PullRows(Rows):
    def __init__(self, result: PullResult) -> None:
        self.schema = result.schema
        self.is_at_hand = len(result.rows) <= PORTION
        self._rows: Iterator[Any] = iter(result.rows)

    def next(self) -> list[tuple[Any, bool]] | None:
        return [(row, False) for row in islice(self._rows, PORTION)] or None


class PrintedLines(Rows):
    def __init__(self, printed: Iterator[str]) -> None:
        # The first line is asked for at once: that the topic is not there is an answer of its own.
        lines = chain(list(islice(printed, 1)), printed)
        self._printed = printed
        self.lines = lambda: next(lines, None)

    def close(self) -> None:
        close = getattr(self._printed, "close", None)
        if close is not None:
            close()


def open_rows(engine: Engine, text: str, properties: Mapping[str, Any], variables: Mapping[str, str]) -> Rows:
    """Of the one statement in the text."""
    text = substitute(text, dict(variables))
    found = engine.looked_up(text, properties)
    if found is not None:
        return PullRows(found)
    try:
        statements = parse_script(text)
    except KsqlError as error:
        raise error.within(text) from None
    if len(statements) != 1:
        raise KsqlError(f"Expected exactly one KSQL statement; found {len(statements)} instead.", text=text)
    statement = statements[0]
    if isinstance(statement, PrintTopic):
        return PrintedLines(engine.print_topic(statement, properties))
    if not isinstance(statement, Query):
        raise KsqlError("Only SELECT and PRINT are answered here: send other statements to /ksql.", text=text)
    if statement.emit is not None:
        return PushRows(engine.push(text, properties), statement.limit is not None)
    return PullRows(engine.pull(text, properties))
