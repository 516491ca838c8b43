"""Reads and writes the case files of tests/golden/cases: one JSON file per area, one object per case.

    {"name": ..., "topology": [operation, ...], "steps": [step, ...]}

- An operation is ["name", argument, ..., {keyword: value}]. It works on the result of the operation before it, or on
  the one its keyword "on" names; "as" names its own result. Functions and processors are chosen by name ("even", or
  with parameters ["field", "user"]) from functions.py and processors.py.
- A step is a barrier: what it puts in is drained before the next one begins. It puts records into one topic,
  {"topic": ..., "records": [[key, value, timestamp, headers?], ...]}, or moves the wall clock, {"advance": ms}.
  "expect" holds what then comes out, {topic: [[key, value, timestamp, headers?], ...]}; a windowed key is
  {"key": ..., "window": [start, end]}. {"fails": true} says that the step stops the application.
- "hosts" limits a case to some hosts (moving the wall clock is not for Spark).

Every expectation was put out by Kafka Streams' own TopologyTestDriver (reference.py), but for two kinds of case:
"differs" says why Caudal does otherwise on purpose ("kafka_streams" then keeps what Kafka Streams does in each step),
"by_hand" why Kafka Streams cannot run the case at all.

Keys are strings and values JSON unless an operation says otherwise. One topic per step on purpose: the order between
topics is another matter, tested apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("cases")
HOSTS = ("in process", "spark")
WIDTH = 118

Row = list[Any]  # key, value, timestamp, and headers where there are any


@dataclass(slots=True)
class Step:
    topic: str | None = None
    records: list[Row] = field(default_factory=list)
    advance: int | None = None
    expect: dict[str, list[Row]] = field(default_factory=dict)
    fails: bool = False


@dataclass(slots=True)
class Case:
    area: str
    name: str
    topology: list[list[Any]]
    steps: list[Step]
    hosts: tuple[str, ...] = HOSTS
    differs: str | None = None
    by_hand: str | None = None

    @property
    def id(self) -> str:
        return f"{self.area}: {self.name}"

    @property
    def slug(self) -> str:
        """The name as it may stand in a topic or an application id."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.id)


def _step(data: dict[str, Any]) -> Step:
    expect = dict(data.get("expect", {}))
    fails = bool(expect.pop("fails", False))
    return Step(data.get("topic"), data.get("records", []), data.get("advance"), expect, fails)


def _case(area: str, data: dict[str, Any]) -> Case:
    known = {"name", "topology", "steps", "hosts", "differs", "by_hand"}
    if unknown := set(data) - known:
        raise ValueError(f"The case {data.get('name')!r} of {area!r} has unknown fields: {', '.join(sorted(unknown))}.")
    return Case(
        area,
        data["name"],
        data["topology"],
        [_step(step) for step in data["steps"]],
        tuple(data.get("hosts", HOSTS)),
        data.get("differs"),
        data.get("by_hand"),
    )


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def load() -> Iterator[Case]:
    for path in files():
        data = json.loads(path.read_text())
        yield from (_case(data["area"], case) for case in data["cases"])


def operation_parts(operation: list[Any]) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, the arguments and the keywords of an operation."""
    name, *arguments = operation
    keywords = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
    return name, arguments, keywords


# -- writing: one operation and one record per line, so that a change of a case is a change of a line ------------------


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _rows(rows: list[Any], indent: str) -> str:
    """A list on one line where it fits, else one row per line."""
    flat = _line(rows)
    if len(indent) + len(flat) <= WIDTH - 20:
        return flat
    inner = ",\n".join(f"{indent}  {_line(row)}" for row in rows)
    return f"[\n{inner}\n{indent}]"


def _step_text(step: dict[str, Any]) -> str:
    indent = " " * 10
    parts = [f'"{name}": {_line(step[name])}' for name in ("topic", "advance") if name in step]
    if "records" in step:
        parts.append(f'"records": {_rows(step["records"], indent)}')
    for name in ("expect", "kafka_streams"):
        if name in step:
            topics = [
                f'"{topic}": {_rows(rows, indent + "  ") if isinstance(rows, list) else _line(rows)}'
                for topic, rows in step[name].items()
            ]
            inner = f",\n{indent}  ".join(topics)
            parts.append(f'"{name}": {{{inner}}}')
    return "        {" + f",\n{indent}".join(parts) + "}"


def _case_text(case: dict[str, Any]) -> str:
    lines = [f'      "name": {_line(case["name"])}']
    lines += [f'      "{name}": {_line(case[name])}' for name in ("differs", "by_hand", "hosts") if name in case]
    lines.append(f'      "topology": {_rows(case["topology"], "      ")}')
    steps = ",\n".join(_step_text(step) for step in case["steps"])
    lines.append(f'      "steps": [\n{steps}\n      ]')
    return "    {\n" + ",\n".join(lines) + "\n    }"


def write(path: Path, area: str, cases: list[dict[str, Any]]) -> None:
    body = ",\n".join(_case_text(case) for case in cases)
    text = f'{{\n  "area": {_line(area)},\n  "cases": [\n{body}\n  ]\n}}\n'
    assert json.loads(text) == {"area": area, "cases": cases}, "writing must not change a case"
    path.write_text(text)
