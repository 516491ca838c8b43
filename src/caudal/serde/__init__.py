"""Serialisers: between Python values and the bytes of keys and values.

A serde is a small immutable object with `serialize` and `deserialize`; None is None on both sides and never reaches it.
Formats are Kafka's own (numbers big endian, windowed keys as Kafka Streams writes them), so that Java programs read the
same bytes. Avro, JsonSchema and Protobuf take their schemas from a registry and fit the same protocol (docs/serdes.md);
what they need comes with the extra [registry], so they are loaded when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caudal.serde.change import ChangeSerde
from caudal.serde.description import describe_serde, serde_from
from caudal.serde.json import Json
from caudal.serde.lists import ListOf
from caudal.serde.numbers import Double, Float, Integer, Long, Short
from caudal.serde.serde import SchemasUnavailable, Serde, SerdeError
from caudal.serde.simple import Boolean, Bytes, Null, String, Uuid, Void
from caudal.serde.windowed import SessionWindowed, TimeWindowed

if TYPE_CHECKING:
    from caudal.serde.avro import Avro
    from caudal.serde.json_schema import JsonSchema
    from caudal.serde.protobuf import Protobuf

__all__ = [
    "Avro",
    "Boolean",
    "Bytes",
    "ChangeSerde",
    "Double",
    "Float",
    "Integer",
    "Json",
    "JsonSchema",
    "ListOf",
    "Long",
    "Null",
    "Protobuf",
    "SchemasUnavailable",
    "Serde",
    "SerdeError",
    "SessionWindowed",
    "Short",
    "String",
    "TimeWindowed",
    "Uuid",
    "Void",
    "describe_serde",
    "serde_from",
]


def __getattr__(name: str) -> Any:
    from caudal.serde.description import WITH_REGISTRY, registry_serde

    if name in WITH_REGISTRY:
        return registry_serde(name)
    raise AttributeError(f"module 'caudal.serde' has no attribute {name!r}")
