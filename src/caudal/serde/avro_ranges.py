"""Whether whole numbers fit into Avro's int. fastavro writes any number there, and what is larger than 32 bits would
stop every reader in Java. It checks longs, and ints in unions, itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Wrong = tuple[str, int]  # the place in the value, the number
Check = Callable[[Any], Wrong | None]


def range_check(schema: Any) -> Check | None:
    """For a schema that fastavro has parsed; None where no value can be too large."""
    named = schema.get("__named_schemas", {}) if isinstance(schema, dict) else {}
    return _check(schema, named, {})


def _check(schema: Any, named: dict[str, Any], made: dict[str, Check | None]) -> Check | None:
    if schema == "int":
        return _int
    if isinstance(schema, str):
        return _check(named[schema], named, made) if schema in named else None
    if isinstance(schema, list):
        inner = [_check(each, named, made) for each in schema if each not in ("null", "int")]
        return next((each for each in inner if each is not None), None) if len(inner) == 1 else None
    kind = schema["type"]
    if kind in ("record", "error"):
        return _record(schema, named, made)
    if kind == "array":
        return _each(_check(schema["items"], named, made), list, lambda value: enumerate(value))
    if kind == "map":
        return _each(_check(schema["values"], named, made), dict, lambda value: value.items())
    return _int if kind == "int" and "logicalType" not in schema else None


def _int(value: Any) -> Wrong | None:
    if value.__class__ is int and not -0x80000000 <= value <= 0x7FFFFFFF:
        return "", value
    return None


def _record(schema: Any, named: dict[str, Any], made: dict[str, Check | None]) -> Check | None:
    name = schema["name"]
    if name in made:
        # Within itself: whether there is something to check is known when the record is done.
        return lambda value: check(value) if (check := made[name]) is not None else None
    made[name] = None
    found = [(field["name"], _check(field["type"], named, made)) for field in schema["fields"]]
    checks = [(field, check) for field, check in found if check is not None]
    if not checks:
        return None

    def check_all(value: Any) -> Wrong | None:
        if value.__class__ is dict:
            for field, check in checks:
                wrong = check(value.get(field))
                if wrong is not None:
                    return f".{field}{wrong[0]}", wrong[1]
        return None

    made[name] = check_all
    return check_all


def _each(check: Check | None, kind: type, items: Callable[[Any], Any]) -> Check | None:
    if check is None:
        return None

    def check_each(value: Any) -> Wrong | None:
        for place, item in items(value) if isinstance(value, kind) else ():
            wrong = check(item)
            if wrong is not None:
                return f"[{place!r}]{wrong[0]}", wrong[1]
        return None

    return check_each
