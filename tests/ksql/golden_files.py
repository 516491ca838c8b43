"""Golden cases as SQL: statements, rows that go in, and what must come out, in the habit of ksqlDB's test tool.

    --@test: name of the case
    CREATE STREAM s (k STRING KEY, a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
    CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
    INSERT INTO s (ROWTIME, K, A) VALUES (10, 'x', 1);
    ASSERT VALUES t (ROWTIME, K, N) VALUES (10, 'x', 1);
    ASSERT NULL VALUES t (K) KEY ('x');
    --@expected.error: KsqlError
    --@expected.message: part of the message

Each ASSERT takes the next row of its topic and compares the columns it names (all, where it names none). A row that is
left over at the end, of a source that was asked for at all, fails the case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caudal.ksql.errors import KsqlError
from caudal.ksql.expressions.compiled import constant
from caudal.ksql.sources import Source
from caudal.ksql.syntax.parser import parse_script
from caudal.ksql.syntax.script import split
from caudal.ksql.syntax.statements import AssertValues, InsertValues
from caudal.ksql.types import BIGINT, SqlType
from tests.ksql.harness import Harness

FOLDER = Path(__file__).parent / "golden"
_DIRECTIVE = re.compile(r"^--@([a-z.]+):\s*(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    file: str
    name: str
    text: str
    error: str | None = None
    message: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


def cases() -> list[Case]:
    found = [case for path in sorted(FOLDER.glob("*.sql")) for case in read(path)]
    names = [str(case) for case in found]
    assert len(set(names)) == len(names), "two cases have the same name"
    return found


def read(path: Path) -> list[Case]:
    parts = re.split(r"^--@test:\s*(.*)$", path.read_text(), flags=re.MULTILINE)
    found = []
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        directives = dict(_DIRECTIVE.findall(text))
        unknown = set(directives) - {"expected.error", "expected.message"}
        assert not unknown, f"{path.name}: {name}: nobody knows {unknown}"
        found.append(
            Case(
                path.stem, name.strip(), text, directives.get("expected.error"), directives.get("expected.message", "")
            )
        )
    return found


def run(case: Case) -> None:
    """Raises AssertionError where a case does not hold."""
    error: KsqlError | None = None
    try:
        _run(case.text)
    except KsqlError as raised:
        error = raised
    if case.error is None:
        assert error is None, f"{case}: {error.explained()}"
        return
    assert error is not None, f"{case}: no error"
    assert case.error in [one.__name__ for one in type(error).__mro__], f"{case}: {type(error).__name__}: {error}"
    assert case.message in str(error), f"{case}: {error}"


def _run(text: str) -> None:
    harness = Harness()
    waiting: dict[str, list[dict[Any, Any]]] = {}
    for piece, _ in split(text):
        for statement in parse_script(piece):
            if isinstance(statement, InsertValues):
                _insert(harness, statement)
            elif isinstance(statement, AssertValues):
                rows = waiting.setdefault(statement.target, [])
                rows += harness.rows(statement.target)
                assert rows, f"{piece}: no row is left"
                _compare(harness.catalog.sources[statement.target], statement, rows.pop(0), piece)
            else:
                harness.execute(piece)
    for name, rows in waiting.items():
        rows += harness.rows(name)
        assert not rows, f"{name} has more rows: {rows}"


def _typed(source: Source, name: str) -> SqlType:
    if name in ("ROWTIME", "WINDOWSTART", "WINDOWEND"):
        return BIGINT
    found = next((column.type for column in source.schema.columns if column.name == name), None)
    assert found is not None, f"{source.name} has no column {name}"
    return found


def _insert(harness: Harness, statement: InsertValues) -> None:
    source = harness.catalog.sources[statement.target]
    columns = statement.columns or source.schema.names()
    row = {name: constant(value, _typed(source, name)) for name, value in zip(columns, statement.values, strict=True)}
    harness.insert(statement.target, at=row.pop("ROWTIME", 0), **row)


def _compare(source: Source, statement: AssertValues, row: dict[Any, Any], piece: str) -> None:
    columns = statement.columns or source.schema.names()
    wanted = {
        name: constant(value, _typed(source, name)) for name, value in zip(columns, statement.values, strict=True)
    }
    tombstone = None in row
    assert tombstone == statement.tombstone, f"{piece}: the next row is {row}"
    found = {name: row.get(name) for name in columns}
    assert repr(found) == repr(wanted), f"{piece}: the next row is {row}"
