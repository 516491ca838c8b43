"""JSON, by orjson: dict, list, str, int, float, bool, None; dates, UUIDs and dataclasses are written as text or
objects.

As a key, give `sort_keys=True` if the objects may have their fields in different orders: partitions go by the bytes.
With a schema the values have types before a record is read, and SQL strings over them may run natively.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from caudal.serde.serde import BuiltInSerde, SerdeError, cannot_read, cannot_write

_DECLARED = re.compile(r"\s*(?:`([^`]+)`|(\w+))\s+(\w+)\s*")


class Json(BuiltInSerde):
    """A JSON document.

    >>> Json().serialize({"user": "ana", "amount": 3})
    b'{"user":"ana","amount":3}'

    `schema` declares the fields that are read: objects have these and no others, in this order, None where one is
    missing. What is of another type cannot be read; DOUBLE takes integers too, STRING takes anything as its JSON text.
    Writing does not look at it.

    >>> Json(schema="user STRING, amount DOUBLE, note STRING").deserialize(b'{"amount": 3, "user": "ana", "x": 1}')
    {'user': 'ana', 'amount': 3.0, 'note': None}
    """

    __slots__ = ("_checks", "_option", "fields", "schema", "sort_keys")
    settings = ("sort_keys", "schema")

    def __init__(self, sort_keys: bool = False, schema: str | None = None) -> None:
        self.sort_keys = sort_keys
        self.schema = schema
        self.fields: tuple[tuple[str, str], ...] = () if schema is None else _fields(schema)  # name, type
        self._checks = [(name, _CHECKS[kind]) for name, kind in self.fields]
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
        return self._declared(value, data) if self._checks else value

    def _declared(self, value: Any, data: bytes) -> dict[str, Any]:
        if value.__class__ is not dict:
            raise cannot_read(self, data, "an object is needed")
        result = {}
        for name, check in self._checks:
            found = value.get(name)
            if found is not None:
                try:
                    found = check(found)
                except ValueError as error:
                    raise cannot_read(self, data, f"the field '{name}' is not {error}") from None
            result[name] = found
        return result


def _boolean(found: Any) -> bool:
    if found.__class__ is not bool:
        raise ValueError("BOOLEAN")
    return bool(found)


def _bigint(found: Any) -> int:
    if found.__class__ is not int or found >= 1 << 63:
        raise ValueError("BIGINT")
    return int(found)


def _double(found: Any) -> float:
    if found.__class__ is not float and found.__class__ is not int:
        raise ValueError("DOUBLE")
    return float(found)


def _string(found: Any) -> str:
    return found if found.__class__ is str else str(orjson.dumps(found), "utf-8")


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "STRING": _string,
    "BIGINT": _bigint,
    "DOUBLE": _double,
    "BOOLEAN": _boolean,
}


def _fields(schema: str) -> tuple[tuple[str, str], ...]:
    """ "user STRING, amount DOUBLE" as names and types."""
    fields: dict[str, str] = {}
    for part in schema.split(","):
        found = _DECLARED.fullmatch(part)
        name, kind = (found[1] or found[2], found[3].upper()) if found else ("", "")
        if kind not in _CHECKS:
            raise SerdeError(
                f"Json(schema=) reads 'name TYPE, name TYPE' with the types {', '.join(_CHECKS)}, not {part.strip()!r}."
            )
        if name in fields:
            raise SerdeError(f"Json(schema=) declares the field '{name}' twice.")
        fields[name] = kind
    return tuple(fields.items())
