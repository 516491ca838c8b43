"""Collections and a lambda that is called for each of their elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caudal.ksql.functions.registry import scalar

LAMBDA = "LAMBDA"
_FILTER = "The elements for which a condition holds."
_TRANSFORM = "A function of each element."
_REDUCE = "A state that each element turns into the next one, from the first state on."


@scalar("FILTER", "(array ARRAY<T>, condition (T) => BOOLEAN) -> ARRAY<T>", description=_FILTER, category=LAMBDA)
def filter_array(array: list[Any], condition: Callable[[Any], bool | None]) -> list[Any]:
    return [value for value in array if condition(value)]


@scalar(
    "FILTER",
    "(map MAP<K, V>, condition (K, V) => BOOLEAN) -> MAP<K, V>",
    description=_FILTER,
    category=LAMBDA,
)
def filter_map(entries: dict[Any, Any], condition: Callable[[Any, Any], bool | None]) -> dict[Any, Any]:
    return {key: value for key, value in entries.items() if condition(key, value)}


@scalar("TRANSFORM", "(array ARRAY<T>, function (T) => U) -> ARRAY<U>", description=_TRANSFORM, category=LAMBDA)
def transform_array(array: list[Any], function: Callable[[Any], Any]) -> list[Any]:
    return [function(value) for value in array]


@scalar(
    "TRANSFORM",
    "(map MAP<K, V>, key (K, V) => R, value (K, V) => S) -> MAP<R, S>",
    description=_TRANSFORM,
    category=LAMBDA,
)
def transform_map(
    entries: dict[Any, Any], new_key: Callable[[Any, Any], Any], new_value: Callable[[Any, Any], Any]
) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for key, value in entries.items():
        renamed = new_key(key, value)
        if renamed in made:
            raise ValueError(f"TRANSFORM gives the key {renamed!r} twice.")
        made[renamed] = new_value(key, value)
    return made


@scalar(
    "REDUCE",
    "(array ARRAY<T>, state S, function (S, T) => S) -> S",
    description=_REDUCE,
    category=LAMBDA,
    nulls=True,
)
def reduce_array(array: list[Any] | None, state: Any, function: Callable[[Any, Any], Any]) -> Any:
    if state is None or array is None:
        return state
    for value in array:
        state = function(state, value)
    return state


@scalar(
    "REDUCE",
    "(map MAP<K, V>, state S, function (S, K, V) => S) -> S",
    description=_REDUCE,
    category=LAMBDA,
    nulls=True,
)
def reduce_map(entries: dict[Any, Any] | None, state: Any, function: Callable[[Any, Any, Any], Any]) -> Any:
    if state is None or entries is None:
        return state
    for key, value in entries.items():
        state = function(state, key, value)
    return state
