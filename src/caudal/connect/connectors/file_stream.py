"""FileStreamSource and FileStreamSink, as Kafka ships them: a file's lines to a topic, a topic to a file's lines.

The source follows a file as `tail -F` does. A line is a record when its end is there; the offset is the position in
bytes behind it. A file that became shorter, or was replaced by another of the same name, is read from its beginning.
Standard input and output, which Kafka takes when no file is named, belong to the worker and are refused.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def, not_empty
from caudal.connect.connector import SinkConnector, SinkTask, SourceConnector, SourceTask
from caudal.connect.connectors.local_paths import ALLOWED_FOLDERS, allowed_path
from caudal.connect.connectors.object_sink.formats.json_lines import json_line
from caudal.connect.data import STRING
from caudal.connect.errors import ConfigError, ConnectError
from caudal.connect.records import SinkRecord, SourceRecord, TopicPartition

log = logging.getLogger("caudal.connect.file_stream")

_READ = 1 << 18
_WAIT = 0.5  # seconds between looks at a file that does not grow
_FILE = Key(name="file", importance=Importance.HIGH, validator=not_empty, doc="The file, by its path.")


class FileStreamSourceTask(SourceTask):
    def start(self, config: dict[str, Any]) -> None:
        self._path = allowed_path(config["file"], config, "file")
        self._topic = config["topic"]
        self._most = config["batch.size"]
        self._partition = {"filename": config["file"]}
        self._file: BinaryIO | None = None
        self._id = ""  # of the open file
        self._position = 0  # behind the last line that was returned
        self._buffer = b""  # what was read behind it
        self._stored = self.context.offsets.offset(self._partition)

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._file is None and not self._open():
            self.context.stopping.wait(_WAIT)
            return None
        records = self._lines()
        if not records and not self._read() and not self._moved_on():
            self.context.stopping.wait(_WAIT)
        return records or self._lines() or None

    def _open(self) -> bool:
        try:
            self._file = self._path.open("rb")
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ConnectError(f"{self._path} cannot be read: {error.strerror}.") from None
        status = os.fstat(self._file.fileno())
        self._id = f"{status.st_dev}:{status.st_ino}"
        self._position, self._buffer = 0, b""
        if self._stored is not None:
            self._resume(self._stored, status.st_size)
            self._stored = None
        return True

    def _resume(self, stored: Mapping[str, Any], size: int) -> None:
        position = stored.get("position")
        if not isinstance(position, int) or position < 0:
            raise ConnectError(f"The stored offset {dict(stored)} has no position; reset the connector's offsets.")
        if stored.get("file", self._id) != self._id or size < position:
            log.warning("%s is another file than the one read before, or shorter: it is read anew", self._path)
            return
        assert self._file is not None
        self._file.seek(position)
        self._position = position

    def _read(self) -> bool:
        assert self._file is not None
        data = self._file.read(_READ)
        self._buffer += data
        return bool(data)

    def _moved_on(self) -> bool:
        """At the end of the file: whether it was replaced or cut short, so that reading begins anew."""
        assert self._file is not None
        if self._is_replaced():
            if self._read():
                return False
            if self._buffer:
                self._buffer += b"\n"  # nobody will end this line any more
                return True
            log.info("%s was replaced: the new file is read from its beginning", self._path)
            self._file.close()
            self._file = None
            return self._open()
        if os.fstat(self._file.fileno()).st_size >= self._position + len(self._buffer):
            return False
        log.info("%s was cut short: it is read from its beginning", self._path)
        self._file.seek(0)
        self._position, self._buffer = 0, b""
        return True

    def _is_replaced(self) -> bool:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:  # renamed, and its successor is not there yet
            return False
        return f"{status.st_dev}:{status.st_ino}" != self._id

    def _lines(self) -> list[SourceRecord]:
        """Whole lines of the buffer, at most a batch. A \\r at the end may be half of \\r\\n and waits."""
        buffer = self._buffer
        usable = buffer[:-1] if buffer.endswith(b"\r") else buffer
        end = max(usable.rfind(b"\n"), usable.rfind(b"\r")) + 1
        if not end:
            return []
        lines = usable[:end].splitlines(keepends=True)
        if len(lines) > self._most:
            lines = lines[: self._most]
            end = sum(map(len, lines))
        records = []
        position, partition, topic, file = self._position, self._partition, self._topic, self._id
        for line in lines:
            position += len(line)
            text = line.rstrip(b"\r\n").decode(errors="replace")
            records.append(SourceRecord(partition, {"position": position, "file": file}, topic, text, STRING))
        self._position, self._buffer = position, buffer[end:]
        return records

    def stop(self) -> None:
        if (file := getattr(self, "_file", None)) is not None:
            file.close()


class FileStreamSource(SourceConnector):
    """The lines of a file, as they are appended."""

    task = FileStreamSourceTask
    aliases = ("org.apache.kafka.connect.file.FileStreamSourceConnector",)

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            _FILE,
            Key(name="topic", importance=Importance.HIGH, validator=not_empty, doc="The topic to write to."),
            Key(name="batch.size", type=Type.INT, default=2000, minimum=1, importance=Importance.LOW,
                doc="How many lines are read at once, at most."),
            ALLOWED_FOLDERS,
        )  # fmt: skip

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        return check_file(config)

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [dict(self.context.config)]

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        return True

    def alter_offsets(self, offsets: Mapping[str, Any]) -> bool:
        """Partitions come as JSON."""
        for partition, offset in offsets.items():
            if "filename" not in json.loads(partition):
                raise ConfigError('The partition of a file is {"filename": its path}.')
            position = None if offset is None else offset.get("position", -1)
            if position is not None and (type(position) is not int or position < 0):
                raise ConfigError('The offset of a file is {"position": bytes from its beginning}.')
        return False


class FileStreamSinkTask(SinkTask):
    """Texts as they are, other values as JSON; each with a line feed."""

    def start(self, config: dict[str, Any]) -> None:
        self._path = allowed_path(config["file"], config, "file")
        try:
            self._file = self._path.open("ab")
        except OSError as error:
            raise ConnectError(f"{self._path} cannot be written: {error.strerror}.") from None

    def put(self, records: Sequence[SinkRecord]) -> None:
        data = b"".join([_line(record.value) for record in records])
        with self._written():
            self._file.write(data)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        with self._written():
            self._file.flush()
            os.fsync(self._file.fileno())

    def stop(self) -> None:
        if (file := getattr(self, "_file", None)) is not None:
            with contextlib.suppress(OSError):  # what was not flushed is not committed either: it comes again
                file.close()

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # a full disk
            raise ConnectError(f"{self._path} cannot be written: {error.strerror}.") from error


class FileStreamSink(SinkConnector):
    """Records as lines at the end of a file."""

    task = FileStreamSinkTask
    aliases = ("org.apache.kafka.connect.file.FileStreamSinkConnector",)

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(_FILE, ALLOWED_FOLDERS)

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        return check_file(config)

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [dict(self.context.config) for _ in range(most)]


def check_file(config: Mapping[str, Any]) -> dict[str, list[str]]:
    try:
        path: Path = allowed_path(config["file"], config, "file")
    except ConfigError as error:
        return {"file": [str(error)]}
    return {"file": [f"{path} is a folder; a file is expected."]} if path.is_dir() else {}


def _line(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode() + b"\n"
    return value + b"\n" if isinstance(value, bytes) else json_line(value)
