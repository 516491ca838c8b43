"""`meta.properties`: whose data a folder holds, in the file Kafka's own tools read.

Written once, when a folder is first used; afterwards a broker with another number refuses the folder.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from caudal.broker.config.definition import ConfigError
from caudal.broker.config.properties_file import format_properties, read_properties

NAME = "meta.properties"


@dataclass(frozen=True, slots=True)
class MetaProperties:
    cluster_id: str
    node_id: int
    directory_id: str


def random_id() -> str:
    """A random id as Kafka writes them: 22 characters of URL-safe base 64, not beginning with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def load_or_create(folder: Path, node_id: int) -> MetaProperties:
    """The identity of a folder; blocking. ConfigError when it belongs to another broker or cannot be understood."""
    path = folder / NAME
    if not path.exists():
        return _create(path, node_id)
    found = read_properties(path)
    version = found.get("version", "1")
    stored = found.get("node.id", found.get("broker.id", ""))
    if version not in ("0", "1") or not stored.isdigit() or not found.get("cluster.id"):
        raise ConfigError(f"{path} is not understood; it needs version=1, node.id and cluster.id.")
    if int(stored) != node_id:
        raise ConfigError(
            f"{folder} holds the data of broker {stored}, but this broker is number {node_id}; "
            "give it another folder or the other number."
        )
    return MetaProperties(found["cluster.id"], node_id, found.get("directory.id", ""))


def _create(path: Path, node_id: int) -> MetaProperties:
    meta = MetaProperties(random_id(), node_id, random_id())
    text = format_properties(
        {
            "cluster.id": meta.cluster_id,
            "directory.id": meta.directory_id,
            "node.id": str(node_id),
            "version": "1",
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".tmp")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    return meta
