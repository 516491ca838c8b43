"""Own copies of values that can be changed in place.

The write cache keeps Python objects. If it handed them out, an aggregator that appends to its list and then raises, or
a later node that edits the dict it was given, would change the store without a put: the changelog would not know, and a
restored task would disagree with the one that failed. So what goes in and out is copied, where it can change at all.
Plain JSON-like values are copied by structure (cheaper than any serde); other classes go through the store's serde.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

# Exact classes whose objects never change. Membership of `value.__class__` is the hot-path test.
ATOMS: frozenset[type] = frozenset(
    {int, str, float, bytes, bool, complex, type(None), Decimal, datetime, date, time, timedelta, UUID}
)


def isolated(value: Any, through_serde: Callable[[Any], Any]) -> Any:
    """`value` itself where it cannot change, else a copy that shares nothing changeable with it."""
    kind = value.__class__
    if kind in ATOMS:
        return value
    if kind is dict:
        return {key: item if item.__class__ in ATOMS else isolated(item, through_serde) for key, item in value.items()}
    if kind is list:
        return [item if item.__class__ in ATOMS else isolated(item, through_serde) for item in value]
    if isinstance(value, tuple):
        for item in value:
            if item.__class__ not in ATOMS:
                break
        else:
            return value
        if kind is tuple:
            return tuple([isolated(item, through_serde) for item in value])
        if hasattr(kind, "_make"):
            return kind._make([isolated(item, through_serde) for item in value])
    elif kind is set:
        return set(value)  # members are hashable, so they do not change
    elif kind is frozenset or isinstance(value, Enum):
        return value
    # Nested in a container the whole cannot be taken through the store's serde: the generic copy has to do.
    return through_serde(value)
