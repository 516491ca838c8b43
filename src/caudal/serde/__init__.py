"""Serialisers: between Python values and the bytes of keys and values.

A serde is a small immutable object with `serialize` and `deserialize`; None is None on both sides and never reaches it.
Formats are Kafka's own (numbers big endian, windowed keys as Kafka Streams writes them), so that Java programs read the
same bytes. Serdes that need a schema registry (Avro, JSON Schema, Protobuf) are made with the registry and fit the same
protocol.
"""

from __future__ import annotations

from caudal.serde.change import ChangeSerde
from caudal.serde.description import describe_serde, serde_from
from caudal.serde.json import Json
from caudal.serde.lists import ListOf
from caudal.serde.numbers import Double, Float, Integer, Long, Short
from caudal.serde.serde import Serde, SerdeError
from caudal.serde.simple import Boolean, Bytes, Null, String, Uuid, Void
from caudal.serde.windowed import SessionWindowed, TimeWindowed

__all__ = [
    "Boolean",
    "Bytes",
    "ChangeSerde",
    "Double",
    "Float",
    "Integer",
    "Json",
    "ListOf",
    "Long",
    "Null",
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
