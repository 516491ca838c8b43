"""Files of test cases: SQL with directives in comments, as ksqlDB's test runner reads them.

    --@test: a sum per key
    CREATE STREAM s (k STRING KEY, n INT) WITH (kafka_topic='s', value_format='JSON');
    CREATE TABLE t AS SELECT k, SUM(n) AS total FROM s GROUP BY k;
    INSERT INTO s (k, n) VALUES ('a', 1);
    ASSERT VALUES t (k, total) VALUES ('a', 1);

A case that must fail says so with `--@expected.error: KsqlError` and `--@expected.message: a part of the sentence`.
`--@property: name=value` sets a property before the first statement.

What INSERT VALUES cannot write, `--@record: topic | key | value | timestamp | headers` does, at its place among the
statements: bytes that fit no schema, tombstones, headers. Each part is the text of the bytes, `0x…` or null; timestamp
(0) and headers (`name=value, name=0x00`) may be left out.

    --@record: t | a | null | 5
    --@record: s | 0x00000001 | {"N": 1} | 6 | trace=abc
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_DIRECTIVE = re.compile(r"^--@([a-z.]+):\s*(.*?)\s*$")
_NAMES = ("test", "expected.error", "expected.message", "property", "record")
_PARTS = re.compile(r"\s+\|\s+")


@dataclass(frozen=True, slots=True)
class Record:
    """A record to write as it is when the statements above its line are done."""

    line: int
    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...]


@dataclass(slots=True)
class Case:
    name: str
    file: Path
    line: int  # of its --@test
    text: str = ""  # as many empty lines before it as there are lines above: positions are those of the file
    expected_error: str | None = None
    expected_message: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"{self.file.stem}: {self.name}"


class BadFile(ValueError):
    """The file is not one of test cases; the sentence says where."""


def read_cases(file: Path) -> list[Case]:
    """The cases of a file, in order. Two of one name are an error: one of them would be looked for in vain."""
    cases = list(_cases(file))
    names = [case.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            raise BadFile(f"{file}: there are two tests '{name}'.")
    if not cases:
        raise BadFile(f"{file}: there is no --@test in it.")
    return cases


def _cases(file: Path) -> Iterator[Case]:
    case: Case | None = None
    lines: list[str] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        found = _DIRECTIVE.match(line)
        if found is None:
            if case is None and line.strip() and not line.startswith("--"):
                raise BadFile(f"{file}:{number}: a statement before the first --@test.")
            lines.append(line)
            continue
        name, value = found.groups()
        if name == "test":
            if case is not None:
                case.text = "\n".join(lines)
                yield case
            case = Case(value, file, number)
            lines = [""] * number
            continue
        if case is None:
            raise BadFile(f"{file}:{number}: --@{name} before the first --@test.")
        lines.append("")
        if name == "expected.error":
            case.expected_error = value
        elif name == "expected.message":
            case.expected_message = value
        elif name == "property":
            key, _, setting = value.partition("=")
            case.properties[key.strip()] = setting.strip()
        elif name == "record":
            try:
                case.records.append(_record(number, value))
            except ValueError as error:
                raise BadFile(
                    f"{file}:{number}: --@record: topic | key | value | timestamp | headers: {error}."
                ) from None
        else:
            raise BadFile(f"{file}:{number}: --@{name} is not known; there are {', '.join(_NAMES)}.")
    if case is not None:
        case.text = "\n".join(lines)
        yield case


def _record(line: int, text: str) -> Record:
    """
    >>> _record(7, "s | a | null | 5 | h=0xff")
    Record(line=7, topic='s', key=b'a', value=None, timestamp=5, headers=(('h', b'\\xff'),))
    """
    topic, key, value, *rest = _PARTS.split(text)
    if len(rest) > 2:
        raise ValueError("there are more than five parts")
    time, headers = rest[0] if rest else "0", rest[1] if len(rest) > 1 else ""
    return Record(line, topic, _bytes(key), _bytes(value), int(time), tuple(_headers(headers)))


def _headers(text: str) -> Iterator[tuple[str, bytes | None]]:
    for one in text.split(",") if text else ():
        name, _, value = one.strip().partition("=")
        yield name, _bytes(value)


def _bytes(text: str) -> bytes | None:
    if text == "null":
        return None
    return bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode()
