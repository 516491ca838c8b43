"""JSON, by orjson: dict, list, str, int, float, bool, None; dates, UUIDs and dataclasses are written as text or
objects.

As a key, give `sort_keys=True` if the objects may have their fields in different orders: partitions go by the bytes.
"""

from __future__ import annotations

from typing import Any

import orjson

from caudal.serde.serde import BuiltInSerde, cannot_read, cannot_write


class Json(BuiltInSerde):
    """A JSON document.

    >>> Json().serialize({"user": "ana", "amount": 3})
    b'{"user":"ana","amount":3}'
    """

    __slots__ = ("_option", "sort_keys")
    settings = ("sort_keys",)

    def __init__(self, sort_keys: bool = False) -> None:
        self.sort_keys = sort_keys
        self._option = orjson.OPT_SORT_KEYS if sort_keys else None

    def __repr__(self) -> str:
        return "Json(sort_keys=True)" if self.sort_keys else "Json()"

    def serialize(self, value: Any, _dumps: Any = orjson.dumps) -> bytes:
        try:
            return _dumps(value, None, self._option)  # type: ignore[no-any-return]
        except TypeError as error:
            raise cannot_write(self, value, error) from None

    def deserialize(self, data: bytes, _loads: Any = orjson.loads) -> Any:
        try:
            return _loads(data)
        except ValueError as error:
            raise cannot_read(self, data, error) from None
