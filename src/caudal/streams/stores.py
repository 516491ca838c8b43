"""Stores that users ask for: those of the Processor API (`builder.add_state_store`), and how an operator's store is
kept (`store=persistent("totals", retention="2 days")` in place of just a name)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from caudal.plan.durations import Duration, milliseconds
from caudal.plan.errors import PlanError
from caudal.plan.naming import checked_name
from caudal.plan.topology import StoreKind, StoreSpec
from caudal.serde import Serde


@dataclass(frozen=True, slots=True)
class Keep:
    """How an operator keeps its store. Without a name the store gets a number."""

    name: str | None = None
    persistent: bool = True
    logged: bool = True
    retention: int | None = None
    topic_configs: tuple[tuple[str, str], ...] = ()


Store = str | Keep


def persistent(
    name: str | None = None,
    *,
    logged: bool = True,
    retention: Duration | None = None,
    topic_configs: Mapping[str, object] | None = None,
) -> Keep:
    """A store on disk (the default). `retention` is for window stores, `topic_configs` for the changelog topic.

    >>> persistent("totals", logged=False).name
    'totals'
    """
    return _keep(name, True, logged, retention, topic_configs)


def in_memory(
    name: str | None = None,
    *,
    logged: bool = True,
    retention: Duration | None = None,
    topic_configs: Mapping[str, object] | None = None,
) -> Keep:
    """A store in memory: quicker, and rebuilt from its changelog after every start.

    >>> in_memory("totals").persistent
    False
    """
    return _keep(name, False, logged, retention, topic_configs)


def key_value_store(name: str, *, key: Serde, value: Serde, persistent: bool = True, logged: bool = True) -> StoreSpec:
    """A store of values by key, for processors.

    >>> from caudal.serde import Long, String
    >>> key_value_store("seen", key=String(), value=Long()).kind
    <StoreKind.KEY_VALUE: 'key-value'>
    """
    return StoreSpec(checked_name(name), StoreKind.KEY_VALUE, key, value, persistent, logged)


def timestamped_store(
    name: str, *, key: Serde, value: Serde, persistent: bool = True, logged: bool = True
) -> StoreSpec:
    """A store of values with timestamps by key: what tables use.

    >>> from caudal.serde import Json, String
    >>> timestamped_store("last", key=String(), value=Json()).name
    'last'
    """
    return StoreSpec(checked_name(name), StoreKind.TIMESTAMPED, key, value, persistent, logged)


def window_store(
    name: str,
    *,
    key: Serde,
    value: Serde,
    retention: Duration,
    window_size: Duration,
    retain_duplicates: bool = False,
    persistent: bool = True,
    logged: bool = True,
) -> StoreSpec:
    """A store of values by key and window start.

    >>> from caudal.serde import Long, String
    >>> window_store("recent", key=String(), value=Long(), retention="1 hour", window_size="1 minute").retention
    3600000
    """
    kept, size = milliseconds(retention, "retention"), milliseconds(window_size, "window size")
    if kept < size:
        raise PlanError(f"Store '{name}' keeps windows for {kept} ms, which is less than their size of {size} ms.")
    return StoreSpec(
        checked_name(name), StoreKind.WINDOW, key, value, persistent, logged, kept, size, retain_duplicates
    )


def session_store(
    name: str, *, key: Serde, value: Serde, retention: Duration, persistent: bool = True, logged: bool = True
) -> StoreSpec:
    """A store of values by key and session.

    >>> from caudal.serde import Long, String
    >>> session_store("visits", key=String(), value=Long(), retention="1 day").retention
    86400000
    """
    kept = milliseconds(retention, "retention")
    return StoreSpec(checked_name(name), StoreKind.SESSION, key, value, persistent, logged, kept)


def kept(store: Store | None) -> Keep:
    """What `store=` says, with the name checked."""
    keep = store if isinstance(store, Keep) else Keep(store)
    if keep.name is not None:
        checked_name(keep.name)
    return keep


def _keep(
    name: str | None, persistent: bool, logged: bool, retention: Duration | None, configs: Mapping[str, object] | None
) -> Keep:
    return Keep(
        name,
        persistent,
        logged,
        None if retention is None else milliseconds(retention, "retention"),
        tuple((key, str(value)) for key, value in (configs or {}).items()),
    )
