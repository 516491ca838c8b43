"""Serdes as JSON: what a plan stores about them, and back. Only our own serdes can be made from a description; a user's
class is described by its name, for reading."""

from __future__ import annotations

from typing import Any

from caudal.serde.change import ChangeSerde
from caudal.serde.either import LeftOrRight
from caudal.serde.foreign_key import SubscriptionResponseSerde, SubscriptionSerde
from caudal.serde.json import Json
from caudal.serde.lists import ListOf
from caudal.serde.numbers import Double, Float, Integer, Long, Short
from caudal.serde.serde import BuiltInSerde, Serde, SerdeError
from caudal.serde.simple import Boolean, Bytes, Null, String, Uuid
from caudal.serde.windowed import SessionWindowed, TimeWindowed

_KNOWN: dict[str, type[BuiltInSerde]] = {
    serde.__name__: serde
    for serde in (
        Boolean,
        Bytes,
        ChangeSerde,
        Double,
        Float,
        Integer,
        Json,
        LeftOrRight,
        ListOf,
        Long,
        Null,
        SessionWindowed,
        Short,
        String,
        SubscriptionResponseSerde,
        SubscriptionSerde,
        TimeWindowed,
        Uuid,
    )
}


def describe_serde(serde: Serde) -> dict[str, Any]:
    """A serde as JSON-ready data.

    >>> describe_serde(TimeWindowed(String(), 60_000))
    {'type': 'TimeWindowed', 'key': {'type': 'String', 'encoding': 'utf-8'}, 'window_size': 60000}
    """
    kind: type[object] = type(serde)
    if _KNOWN.get(kind.__name__) is not kind:
        return {"type": f"{kind.__module__}.{kind.__qualname__}", "custom": True}
    description: dict[str, Any] = {"type": kind.__name__}
    for name in _KNOWN[kind.__name__].settings:
        setting = getattr(serde, name)
        plain = setting is None or isinstance(setting, (str, int, float, bool))
        description[name] = setting if plain else describe_serde(setting)
    return description


def serde_from(description: dict[str, Any]) -> Serde:
    """The serde of a description.

    >>> serde_from({"type": "Json", "sort_keys": False})
    Json()
    """
    kind = _KNOWN.get(description.get("type", ""))
    if kind is None:
        raise SerdeError(f"There is no serde '{description.get('type')}'; there are: {', '.join(sorted(_KNOWN))}.")
    settings = {
        name: serde_from(value) if isinstance(value, dict) else value
        for name, value in description.items()
        if name in kind.settings
    }
    return kind(**settings)  # type: ignore[return-value]
