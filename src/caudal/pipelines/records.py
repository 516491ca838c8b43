"""What is on the two topics: keys and values of reports, and commands. Pure; JSON and nothing else.

An instance of an application has two records on the compacted topic: `about` (its topology, where it runs; when it
starts and when that changes) and `figures` (every few seconds). Both end with a tombstone when it stops in good order.
A record that cannot be read is left out: the topic is open to other versions, and to anybody who may write there.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import orjson

PIPELINES_TOPIC = "_caudal_pipelines"
CONTROL_TOPIC = "_caudal_pipelines_control"
VERSION = 1
MOST_COMMAND_BYTES = 4096


class Part(Enum):
    ABOUT = "about"
    FIGURES = "figures"


@dataclass(frozen=True, slots=True)
class Key:
    """Whose record it is. Application ids have no slash: they begin names of topics."""

    application: str
    instance: str
    part: Part

    def encode(self) -> bytes:
        return f"{self.application}/{self.instance}/{self.part.value}".encode()


def parse_key(data: bytes | None) -> Key | None:
    try:
        application, instance, part = (data or b"").decode().split("/")
        return Key(application, instance, Part(part)) if application and instance else None
    except ValueError:
        return None


def encode(value: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"v": VERSION, **value})


def decode(data: bytes) -> dict[str, Any] | None:
    """The value of a report; None where it is none of ours."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) and value.get("v") == VERSION else None


class Order(Enum):
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Command:
    """An order for all instances of an application, or for one of them."""

    order: Order
    application: str
    instance: str | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    time: int = field(default_factory=lambda: int(time.time() * 1000))

    def encode(self) -> bytes:
        fields = {"command": self.order.value, "application": self.application, "id": self.id, "time": self.time}
        return encode(fields if self.instance is None else {**fields, "instance": self.instance})

    def is_for(self, application: str, instance: str) -> bool:
        return self.application == application and self.instance in (None, instance)


def parse_command(data: bytes | None) -> Command | None:
    value = decode(data) if data is not None and len(data) <= MOST_COMMAND_BYTES else None
    if value is None:
        return None
    application, instance, id, moment = (value.get(name) for name in ("application", "instance", "id", "time"))
    if not isinstance(application, str) or not isinstance(id, str) or not isinstance(moment, int):
        return None
    if instance is not None and not isinstance(instance, str):
        return None
    try:
        return Command(Order(value.get("command")), application, instance, id, moment)
    except ValueError:
        return None
