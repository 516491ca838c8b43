"""JSON, by orjson: dict, list, str, int, float, bool, None; dates, UUIDs and dataclasses are written as text or
objects.

As a key, give `sort_keys=True` if the objects may have their fields in different orders: partitions go by the bytes.
With a schema the values have types before a record is read, and SQL strings over them may run natively.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from caudal.serde.serde import BuiltInSerde, Serde, SerdeError, cannot_read, cannot_write

_DECLARED = re.compile(r"\s*(?:`([^`]+)`|(\w+))\s+(\w+)\s*")


class Json(BuiltInSerde):
    """A JSON document.

    >>> Json().serialize({"user": "ana", "amount": 3})
    b'{"user":"ana","amount":3}'

    `schema` declares fields: the document is an object, and where it has such a field, it is null or of this type (an
    integer does for DOUBLE); else it cannot be read. Other fields stay as they are. Writing does not look at it.

    >>> Json(schema="user STRING, amount DOUBLE, note STRING").deserialize(b'{"amount": 3, "user": "ana", "x": 1}')
    {'amount': 3.0, 'user': 'ana', 'x': 1}
    """

    __slots__ = ("_option", "fields", "schema", "sort_keys")
    settings = ("sort_keys", "schema")

    def __init__(self, sort_keys: bool = False, schema: str | None = None) -> None:
        self.sort_keys = sort_keys
        self.schema = schema
        self.fields: tuple[tuple[str, str], ...] = () if schema is None else _fields(schema)  # name, type
        self._option = orjson.OPT_SORT_KEYS if sort_keys else None

    def __repr__(self) -> str:
        given = ["sort_keys=True"] if self.sort_keys else []
        given += [f"schema={self.schema!r}"] if self.schema is not None else []
        return f"Json({', '.join(given)})"

    def serialize(self, value: Any, _dumps: Any = orjson.dumps) -> bytes:
        try:
            return _dumps(value, None, self._option)  # type: ignore[no-any-return]
        except TypeError as error:
            raise cannot_write(self, value, error) from None

    def deserialize(self, data: bytes, _loads: Any = orjson.loads) -> Any:
        try:
            value = _loads(data)
        except ValueError as error:
            raise cannot_read(self, data, error) from None
        if self.fields:
            self._check(value, data)
        return value

    def for_results(self) -> Json:
        """The serde of what is made from such values: they may have other fields, of other types."""
        return Json(self.sort_keys) if self.fields else self

    def _check(self, value: Any, data: bytes) -> None:
        if value.__class__ is not dict:
            raise cannot_read(self, data, "an object is needed")
        for name, kind in self.fields:
            found = value.get(name)
            if found is None:
                continue
            type_found = found.__class__
            if kind == "DOUBLE" and type_found is int:
                value[name] = float(found)
            elif type_found is not _PYTHON[kind] or (kind == "BIGINT" and found >= 1 << 63):
                raise cannot_read(self, data, f"the field '{name}' is not {kind}")


_PYTHON: dict[str, type] = {"STRING": str, "BIGINT": int, "DOUBLE": float, "BOOLEAN": bool}


def _fields(schema: str) -> tuple[tuple[str, str], ...]:
    """ "user STRING, amount DOUBLE" as names and types."""
    fields: dict[str, str] = {}
    for part in schema.split(","):
        found = _DECLARED.fullmatch(part)
        name, kind = (found[1] or found[2], found[3].upper()) if found else ("", "")
        if kind not in _PYTHON:
            raise SerdeError(
                f"Json(schema=) reads 'name TYPE, name TYPE' with the types {', '.join(_PYTHON)}, not {part.strip()!r}."
            )
        if name in fields:
            raise SerdeError(f"Json(schema=) declares the field '{name}' twice.")
        fields[name] = kind
    return tuple(fields.items())


def for_results(serde: Serde) -> Serde:
    """The serde of what is made from values of this one, where no other is given."""
    return serde.for_results() if isinstance(serde, Json) else serde
