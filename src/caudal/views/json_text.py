"""Keys from the text of a URL, and answers as JSON.

A key is written as the store's serde means it: text, a number, true or false, a UUID, bytes as base64url, JSON for
JSON and lists. Any other serde gets the text. In answers bytes are base64, decimals are text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import orjson

from caudal.serde import Boolean, Bytes, Double, Float, Integer, Json, ListOf, Long, Short, String, Uuid

_TRUTH = {"true": True, "false": False}


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


_READERS: dict[type, tuple[Callable[[str], Any], str]] = {
    String: (str, "text"),
    Long: (int, "a whole number"),
    Integer: (int, "a whole number"),
    Short: (int, "a whole number"),
    Double: (float, "a number"),
    Float: (float, "a number"),
    Boolean: (_TRUTH.__getitem__, "true or false"),
    Uuid: (UUID, "a UUID"),
    Bytes: (decoded, "base64url"),
    Json: (orjson.loads, 'JSON (text in quotes: "ana")'),
    ListOf: (orjson.loads, "a JSON list"),
}


def key_reader(serde: object) -> Callable[[str], Any]:
    """What makes a key of a text; it raises ValueError with what was expected."""
    read, what = _READERS.get(type(serde), (str, "text"))
    if read is str:
        return str

    def checked(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, KeyError):
            raise ValueError(f"'{text}' is no key of this store: {what} is expected") from None

    return checked


def to_json(document: Any) -> bytes:
    try:
        return orjson.dumps(document, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # integers beyond 64 bits, which orjson does not write
        return json.dumps(document, default=_plain).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (tuple, set, frozenset)):
        return list(value)
    return str(value)
