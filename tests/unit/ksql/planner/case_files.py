"""The cases of the planner as data: statements, rows in, rows out. One file per theme in `cases/`.

A row is a line: the source, the columns' values as JSON (key columns first), and the time:

    S ["a", 1, "x"] @5          a row; without @ it is of time 0, and of rows that come out the time does not matter
    T ["a"] ! @7                a tombstone
    O <0,60000> ["a", 2] @5     a row in a window
    > ["a", 2]                  a row of a push query, in the order of its SELECT

Values that JSON has no form for are text: decimals, times, bytes (latin-1).
"""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from tests.ksql.harness import Harness

from caudal.ksql.sources import Source

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times as fast
FOLDER = Path(__file__).parent / "cases"
_LINE = re.compile(
    r"(?P<source>\S+) (?:<(?P<start>\d+),(?P<end>\d+)> )?(?P<row>\[.*\])(?P<gone> !)?(?: @(?P<at>-?\d+))?"
)

# What every case may read.
SOURCES = """
CREATE STREAM s (k STRING KEY, a INT, b STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM r (k STRING KEY, c INT, d STRING) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON');
CREATE STREAM q (k STRING KEY, e INT) WITH (KAFKA_TOPIC='q', VALUE_FORMAT='JSON');
CREATE STREAM n (a INT, b STRING) WITH (KAFKA_TOPIC='n', VALUE_FORMAT='JSON');
CREATE STREAM i (id INT KEY, a INT, b STRING) WITH (KAFKA_TOPIC='i', VALUE_FORMAT='JSON');
CREATE STREAM m (k1 STRING KEY, k2 INT KEY, a INT) WITH (KAFKA_TOPIC='m', FORMAT='JSON');
CREATE STREAM x (k STRING KEY, l ARRAY<INT>, l2 ARRAY<STRING>, st STRUCT<f INT, g STRING>, mp MAP<STRING, INT>)
  WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON');
CREATE STREAM h (k STRING KEY, a INT, hs ARRAY<STRUCT<key STRING, value BYTES>> HEADERS)
  WITH (KAFKA_TOPIC='h', VALUE_FORMAT='JSON');
CREATE STREAM h1 (k STRING KEY, a INT, trace BYTES HEADER('trace')) WITH (KAFKA_TOPIC='h1', VALUE_FORMAT='JSON');
CREATE TABLE t (k STRING PRIMARY KEY, v INT, w STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE u (k STRING PRIMARY KEY, y INT, z STRING) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');
CREATE TABLE p (id INT PRIMARY KEY, name STRING) WITH (KAFKA_TOPIC='p', VALUE_FORMAT='JSON');
CREATE TABLE c2 (k1 STRING PRIMARY KEY, k2 INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='c2', FORMAT='JSON');
CREATE STREAM sw (k STRING KEY, a INT)
  WITH (KAFKA_TOPIC='sw', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 MINUTE');
CREATE TABLE tw (k STRING PRIMARY KEY, v INT)
  WITH (KAFKA_TOPIC='tw', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 MINUTE');
CREATE TABLE tw2 (k STRING PRIMARY KEY, y INT)
  WITH (KAFKA_TOPIC='tw2', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 MINUTE');
CREATE TABLE ts (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='ts', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');
CREATE SOURCE STREAM ro (k STRING KEY, a INT) WITH (KAFKA_TOPIC='ro', VALUE_FORMAT='JSON');
"""


def cases(kind: str) -> list[Any]:
    """The cases of all files of a kind (`queries`, `errors`), with their files in their names."""
    import pytest

    found = []
    for file in sorted(FOLDER.glob(f"{kind}*.yaml")):
        for case in yaml.load(file.read_text(), Loader=LOADER):
            name = f"{file.stem.removeprefix(kind).strip('_') or kind}: {case['case']}"
            found.append(pytest.param(case, id=name))
    return found


@functools.cache
def _sources() -> dict[str, Source]:
    made = Harness()
    made.execute(SOURCES)
    return made.catalog.sources


def harness() -> Harness:
    made = Harness()
    made.catalog.sources.update(_sources())
    return made


def pipe(harness: Harness, lines: str) -> None:
    for line in filter(None, (one.strip() for one in lines.splitlines())):
        found = _LINE.fullmatch(line)
        assert found is not None, line
        source = harness.catalog.sources[found["source"]]
        values = json.loads(found["row"])
        columns = (*source.schema.key, *source.schema.written)
        row: dict[str, Any] = {column.name: value for column, value in zip(columns, values, strict=False)}
        if found["start"] is not None:
            row |= {"WINDOWSTART": int(found["start"]), "WINDOWEND": int(found["end"])}
        at = int(found["at"] or 0)
        if found["gone"]:
            harness.delete(source.name, at=at, **row)
        else:
            headers = row.pop("headers", ())
            harness.insert(source.name, at=at, headers=headers, **row)


def expected(lines: str) -> list[str]:
    return [one.strip() for one in lines.splitlines() if one.strip()]


def shown(rows: list[dict[str, Any]], name: str, wanted: list[str]) -> list[str]:
    """Rows as lines; with their times where the line at this place has one."""
    return [_line(row, name, wanted[index] if index < len(wanted) else "@") for index, row in enumerate(rows)]


def _line(row: dict[str, Any], name: str, wanted: str) -> str:
    row = dict(row)
    at = row.pop("ROWTIME") if name != ">" or list(row)[-1] == "ROWTIME" else 0
    gone = " !" if None in row else ""
    row.pop(None, None)  # type: ignore[call-overload]
    window = ""
    if name != ">" and "WINDOWSTART" in row:
        window = f"<{row.pop('WINDOWSTART')},{row.pop('WINDOWEND')}> "
    values = json.dumps([_plain(value) for value in row.values()], ensure_ascii=False)
    time = f" @{at}" if "@" in wanted else ""
    return f"{name} {window}{values}{gone}{time}"


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, Decimal | datetime.date | datetime.time):
        return str(value)
    return value


def by_source(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    names = dict.fromkeys(line.split(" ", 1)[0] for line in lines)
    for name in names:
        yield name, [line for line in lines if line.split(" ", 1)[0] == name]
