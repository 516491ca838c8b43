"""The functions that golden cases choose by name; java/Functions.java holds the same ones in Java.

A case writes "name" or ["name", parameter, ...]. Arguments are those of the operator: (key, value) for predicates and
mappers, (aggregate, value) for reducers, (key, value, aggregate) for aggregators, (left, right) for joiners,
(key, left, right) for mergers, (key, value, record timestamp) for timestamp extractors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def named(choice: Any) -> Function:
    """The function a case means. A list is a name with parameters."""
    name, *parameters = choice if isinstance(choice, list) else [choice]
    if name in WITH_PARAMETERS:
        made: Function = WITH_PARAMETERS[name](*parameters)
        return made
    return PLAIN[name]


def text(value: Any) -> str:
    """As Java's String.valueOf, for the values that cases use."""
    return "null" if value is None else str(value)


def _field(value: Any, name: str) -> Any:
    return None if value is None else value.get(name)


def _remove(values: list[Any], value: Any) -> list[Any]:
    rest = list(values)
    if value in rest:
        rest.remove(value)
    return rest


PREDICATES: dict[str, Function] = {
    "even": lambda key, value: value is not None and value % 2 == 0,
    "positive": lambda key, value: value is not None and value > 0,
    "value_is_null": lambda key, value: value is None,
    "value_is_present": lambda key, value: value is not None,
}

MAPPERS: dict[str, Function] = {
    "double": lambda key, value: None if value is None else value * 2,
    "upper": lambda key, value: None if value is None else value.upper(),
    "length": lambda key, value: None if value is None else len(value),
    "key_and_value": lambda key, value: f"{text(key)}:{text(value)}",
    "to_null": lambda key, value: None,
    "null_if_odd": lambda key, value: None if value is None or value % 2 else value,
    "text_or_none": lambda key, value: text(value),
    "key": lambda key, value: key,
    "value": lambda key, value: value,
    "upper_key": lambda key, value: None if key is None else key.upper(),
    "first_letter": lambda key, value: None if value is None else value[0],
    "first_letter_of_key": lambda key, value: key[0],
    "window_text": lambda key, value: f"{key.key}@{key.start}/{key.end}",
    "window_key": lambda key, value: key.key,
    # (key, value) → (key, value)
    "swap": lambda key, value: (value, key),
    "in_one_group": lambda key, value: ("all", value),
    "by_value": lambda key, value: (text(value), value),
    "odd_to_null_key": lambda key, value: (None if value % 2 else key, value),
    # (key, value) → several
    "words": lambda key, value: value.split(" ") if value else [],
    "words_as_keys": lambda key, value: [(word, len(word)) for word in value.split(" ")],
    "twice": lambda key, value: [(key, value), (key, value)],
    "nothing": lambda key, value: [],
    # (key, value) → topic
    "topic_by_sign": lambda key, value: "out-negative" if value < 0 else "out-positive",
}

REDUCERS: dict[str, Function] = {
    "sum": lambda aggregate, value: aggregate + value,
    "difference": lambda aggregate, value: aggregate - value,
    "largest": lambda aggregate, value: max(aggregate, value),
    "latest": lambda aggregate, value: value,
    "concat": lambda aggregate, value: text(aggregate) + text(value),
    "null_if_negative": lambda aggregate, value: None if value < 0 else aggregate + value,
}

INITIALIZERS: dict[str, Function] = {
    "zero": lambda: 0,
    "hundred": lambda: 100,
    "empty_text": lambda: "",
    "empty_list": list,
    "no_value": lambda: None,
}

AGGREGATORS: dict[str, Function] = {
    "add": lambda key, value, aggregate: aggregate + value,
    "subtract": lambda key, value, aggregate: aggregate - value,
    "add_length": lambda key, value, aggregate: aggregate + len(value),
    "add_from_null": lambda key, value, aggregate: (aggregate or 0) + value,
    "add_or_delete": lambda key, value, aggregate: None if value < 0 else (aggregate or 0) + value,
    "append": lambda key, value, aggregate: [*aggregate, value],
    "remove": lambda key, value, aggregate: _remove(aggregate, value),
    "append_text": lambda key, value, aggregate: text(aggregate) + text(value),
    "append_mark": lambda key, value, aggregate: f"{text(aggregate)}+{text(value)}",
    "remove_mark": lambda key, value, aggregate: f"{text(aggregate)}-{text(value)}",
    "tag_left": lambda key, value, aggregate: f"{text(aggregate)}L{text(value)}",
    "tag_right": lambda key, value, aggregate: f"{text(aggregate)}R{text(value)}",
    "tag_third": lambda key, value, aggregate: f"{text(aggregate)}T{text(value)}",
}

MERGERS: dict[str, Function] = {
    "merge_sum": lambda key, left, right: left + right,
    "merge_lists": lambda key, left, right: [*left, *right],
    "merge_text": lambda key, left, right: text(left) + text(right),
}

JOINERS: dict[str, Function] = {
    "pair": lambda left, right: f"{text(left)}+{text(right)}",
    "keyed_pair": lambda key, left, right: f"{text(key)}:{text(left)}+{text(right)}",
    "null_pair": lambda left, right: None,
    "product": lambda left, right: None if left is None or right is None else left * right,
}

TIMESTAMP_EXTRACTORS: dict[str, Function] = {
    "value_as_time": lambda key, value, timestamp: timestamp if value is None else value,
}

PLAIN = PREDICATES | MAPPERS | REDUCERS | INITIALIZERS | AGGREGATORS | MERGERS | JOINERS | TIMESTAMP_EXTRACTORS

WITH_PARAMETERS: dict[str, Function] = {
    "key_is": lambda wanted: lambda key, value: key == wanted,
    "at_least": lambda least: lambda key, value: value is not None and value >= least,
    "field": lambda name: lambda key, value: _field(value, name),
    "by_field": lambda name, kept: lambda key, value: (_field(value, name), _field(value, kept)),
    "enrich": lambda name: lambda left, right: {**left, name: right},
    "time_field": lambda name: (
        lambda key, value, timestamp: timestamp if _field(value, name) is None else _field(value, name)
    ),
}
