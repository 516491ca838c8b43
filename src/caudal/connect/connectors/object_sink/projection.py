"""`schema.compatibility`: whether a record of another schema begins a new file, or is projected on the file's schema.

NONE: every change begins a new file. BACKWARD and FULL: a file keeps the newest schema; records of an older one are
projected on it. FORWARD: a file keeps its schema; records of a newer one are projected. Which is newer, the versions
say; a schema without version is taken as newer than what came before it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

from caudal.connect.data import Kind, Schema
from caudal.connect.errors import DataError

Compatibility = Literal["NONE", "BACKWARD", "FORWARD", "FULL"]
Projection = Callable[[Any], Any]

_WIDER = [Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64, Kind.FLOAT32, Kind.FLOAT64]


def begins_new_file(compatibility: Compatibility, current: Schema | None, schema: Schema | None) -> bool:
    """Given two schemas that differ."""
    if compatibility == "NONE" or current is None or schema is None:
        return True
    is_newer = schema.version is None or current.version is None or schema.version > current.version
    return is_newer if compatibility in ("BACKWARD", "FULL") else not is_newer


@lru_cache(1024)
def projection(source: Schema, target: Schema) -> Projection | None:
    """Values of `source` as values of `target`; None when they are the same. Raises DataError when that cannot be.

    >>> from caudal.connect.data import INT32, INT64, STRING, struct
    >>> project = projection(struct(None, id=INT32, old=STRING), struct(None, id=INT64, new=STRING.as_optional()))
    >>> project({"id": 1, "old": "x"})
    {'id': 1, 'new': None}
    """
    if source == target:
        return None
    if source.name != target.name and (source.kind is not Kind.STRUCT or target.kind is not Kind.STRUCT):
        raise DataError(f"A value of {source.name or source.kind} cannot be projected on {target.name or target.kind}.")
    if source.kind is not target.kind:
        if source.kind in _WIDER and target.kind in _WIDER and _WIDER.index(source.kind) < _WIDER.index(target.kind):
            return float if target.kind in (Kind.FLOAT32, Kind.FLOAT64) else _same
        raise DataError(f"A value of type {source.kind} cannot be projected on {target.kind}.")
    if source.optional and not target.optional and not target.has_default:
        raise DataError("A value that may be null cannot be projected on one that may not.")
    match source.kind:
        case Kind.STRUCT:
            inner = _struct(source, target)
        case Kind.ARRAY:
            assert source.values is not None and target.values is not None
            of_items = projection(source.values, target.values) or _same

            def inner(value: Any) -> Any:
                return [of_items(one) for one in value]

        case Kind.MAP:
            assert source.values is not None and target.values is not None
            of_values = projection(source.values, target.values) or _same

            def inner(value: Any) -> Any:
                return {key: of_values(one) for key, one in value.items()}

        case _:
            inner = _same
    default = target.default if not target.optional else None
    return lambda value: default if value is None else inner(value)


def _struct(source: Schema, target: Schema) -> Projection:
    known: list[tuple[str, Projection]] = []
    added: dict[str, Any] = {}
    for field in target.fields:
        before = source.field(field.name)
        if before is not None:
            known.append((field.name, projection(before.schema, field.schema) or _same))
        elif field.schema.has_default or field.schema.optional:
            added[field.name] = field.schema.default
        else:
            raise DataError(f"The field {field.name} has no default, so records without it cannot be projected.")
    names = [field.name for field in target.fields]

    def project(value: Any) -> Any:
        made = {name: of(value.get(name)) for name, of in known}
        made.update(added)
        return {name: made[name] for name in names}

    return project


def _same(value: Any) -> Any:
    return value
