"""Functions of text that holds JSON."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson

from caudal.ksql.functions import json_values
from caudal.ksql.functions.json_values import MISSING
from caudal.ksql.functions.registry import scalar

_STEP = re.compile(r"""\s*(?:\.([^\s.\[\]"*]+)|\[\s*(?:([^\s.\[\]"*]+)|"((?:[^"\\]|\\.)*)")\s*\])""")
_INDEX = re.compile(r"[+-]?[0-9]{1,10}")


@lru_cache(maxsize=1000)
def _steps(path: str) -> tuple[tuple[str, int | None], ...]:
    """Of a JSONPath that leads to one value: each step's name, and the index that it is in an array.

    >>> _steps('$.a[0]["b c"]')
    (('a', None), ('0', 0), ('b c', None))
    """
    if not path.startswith("$"):
        raise ValueError(f"Invalid JSON path '{path}': it begins with $.")
    made: list[tuple[str, int | None]] = []
    at = 1
    while path[at:].strip():
        found = _STEP.match(path, at)
        if found is None:
            raise ValueError(f"Invalid JSON path '{path}' at index {at}: .name, [index] or [\"name\"] is expected.")
        plain, index, quoted = found.groups()
        name = plain or index or re.sub(r"\\(.)", r"\1", quoted)
        made.append((name, int(name) if _INDEX.fullmatch(name) else None))
        at = found.end()
    return tuple(made)


@scalar(
    "EXTRACTJSONFIELD",
    "(json STRING, path STRING) -> STRING",
    category="JSON",
    description="The value at a JSONPath, as text; NULL where there is none.",
)
def extractjsonfield(text: str, path: str) -> str | None:
    """
    >>> extractjsonfield('{"log": {"cloud": "gcp", "sizes": [1, 2.50]}}', "$.log.sizes[1]")
    '2.50'
    """
    steps = _steps(path)
    # The quick parser does not keep a number's digits, and knows nothing after the value: the exact one is asked where
    # that makes a difference.
    try:
        found = _at(orjson.loads(text), steps)
    except orjson.JSONDecodeError:
        found = _at(json_values.read(text), steps)
    else:
        if isinstance(found, float | list | dict):
            found = _at(json_values.read(text), steps)
    if found is MISSING:
        return None
    return found if isinstance(found, str) else json_values.write(found)


def _at(value: Any, steps: tuple[tuple[str, int | None], ...]) -> Any:
    for name, index in steps:
        if isinstance(value, dict):
            if name not in value:
                return MISSING
            value = value[name]
        elif isinstance(value, list) and index is not None and 0 <= index < len(value):
            value = value[index]
        else:
            return MISSING
    return value


@scalar(
    "IS_JSON_STRING",
    "(json STRING) -> BOOLEAN",
    category="JSON",
    description="Whether a text is a JSON value.",
    nulls=True,
)
def is_json_string(text: str | None) -> bool:
    if text is None:
        return False
    try:
        return json_values.read(text) is not MISSING
    except ValueError:
        return False


@scalar(
    "JSON_ARRAY_CONTAINS",
    "(json STRING, value T) -> BOOLEAN",
    category="JSON",
    description="Whether a JSON array has a value in it; false where the text is not a JSON array.",
    nulls=True,
)
def json_array_contains(text: str | None, wanted: Any) -> bool | None:
    """A DOUBLE or DECIMAL is found among numbers with a point, an INTEGER or BIGINT among those without.

    >>> json_array_contains('[1, "2", null]', 1), json_array_contains('[1, "2", null]', 2)
    (True, False)
    """
    if text is None:
        return None
    try:
        values = json_values.read(text)
    except ValueError:
        return False
    if not isinstance(values, list):
        return False
    if isinstance(wanted, float):
        return any(isinstance(one, Decimal) and float(one) == wanted for one in values)
    if wanted is None or isinstance(wanted, bool | int | str | Decimal):
        kind = type(wanted)
        return any(type(one) is kind and one == wanted for one in values)
    return False


@scalar(
    "JSON_ARRAY_LENGTH",
    "(json STRING) -> INTEGER",
    category="JSON",
    description="The number of items of a JSON array; NULL where the text is not a JSON array.",
)
def json_array_length(text: str) -> int | None:
    value = json_values.read(text)
    return len(value) if isinstance(value, list) else None


@scalar(
    "JSON_CONCAT",
    "(json STRING, more STRING...) -> STRING",
    category="JSON",
    description="JSON objects as one, arrays and other values as one array; NULL where one is NULL or not JSON.",
)
def json_concat(*texts: str) -> str | None:
    """
    >>> json_concat('{"a": 1, "b": 2}', '{"a": 3}'), json_concat("[1, 2]", "3")
    ('{"a":3,"b":2}', '[1,2,3]')
    """
    values = [json_values.read(text) for text in texts]
    if any(value is MISSING for value in values):
        return None
    if all(isinstance(value, dict) for value in values):
        joined: Any = {key: one for value in values for key, one in value.items()}
    elif len(values) == 1:
        joined = values[0]
    else:
        joined = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return json_values.write(joined, plain=True)


@scalar(
    "JSON_ITEMS",
    "(json STRING) -> ARRAY<STRING>",
    category="JSON",
    description="The items of a JSON array, each as JSON; NULL where the text is not a JSON array.",
)
def json_items(text: str) -> list[str] | None:
    value = json_values.read(text)
    return [json_values.write(one) for one in value] if isinstance(value, list) else None


@scalar(
    "JSON_KEYS",
    "(json STRING) -> ARRAY<STRING>",
    category="JSON",
    description="The keys of a JSON object; NULL where the text is not a JSON object.",
)
def json_keys(text: str) -> list[str] | None:
    value = json_values.read(text)
    return list(value) if isinstance(value, dict) else None


@scalar(
    "JSON_RECORDS",
    "(json STRING) -> MAP<STRING, STRING>",
    category="JSON",
    description="The keys of a JSON object and their values, each as JSON; NULL where the text is not a JSON object.",
)
def json_records(text: str) -> dict[str, str] | None:
    value = json_values.read(text)
    return {key: json_values.write(one) for key, one in value.items()} if isinstance(value, dict) else None


@scalar(
    "TO_JSON_STRING",
    "(value T) -> STRING",
    category="JSON",
    description="Any value as JSON.",
    nulls=True,
)
def to_json_string(value: Any) -> str:
    """
    >>> to_json_string({"B": [1, None], "A": Decimal("15.30")})
    '{"A":15.30,"B":[1,null]}'
    """
    return json_values.write(json_values.of_sql(value), plain=True)
