"""Maps: made, united, taken apart. Entries keep the order in which they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caudal.ksql import types
from caudal.ksql.errors import KsqlError
from caudal.ksql.functions.registry import scalar
from caudal.ksql.types import Map, SqlType

MAP = "MAP"


@scalar(
    "AS_MAP",
    "(keys ARRAY<STRING>, values ARRAY<T>) -> MAP<STRING, T>",
    description="A map of keys and the values at the same places; NULL where there are too few values.",
    category=MAP,
)
def as_map(keys: list[str], values: list[Any]) -> dict[str, Any]:
    return {key: values[place] if place < len(values) else None for place, key in enumerate(keys)}


@scalar(
    "MAP_KEYS", "(map MAP<K, V>) -> ARRAY<K>", description="The keys of a map.", category=MAP, spark="map_keys({0})"
)
def map_keys(entries: dict[Any, Any]) -> list[Any]:
    return list(entries)


@scalar(
    "MAP_VALUES",
    "(map MAP<K, V>) -> ARRAY<V>",
    description="The values of a map.",
    category=MAP,
    spark="map_values({0})",
)
def map_values(entries: dict[Any, Any]) -> list[Any]:
    return list(entries.values())


@scalar(
    "MAP_UNION",
    "(map1 MAP<K, V>, map2 MAP<K, V>) -> MAP<K, V>",
    description="The entries of both maps; of a key in both, that of the second one. A null map counts as empty.",
    category=MAP,
    nulls=True,
)
def map_union(one: dict[Any, Any] | None, two: dict[Any, Any] | None) -> dict[Any, Any] | None:
    if one is None or two is None:
        return one if two is None else two
    return {**one, **two}


def _entries(arguments: Sequence[SqlType | None]) -> SqlType:
    if not isinstance(arguments[0], Map):
        raise KsqlError(f"ENTRIES needs a map, not {arguments[0] or 'NULL'}.")
    return types.array(types.struct(("K", arguments[0].key), ("V", arguments[0].value)))


@scalar(
    "ENTRIES",
    "(map MAP<K, V>, sorted BOOLEAN) -> ARRAY<STRUCT<K K, V V>>",
    description="The entries of a map as structs of K and V, sorted by key where asked for.",
    category=MAP,
    returns=_entries,
)
def entries_of(entries: dict[Any, Any], is_sorted: bool) -> list[dict[str, Any]]:
    keys = sorted(entries) if is_sorted else entries
    return [{"K": key, "V": entries[key]} for key in keys]
