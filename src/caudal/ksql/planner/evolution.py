"""CREATE OR REPLACE: whether a query may go on with the state and offsets of the one it replaces.

As in ksqlDB, WHERE and HAVING may change (rows that went through before stay as they are), and columns may be added to
the end of a SELECT. What the state is made of may not: sources, joins, keys, groups, windows, aggregates, and the
columns that readers know already.
"""

from __future__ import annotations

from collections.abc import Iterator

from caudal.ksql.errors import KsqlError
from caudal.ksql.planner.logical import LogicalStep
from caudal.ksql.planner.planned import PlannedQuery
from caudal.ksql.schema import Schema

# Steps that keep nothing: what stands in them decides about rows to come only.
_FREE = frozenset({"FILTER", "PROJECT"})
_NAMES = {"SOURCE": "source", "JOIN": "join", "AGGREGATE": "aggregation", "REKEY": "PARTITION BY", "UNION": "UNION"}


def fingerprint(planned: PlannedQuery) -> tuple[str, ...]:
    """What the state of a query depends on, step by step: equal ones can go on with each other's."""
    assert planned.logical is not None
    return tuple(_state(planned.logical, 0))


def _state(step: LogicalStep, depth: int) -> Iterator[str]:
    inner = depth
    if step.kind not in _FREE and step.kind != "SINK":
        yield f"{'  ' * depth}{step.kind} {step.detail}"
        inner += 1
    for parent in step.parents:
        yield from _state(parent, inner)


def check_replacement(old: PlannedQuery, new: PlannedQuery) -> None:
    """Raises with the reason where the new query cannot go on from where the old one is."""
    if old.kind is not new.kind:
        raise _refused(f"the result was a {old.kind.value} and would be a {new.kind.value}")
    _check_steps(old, new)
    for what, before, after in (
        ("topic", old.topic, new.topic),
        ("key format", old.key_format, new.key_format),
        ("value format", old.value_format, new.value_format),
        ("window", old.window, new.window),
        ("TIMESTAMP column", old.timestamp_column, new.timestamp_column),
    ):
        if before != after:
            raise _refused(f"the {what} was {_shown(before)} and would be {_shown(after)}")
    _check_columns(old.schema, new.schema)
    _check_names(old, new)


def _check_steps(old: PlannedQuery, new: PlannedQuery) -> None:
    before, after = fingerprint(old), fingerprint(new)
    if before == after:
        return
    if len(before) != len(after):
        gone = [line.strip() for line in before if line not in after]
        added = [line.strip() for line in after if line not in before]
        changes = [f"without '{line}'" for line in gone] + [f"with '{line}'" for line in added]
        raise _refused(f"its steps are others: {', '.join(changes)}")
    for one, two in zip(before, after, strict=True):
        if one != two:
            kind = two.split()[0]
            raise _refused(f"the {_NAMES.get(kind, kind)} was '{_detail(one)}' and would be '{_detail(two)}'")


def _detail(line: str) -> str:
    return line.strip().split(" ", 1)[-1]


def _check_columns(old: Schema, new: Schema) -> None:
    if old.key != new.key:
        raise _refused(f"the key was {Schema(old.key)} and would be {Schema(new.key)}")
    before, after = old.value, new.value
    kept = after[: len(before)]
    for one in before:
        if new.find(one.name) is None:
            raise _refused(f"the column {one} would be missing; columns can only be added, at the end")
    for one, two in zip(before, kept, strict=False):
        if one != two:
            raise _refused(f"the column {one} would be {two}; columns can only be added, at the end")


def _check_names(old: PlannedQuery, new: PlannedQuery) -> None:
    """State and internal topics must be found under the names that they have. State that is not needed any more, such
    as a table's rows where there is no WHERE now, may go."""
    stores, again = old.topology.stores, new.topology.stores
    gone = [name for name in stores if name not in again]
    missing = list(gone) if again.keys() - stores.keys() else []
    logs = tuple(f"-{name}-changelog" for name in gone)
    topics = [name for name in old.topology.internal_topics if name not in new.topology.internal_topics]
    missing += [name for name in topics if not name.endswith(logs)]
    if missing:
        raise _refused(f"its state would have other names ({', '.join(sorted(missing))})")
    for name in stores.keys() & again.keys():
        one, two = stores[name], again[name]
        if (one.key, one.value, one.kind) != (two.key, two.value, two.kind):
            raise _refused(f"the rows in its state '{name}' would have other columns")


def _refused(reason: str) -> KsqlError:
    return KsqlError(
        f"Cannot replace the query and continue from its state: {reason}. DROP it and create it again to begin anew."
    )


def _shown(value: object) -> str:
    return "none" if value is None else f"'{getattr(value, 'name', value)}'"
