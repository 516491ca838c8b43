"""The small text files beside the logs, in Kafka's formats, replaced atomically (write, fsync, rename).

- offset checkpoints (`recovery-point-offset-checkpoint`, `log-start-offset-checkpoint`,
  `replication-offset-checkpoint`, `cleaner-offset-checkpoint`): version 0, a count, `topic partition offset` a line;
- `.kafka_cleanshutdown`: present only while the folder is at rest after an orderly stop;
- `partition.metadata`: the topic id of a partition's folder.
A damaged checkpoint is treated as absent: it can only make recovery do more work.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from uuid import UUID

logger = logging.getLogger(__name__)

RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
REPLICATION = "replication-offset-checkpoint"
CLEANER = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
PARTITION_METADATA = "partition.metadata"

_VERSION = 0


class CorruptCheckpoint(ValueError):
    """The file does not have the published shape."""


def replace_file(path: str | Path, data: bytes, *, sync: bool = True, sync_name: bool = True) -> None:
    """After a crash the file holds the old content or the new, never a part; given `sync_name`, the new."""
    temporary = f"{path}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, data)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(temporary, path)
    if sync and sync_name:
        sync_folder(os.path.dirname(path))


def sync_folder(path: str | Path) -> None:
    """Makes the names in a folder (created, renamed, removed files) survive a power loss."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def encode_lines(lines: Iterable[str]) -> bytes:
    """Version, count, then the lines: the frame that all of Kafka's checkpoint files share."""
    body = list(lines)
    return "\n".join([str(_VERSION), str(len(body)), *body, ""]).encode()


def decode_lines(data: bytes) -> list[list[str]]:
    """The fields of each line; raises CorruptCheckpoint."""
    try:
        text = data.decode("utf-8").splitlines()
        version, count = int(text[0]), int(text[1])
    except (ValueError, IndexError) as error:
        raise CorruptCheckpoint("it does not begin with a version and a count") from error
    if version != _VERSION:
        raise CorruptCheckpoint(f"it has version {version}")
    lines = [line.split() for line in text[2:] if line.strip()]
    if len(lines) != count:
        raise CorruptCheckpoint(f"it announces {count} entries and holds {len(lines)}")
    return lines


def write_offsets(path: Path, offsets: Mapping[tuple[str, int], int], *, sync: bool = True) -> None:
    lines = (f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())
    replace_file(path, encode_lines(lines), sync=sync)


def read_offsets(path: Path) -> dict[tuple[str, int], int]:
    try:
        lines = decode_lines(path.read_bytes())
        return {(topic, int(partition)): int(offset) for topic, partition, offset in lines}
    except FileNotFoundError:
        return {}
    except ValueError as error:
        logger.warning("%s is damaged (%s); going on without it", path, error)
        return {}


def write_clean_shutdown(folder: Path) -> None:
    replace_file(folder / CLEAN_SHUTDOWN, json.dumps({"version": 0, "brokerEpoch": -1}, separators=(",", ":")).encode())


def take_clean_shutdown(folder: Path) -> bool:
    """Whether the last stop was orderly. The marker goes away at once: from now on a crash must be noticed."""
    try:
        os.unlink(folder / CLEAN_SHUTDOWN)
    except FileNotFoundError:
        return False
    sync_folder(folder)
    return True


def encode_uuid(value: UUID) -> str:
    """A topic id as Kafka prints it: url-safe base64 without padding."""
    return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def decode_uuid(text: str) -> UUID:
    return UUID(bytes=base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def write_partition_metadata(folder: str | Path, topic_id: UUID) -> None:
    """Not synced: that comes with the first records that are, or a topic of many partitions would take very long."""
    with open(os.path.join(folder, PARTITION_METADATA), "w", encoding="utf-8") as file:
        file.write(f"version: 0\ntopic_id: {encode_uuid(topic_id)}")


def sync_partition_metadata(folder: str | Path) -> None:
    """Records that survive a power loss must not be taken for those of a later topic of this name."""
    try:
        descriptor = os.open(os.path.join(folder, PARTITION_METADATA), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_partition_metadata(folder: str | Path) -> UUID | None:
    try:
        with open(os.path.join(folder, PARTITION_METADATA), encoding="utf-8") as file:
            fields = dict(line.split(": ", 1) for line in file.read().splitlines() if ": " in line)
        return decode_uuid(fields["topic_id"].strip())
    except FileNotFoundError:
        return None
    except (KeyError, ValueError) as error:
        logger.warning("%s of %s is damaged (%s); ignored", PARTITION_METADATA, folder, error)
        return None
