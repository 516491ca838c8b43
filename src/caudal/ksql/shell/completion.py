"""What Tab offers: keywords, and the names that the server knows, asked for when they are first needed.

Names of streams and tables come after FROM, JOIN and INTO, and with their columns elsewhere; topics after PRINT;
queries after TERMINATE. A server that does not answer leaves the keywords.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from caudal.ksql.shell.client import ASIDE_SECONDS, NotAnswering, Server, ServerError
from caudal.ksql.syntax.names import written_name, written_string
from caudal.ksql.syntax.words import STATEMENTS

if TYPE_CHECKING:
    from caudal.ksql.shell.session import Session

FRESH_SECONDS = 30.0


def _words(text: str) -> list[str]:
    return text.split()


KEYWORDS = sorted(
    {
        *STATEMENTS,
        *_words(
            """
            FROM WHERE GROUP BY HAVING PARTITION LIMIT EMIT CHANGES FINAL WINDOW TUMBLING HOPPING SESSION SIZE ADVANCE
            RETENTION GRACE PERIOD JOIN INNER LEFT RIGHT FULL OUTER ON WITHIN AS AND OR NOT IN BETWEEN LIKE ESCAPE IS
            NULL TRUE FALSE CASE WHEN THEN ELSE END CAST DISTINCT ORDER ASC DESC UNION ALL STREAM TABLE STREAMS TABLES
            TOPICS QUERIES FUNCTIONS PROPERTIES TYPES VARIABLES CONNECTORS EXTENDED FUNCTION CONNECTOR TYPE SOURCE SINK
            REPLACE IF EXISTS WITH KEY PRIMARY HEADERS HEADER INTO VALUES DELETE TOPIC ADD COLUMN SYSTEM BEGINNING
            SCRIPT SPOOL DAYS HOURS MINUTES SECONDS MILLISECONDS BOOLEAN INT INTEGER BIGINT DOUBLE DECIMAL VARCHAR
            STRING BYTES DATE TIME TIMESTAMP ARRAY MAP STRUCT KAFKA_TOPIC PARTITIONS REPLICAS FORMAT KEY_FORMAT
            VALUE_FORMAT TIMESTAMP_FORMAT ROWTIME ROWPARTITION ROWOFFSET WINDOWSTART WINDOWEND
            """
        ),
    }
)
_WORD = re.compile(r"[A-Za-z0-9_@`'.${-]*$")
_AFTER_SOURCE = re.compile(r"\b(FROM|JOIN|INTO|DESCRIBE|STREAM|TABLE|EXISTS)\s+$", re.IGNORECASE)
_AFTER_TOPIC = re.compile(r"\b(PRINT|TOPIC)\s+$", re.IGNORECASE)
_AFTER_QUERY = re.compile(r"\b(TERMINATE|PAUSE|RESUME|EXPLAIN)\s+$", re.IGNORECASE)
_AFTER_FUNCTION = re.compile(r"\bDESCRIBE\s+FUNCTION\s+$", re.IGNORECASE)


class Names:
    """What the server knows, kept for a while. `forget` when a statement may have changed it."""

    def __init__(self, server: Callable[[], Server], clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._clock = clock
        self._known: dict[str, tuple[float, list[str]]] = {}

    def forget(self) -> None:
        self._known.clear()

    def sources(self) -> list[str]:
        return self._asked("sources", ("SHOW STREAMS;", "SHOW TABLES;"), _sources)

    def columns(self) -> list[str]:
        return self._asked("columns", ("DESCRIBE STREAMS;", "DESCRIBE TABLES;"), _columns)

    def topics(self) -> list[str]:
        return self._asked("topics", ("SHOW TOPICS;",), lambda one: _named(one.get("topics"), written_string))

    def queries(self) -> list[str]:
        return self._asked(
            "queries", ("SHOW QUERIES;",), lambda one: (str(q.get("id")) for q in one.get("queries", ()))
        )

    def functions(self) -> list[str]:
        return self._asked("functions", ("SHOW FUNCTIONS;",), lambda one: _named(one.get("functions"), str))

    def _asked(self, what: str, texts: Iterable[str], names: Callable[[Any], Iterable[str]]) -> list[str]:
        kept = self._known.get(what)
        if kept is not None and self._clock() - kept[0] < FRESH_SECONDS:
            return kept[1]
        found: set[str] = set()
        for text in texts:
            try:
                for entity in self._server().execute(text, seconds=ASIDE_SECONDS):
                    found.update(names(entity))
            except (ServerError, NotAnswering):
                continue
        self._known[what] = self._clock(), sorted(found)
        return self._known[what][1]


def _sources(entity: Any) -> Iterator[str]:
    yield from _named(entity.get("streams"), written_name)
    yield from _named(entity.get("tables"), written_name)


def _columns(entity: Any) -> Iterator[str]:
    for source in entity.get("sourceDescriptions") or ():
        yield from _named(source.get("fields"), written_name)


def _named(found: Any, write: Callable[[str], str]) -> Iterator[str]:
    return (write(str(one["name"])) for one in found or () if isinstance(one, dict) and "name" in one)


class StatementCompleter(Completer):
    def __init__(self, session: Session, names: Names) -> None:
        self._session = session
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        typed = _WORD.search(before)
        word = typed.group() if typed else ""
        if not word and not complete_event.completion_requested:
            return
        if word.startswith("$"):
            return
        seen = set()
        for text, kind in self._offered(before[: len(before) - len(word)], word):
            if text.upper().startswith(word.upper()) and text not in seen:
                seen.add(text)
                yield Completion(_as_typed(text, word, kind), -len(word), display=text, display_meta=kind)

    def _offered(self, before: str, word: str) -> Iterator[tuple[str, str]]:
        if _AFTER_FUNCTION.search(before):
            yield from ((name, "function") for name in self._names.functions())
            return
        if _AFTER_TOPIC.search(before):
            yield from ((name, "topic") for name in self._names.topics())
            return
        if _AFTER_QUERY.search(before):
            yield from ((name, "query") for name in self._names.queries())
        if _AFTER_SOURCE.search(before):
            yield from ((name, "source") for name in self._names.sources())
            if word:
                yield from ((keyword, "keyword") for keyword in KEYWORDS)
            return
        yield from ((keyword, "keyword") for keyword in KEYWORDS)
        if before.strip():
            yield from ((name, "column") for name in self._names.columns())
            yield from ((name, "source") for name in self._names.sources())
            yield from ((name, "function") for name in self._names.functions())


def _as_typed(text: str, word: str, kind: str) -> str:
    """Who types in lower case goes on in lower case; names in quotes are as they are."""
    lower = word.islower() and kind != "topic" and "`" not in text
    return text.lower() if lower else text
