"""An Avro schema for a plain Python value: for producers that have none yet. None may be anything, so a field that is
None gets the type "null" alone; lists and dicts must have elements of one type, or be records."""

from __future__ import annotations

import datetime
import uuid
from typing import Any

import orjson

_SIMPLE: dict[type, Any] = {
    str: "string",
    bool: "boolean",
    int: "long",
    float: "double",
    bytes: "bytes",
    type(None): "null",
    datetime.date: {"type": "int", "logicalType": "date"},
    datetime.datetime: {"type": "long", "logicalType": "timestamp-micros"},
    uuid.UUID: {"type": "string", "logicalType": "uuid"},
}


def inferred_schema(value: Any, name: str) -> str:
    """
    >>> inferred_schema({"user": "ana"}, "Order")
    '{"type":"record","name":"Order","fields":[{"name":"user","type":"string"}]}'
    """
    return orjson.dumps(_type(value, name, name)).decode()


def _type(value: Any, name: str, path: str) -> Any:
    simple = _SIMPLE.get(value.__class__)
    if simple is not None:
        return simple
    if isinstance(value, dict):
        fields = []
        for field, item in value.items():
            if not isinstance(field, str) or not field.isidentifier() or not field.isascii():
                raise ValueError(f"{field!r} in {path} cannot be the name of a field")
            fields.append({"name": field, "type": _type(item, f"{name}_{field}", f"{path}.{field}")})
        return {"type": "record", "name": name, "fields": fields}
    if isinstance(value, list):
        kinds = [_type(item, f"{name}_item", f"{path}[{index}]") for index, item in enumerate(value)]
        apart = [kind for index, kind in enumerate(kinds) if kind not in kinds[:index]]
        if len(apart) > 1 and any(isinstance(kind, dict) and "name" in kind for kind in apart):
            raise ValueError(f"the elements of {path} have different fields")
        return {"type": "array", "items": (apart[0] if len(apart) == 1 else apart) if apart else "null"}
    raise ValueError(f"{path} is {value.__class__.__name__}, for which no Avro type is known; give schema=")
