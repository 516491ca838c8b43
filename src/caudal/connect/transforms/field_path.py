"""Paths to fields (KIP-821, `field.syntax.version`): with V1 a name, with V2 steps between dots, `` `a.b`.c ``.

In V2 a step in backticks may have dots; a backtick that ends no step (no dot, and not the end, after it) is part of the
name, and one that would is escaped by a backslash.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caudal.connect.configuration import Importance, Key
from caudal.connect.data import Field, Kind, Schema
from caudal.connect.errors import ConfigError, DataError

SYNTAX = "field.syntax.version"
SYNTAX_KEY = Key(
    name=SYNTAX,
    default="V1",
    choices=("V1", "V2"),
    importance=Importance.HIGH,
    doc="V1: a field is a name at the top. V2: a path; steps between dots, in backticks if a step has dots itself.",
)


def steps_of(path: str, syntax: str) -> tuple[str, ...]:
    """
    >>> steps_of("a.b", "V1"), steps_of("a.`b.c`.d", "V2")
    (('a.b',), ('a', 'b.c', 'd'))
    """
    if syntax.upper() == "V1":
        return (path,)
    steps: list[str] = []
    at = 0
    while at < len(path):
        if path[at] != "`":
            dot = path.find(".", at)
            end = len(path) if dot < 0 else dot
            steps.append(path[at:end])
        else:
            name, end = _quoted(path, at)
            steps.append(name)
        at = end + 1
    if path.endswith("."):
        steps.append("")
    return tuple(steps)


def _quoted(path: str, opening: int) -> tuple[str, int]:
    """The name that begins with the backtick at `opening`, and where the dot or the end behind it is."""
    name = ""
    start = at = opening + 1
    while (at := path.find("`", at)) >= 0:
        is_escaped = path[at - 1] == "\\"
        is_end = at == len(path) - 1
        if not is_end and path[at + 1] != ".":
            at += 1
        elif is_escaped:
            if is_end:
                break
            name += path[start : at - 1] + "`"
            at += 1
            start = at
        else:
            return name + path[start:at], at + 1
    raise ConfigError(
        f"The path {path} has a backtick at {opening} that nothing closes: close it, or put a backslash before it."
    )


def field_at(schema: Schema, steps: tuple[str, ...]) -> Field | None:
    """What the path leads to, by the schema."""
    found: Field | None = None
    for step in steps:
        if schema.kind is not Kind.STRUCT:
            return None
        found = schema.field(step)
        if found is None:
            return None
        schema = found.schema
    return found


def reader_by_schema(schema: Schema, steps: tuple[str, ...], replace_null: bool) -> Callable[[dict[str, Any]], Any]:
    """Reads a field that the schema has; null where something on the way is null. Defaults hold on the way too."""
    plan: list[tuple[str, Any]] = []
    for step in steps:
        found = schema.field(step)
        assert found is not None
        schema = found.schema
        plan.append((step, schema.default if replace_null else None))
    if len(plan) == 1:
        name, default = plan[0]
        if default is None:
            return lambda value: value.get(name)

    def read(value: Any) -> Any:
        for name, default in plan:
            if not isinstance(value, dict):
                raise DataError(f"A struct with {name} was expected as the schema says, and {value!r} found.")
            value = value.get(name)
            if value is None:
                if default is None:
                    return None
                value = default
        return value

    return read


def read_without_schema(value: dict[str, Any], steps: tuple[str, ...]) -> Any:
    """Null where the path does not lead anywhere."""
    found: Any = value
    for number, step in enumerate(steps):
        if not isinstance(found, dict):
            if found is None:
                return None
            way = ".".join(steps[:number])
            raise DataError(f"{way} is no map but {type(found).__name__}, so there is no field {step} in it.")
        found = found.get(step)
    return found
