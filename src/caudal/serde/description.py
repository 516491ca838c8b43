"""Serdes as JSON: what a plan stores about them, and back. Only our own serdes can be made from a description; a user's
class is described by its name, for reading."""

from __future__ import annotations

from importlib import import_module
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

# Loaded when they are used: they need what only the extra [registry] brings.
WITH_REGISTRY = {
    "Avro": "caudal.serde.avro",
    "JsonSchema": "caudal.serde.json_schema",
    "Protobuf": "caudal.serde.protobuf",
}


# The rows of KSQL, loaded when they are used: Streams alone does without them.
OF_KSQL = {
    "AvroRow": "caudal.ksql.formats.avro",
    "DelimitedRow": "caudal.ksql.formats.delimited",
    "JsonRow": "caudal.ksql.formats.json",
    "JsonSrRow": "caudal.ksql.formats.json_sr",
    "KafkaRow": "caudal.ksql.formats.kafka",
    "NoRow": "caudal.ksql.formats.none",
    "ProtobufNoSrRow": "caudal.ksql.formats.protobuf",
    "ProtobufRow": "caudal.ksql.formats.protobuf",
    "Row": "caudal.ksql.formats.rows",
}

_NEEDED = {"Avro": "fastavro", "JsonSchema": "jsonschema", "Protobuf": "google.protobuf"}


def registry_serde(name: str) -> type[BuiltInSerde]:
    try:
        import_module(_NEEDED[name])
        kind: type[BuiltInSerde] = getattr(import_module(WITH_REGISTRY[name]), name)
    except ModuleNotFoundError as error:
        raise SerdeError(f"{name} needs the package '{error.name}': pip install 'caudal[registry]'.") from None
    return kind


def _known(name: str) -> type[BuiltInSerde] | None:
    if name in OF_KSQL:
        made: type[BuiltInSerde] = getattr(import_module(OF_KSQL[name]), name)
        return made
    return registry_serde(name) if name in WITH_REGISTRY else _KNOWN.get(name)


def describe_serde(serde: Serde) -> dict[str, Any]:
    """A serde as JSON-ready data.

    >>> describe_serde(TimeWindowed(String(), 60_000))
    {'type': 'TimeWindowed', 'key': {'type': 'String', 'encoding': 'utf-8'}, 'window_size': 60000}
    """
    kind: type[object] = type(serde)
    lazy = WITH_REGISTRY.get(kind.__name__) or OF_KSQL.get(kind.__name__)
    known = lazy == kind.__module__ or _KNOWN.get(kind.__name__) is kind
    if not known or not isinstance(serde, BuiltInSerde):
        return {"type": f"{kind.__module__}.{kind.__qualname__}", "custom": True}
    description: dict[str, Any] = {"type": kind.__name__}
    for name, setting in serde.described().items():
        plain = setting is None or isinstance(setting, (str, int, float, bool, list))
        description[name] = setting if plain else describe_serde(setting)
    return description


def serde_from(description: dict[str, Any]) -> Serde:
    """The serde of a description.

    >>> serde_from({"type": "Json", "sort_keys": False})
    Json()
    """
    kind = _known(description.get("type", ""))
    if kind is None:
        known = ", ".join(sorted([*_KNOWN, *WITH_REGISTRY, *OF_KSQL]))
        raise SerdeError(f"There is no serde '{description.get('type')}'; there are: {known}.")
    if description.get("custom"):
        raise SerdeError(f"A {kind.__name__} with a class of the user cannot be made from its description.")
    settings = {
        name: serde_from(value) if isinstance(value, dict) else value
        for name, value in description.items()
        if name in kind.settings
    }
    return kind(**settings)  # type: ignore[return-value]
