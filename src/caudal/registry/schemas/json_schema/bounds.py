"""Evolution of what limits numbers and strings, and of listed values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from caudal.registry.schemas.json_schema.node import Node

# Numbers that are whole and others are apart: `integer` is a part of `number`.
ALL_TYPES: Final = frozenset(("null", "boolean", "integer", "fraction", "string", "array", "object"))
NUMBERS: Final = frozenset(("integer", "fraction"))
_NAMED: Final = {name: frozenset((name,)) for name in ALL_TYPES - {"fraction"}} | {"number": NUMBERS}


class Problem(NamedTuple):
    rule: str
    path: str
    said: str


def types(node: Node) -> frozenset[str]:
    """What kinds of value a schema can allow, by `type` or by the values that it lists."""
    given = node.get("type")
    names = [given] if isinstance(given, str) else given if isinstance(given, list) else None
    found = ALL_TYPES if names is None else frozenset().union(*(_NAMED.get(name, frozenset()) for name in names))
    if (listed := values(node)) is not None:
        found &= frozenset(_type_of(json.loads(value)) for value in listed)
    return found


def values(node: Node) -> frozenset[str] | None:
    """The values of `enum` or `const`, as texts that are equal when the values are; None: any value."""
    found: frozenset[str] | None = None
    listed = node.get("enum")
    if isinstance(listed, list):
        found = frozenset(map(_key, listed))
    if isinstance(node.value, dict) and "const" in node.value and "const" not in node.hidden:
        const = frozenset((_key(node.value["const"]),))
        found = const if found is None else found & const
    return found


def type_problems(writers: frozenset[str], reader: Node, path: str) -> Iterator[Problem]:
    if writers <= (readers := types(reader.without("enum", "const"))):
        return
    rule = "TYPE_NARROWED" if writers & readers else "TYPE_CHANGED"
    yield Problem(rule, path, f"the reader schema allows {_told(readers)}, the writer schema {_told(writers)}")


def value_problems(writers: Sequence[Node], kinds: frozenset[str], reader: Node, path: str) -> Iterator[Problem]:
    allowed = values(reader)
    if allowed is None:
        return
    written = [listed for node in writers if (listed := values(node)) is not None]
    if not written and kinds <= {"null", "boolean"}:
        every = {"null": ["null"], "boolean": ["true", "false"]}
        written = [frozenset(value for kind in kinds for value in every[kind])]
    if any(listed <= allowed for listed in written):
        return
    lost = min(written, key=len) - allowed if written else frozenset()
    rule = "ENUM_ARRAY_CHANGED" if written and not allowed <= min(written, key=len) else "ENUM_ARRAY_NARROWED"
    missing = ", ".join(sorted(lost)[:5]) or "values that are not listed"
    place = f"{path}/{'const' if 'const' in reader.value else 'enum'}"
    yield Problem(rule, place, f"the writer schema allows {missing}, which the reader schema does not")


def limit_problems(
    writers: Sequence[Node], reader: Node, path: str, limits: Sequence[tuple[str, str, bool]]
) -> Iterator[Problem]:
    """For keywords that count: (keyword, name in rules, whether it is an upper limit)."""
    for keyword, name, upper in limits:
        wanted = number(reader, keyword)
        if wanted is None or (not upper and wanted <= 0):
            continue
        found = [value for node in writers if (value := number(node, keyword)) is not None]
        if not found:
            yield Problem(f"{name}_ADDED", f"{path}/{keyword}", _added(keyword, wanted))
        elif upper and min(found) > wanted:
            yield Problem(f"{name}_DECREASED", f"{path}/{keyword}", _changed(keyword, wanted, min(found)))
        elif not upper and max(found) < wanted:
            yield Problem(f"{name}_INCREASED", f"{path}/{keyword}", _changed(keyword, wanted, max(found)))


def string_problems(writers: Sequence[Node], reader: Node, path: str) -> Iterator[Problem]:
    limits = (("maxLength", "MAX_LENGTH", True), ("minLength", "MIN_LENGTH", False))
    yield from limit_problems(writers, reader, path, limits)
    pattern = reader.get("pattern")
    if not isinstance(pattern, str):
        return
    found = [value for node in writers if isinstance(value := node.get("pattern"), str)]
    if not found:
        yield Problem("PATTERN_ADDED", f"{path}/pattern", _added("pattern", f"'{pattern}'"))
    elif pattern not in found:
        yield Problem("PATTERN_CHANGED", f"{path}/pattern", _changed("pattern", f"'{pattern}'", f"'{found[0]}'"))


def number_problems(writers: Sequence[Node], kinds: frozenset[str], reader: Node, path: str) -> Iterator[Problem]:
    for keyword, name, sign in (("maximum", "MAXIMUM", -1), ("minimum", "MINIMUM", 1)):
        exclusive = f"exclusive{keyword.capitalize()}"
        written = max((bound for node in writers if (bound := _bound(node, keyword, sign)) is not None), default=None)
        for strict, key, rule in ((False, keyword, name), (True, exclusive, f"EXCLUSIVE_{name}")):
            wanted = _limits(reader, keyword)[strict]
            if wanted is None or (written is not None and written >= (sign * wanted, strict)):
                continue
            before = [value for node in writers if (value := _limits(node, keyword)[strict]) is not None]
            if before:
                change = "DECREASED" if sign < 0 else "INCREASED"
                yield Problem(f"{rule}_{change}", f"{path}/{key}", _changed(key, wanted, before[0]))
            else:
                yield Problem(f"{rule}_ADDED", f"{path}/{key}", _added(key, wanted))
    yield from _multiple_problems(writers, kinds, reader, path)


def _multiple_problems(writers: Sequence[Node], kinds: frozenset[str], reader: Node, path: str) -> Iterator[Problem]:
    wanted = number(reader, "multipleOf")
    if not wanted:
        return
    found = [value for node in writers if (value := number(node, "multipleOf"))]
    if "fraction" not in kinds:
        found.append(1)
    if any(value % wanted == 0 for value in found):
        return
    place = f"{path}/multipleOf"
    given = [value for node in writers if (value := number(node, "multipleOf"))]
    if not given:
        yield Problem("MULTIPLE_OF_ADDED", place, _added("multipleOf", wanted))
    else:
        rule = "MULTIPLE_OF_EXPANDED" if wanted % given[0] == 0 else "MULTIPLE_OF_CHANGED"
        yield Problem(rule, place, _changed("multipleOf", wanted, given[0]))


def number(node: Node, keyword: str) -> Fraction | int | None:
    """As it is written: 0.1 is a tenth, not the double next to it."""
    value = node.get(keyword)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) else Fraction(str(value))


def _limits(node: Node, keyword: str) -> tuple[Fraction | int | None, Fraction | int | None]:
    """The limit that belongs to the allowed values, and the one that does not. In draft 4 a flag says which it is."""
    limit = number(node, keyword)
    exclusive = f"exclusive{keyword.capitalize()}"
    if node.get(exclusive) is True:
        return None, limit
    return limit, number(node, exclusive)


def _bound(node: Node, keyword: str, sign: int) -> tuple[Fraction | int, bool] | None:
    inclusive, exclusive = _limits(node, keyword)
    bounds = [(sign * value, strict) for value, strict in ((inclusive, False), (exclusive, True)) if value is not None]
    return max(bounds, default=None)


def _key(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    """1.0 and 1 are the same value in JSON Schema."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "fraction"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _told(kinds: frozenset[str]) -> str:
    if kinds == ALL_TYPES:
        return "any type"
    names = sorted(kinds - NUMBERS) + (["number"] if "fraction" in kinds else ["integer"] if "integer" in kinds else [])
    return " or ".join(names) or "nothing"


def _added(keyword: str, wanted: object) -> str:
    return f"the reader schema has '{keyword}' {_shown(wanted)}, which the writer schema has not"


def _changed(keyword: str, wanted: object, found: object) -> str:
    return f"'{keyword}' is {_shown(wanted)} in the reader schema and {_shown(found)} in the writer schema"


def _shown(value: object) -> str:
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else repr(float(value))
    return str(value)[:80]
