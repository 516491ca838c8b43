"""SpoolDirectory as a connector: which files a task reads, how far, and what becomes of them.

A file belongs to the task that the hash of its path says. Its records carry the file's path as source partition and
their number as offset; the last one says that the file is done. A file is moved when that offset is stored, so that a
crash in between reads nothing twice: a done file that is still there is only moved. While a file is read an empty file
with the suffix `.PROCESSING` lies beside it, for people. Files must be whole when they appear (write elsewhere, then
rename), or be left alone for `file.minimum.age.ms`.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caudal.connect.configuration import ConfigDef, Importance, Key, Type, config_def, not_empty
from caudal.connect.connector import SourceConnector, SourceTask
from caudal.connect.connectors.local_paths import ALLOWED_FOLDERS, allowed_path
from caudal.connect.connectors.spool_directory.readers import FORMATS, Item, Reading, read
from caudal.connect.connectors.spool_directory.typing_text import RowSchema, parse_schema
from caudal.connect.errors import ConfigError, ConnectError, DataError
from caudal.connect.records import SourceRecord

log = logging.getLogger("caudal.connect.spool_directory")

MARK = ".PROCESSING"
_TASK, _TASKS = "spool.task", "spool.tasks"
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "": None}


@dataclass(slots=True)
class _File:
    """One that is being read, or is read and waits for its last offset to be stored."""

    path: Path
    partition: dict[str, str]
    identity: dict[str, int]  # inode, size and modified: another file of this name is another file
    items: Iterator[Item]
    number: int  # of records that were read
    following: Item | None = None  # the next record: the last one must know that it is
    last_offset: dict[str, Any] | None = None  # of the last record that was returned


class SpoolDirectoryTask(SourceTask):
    def start(self, config: dict[str, Any]) -> None:
        self._folder, self._finished, self._error = _folders(config)
        self._config = config
        self._reading = _reading(config)
        self._task = int(self.context.config.get(_TASK, "0"))
        self._tasks = int(self.context.config.get(_TASKS, "1"))
        self._current: _File | None = None
        self._waiting: list[_File] = []  # read, but not known to be stored
        self._passed: dict[Path, dict[str, int]] = {}  # read and left where they are

    def poll(self) -> Sequence[SourceRecord] | None:
        self._move_stored()
        if self._current is None:
            self._current = self._next_file()
        if self._current is None:
            self.context.stopping.wait(self._config["poll.interval.ms"] / 1000)
            return None
        file = self._current
        try:
            return self._records(file) or None
        except DataError as error:
            self._give_up(file, error)
            return None

    def commit(self) -> None:
        self._move_stored()

    def stop(self) -> None:
        for file in [getattr(self, "_current", None), *getattr(self, "_waiting", [])]:
            if file is not None:
                _mark(file.path).unlink(missing_ok=True)

    def _next_file(self) -> _File | None:
        waiting = {file.path for file in self._waiting}
        for path, status in self._found():
            if path in waiting:
                continue
            identity = {"inode": status.st_ino, "size": status.st_size, "modified": status.st_mtime_ns}
            if self._passed.get(path) == identity:
                continue
            partition = {"path": str(path.relative_to(self._folder))}
            number = self._position(path, partition, identity)
            if number is None:
                self._finish(path, identity)
                continue
            try:
                items = read(path, self._reading)
                for _ in range(number):
                    next(items)
                following = next(items, None)
            except (DataError, StopIteration) as error:
                self._refuse(path, identity, str(error) or "It is shorter than it was.")
                continue
            except OSError as error:
                raise ConnectError(f"{path} cannot be read: {error.strerror}.") from None
            if following is None:
                self._finish(path, identity)
                continue
            _mark(path).touch()
            return _File(path, partition, identity, items, number, following)
        return None

    def _found(self) -> list[tuple[Path, os.stat_result]]:
        """The files of this task, the oldest first."""
        found = []
        youngest = time.time() - self._config["file.minimum.age.ms"] / 1000
        others = [each for each in (self._finished, self._error) if each is not None]
        for path in self._folder.glob(self._config["input.glob"]):
            name = str(path.relative_to(self._folder))
            if path.name.startswith(".") or path.name.endswith(MARK) or any(map(path.is_relative_to, others)):
                continue
            if zlib.crc32(name.encode()) % self._tasks != self._task:
                continue
            try:
                allowed_path(str(path), self._config, "input.path")
                status = path.stat()
            except ConfigError as error:
                log.warning("%s", error)
                continue
            except FileNotFoundError:
                continue
            if path.is_file() and status.st_mtime <= youngest:
                found.append((path, status))
        return sorted(found, key=lambda each: (each[1].st_mtime_ns, each[0]))

    def _position(self, path: Path, partition: dict[str, str], identity: Mapping[str, int]) -> int | None:
        """How many records of it are stored; None when it is done."""
        stored = self.context.offsets.offset(partition)
        if stored is None:
            return 0
        if stored.get("done"):
            is_same = all(stored.get(name, value) == value for name, value in identity.items())
            return None if is_same else 0
        if stored.get("inode", identity["inode"]) != identity["inode"] or identity["size"] < stored.get("size", 0):
            return 0
        return int(stored.get("line", 0))

    def _records(self, file: _File) -> list[SourceRecord]:
        topic, partition, identity = self._config["topic"], file.partition, file.identity
        records: list[SourceRecord] = []
        while len(records) < self._config["batch.size"] and file.following is not None:
            schema, value = file.following
            file.following = next(file.items, None)
            file.number += 1
            if isinstance(value, DataError):
                # Raises when none are tolerated; the file is given up then, if there is a place for such files.
                self._report(file, value)
                continue
            offset = {"line": file.number, "done": False, **identity}
            records.append(SourceRecord(partition, offset, topic, value, schema))
        if file.following is None:
            self._current = None
            if records:  # bad ones may have followed the last good one
                records[-1].offset = {**records[-1].offset, "line": file.number, "done": True}
            self._waiting.append(file)
        if records:
            file.last_offset = dict(records[-1].offset)
        return records

    def _report(self, file: _File, error: DataError) -> None:
        named = DataError(f"{file.path.name}, record {file.number}: {error}")
        try:
            self.context.report_error(None, named)
        except DataError:
            raise
        except ConnectError as refused:
            raise DataError(str(named)) from refused

    def _give_up(self, file: _File, error: DataError) -> None:
        self._current = None
        self._refuse(file.path, file.identity, str(error))

    def _refuse(self, path: Path, identity: dict[str, int], why: str) -> None:
        _mark(path).unlink(missing_ok=True)
        if self._error is None:
            raise ConnectError(f"{path} cannot be read: {why} Mend or remove it; error.path would collect such files.")
        log.error("%s goes to %s: %s", path, self._error, why)
        self._move(path, self._error)

    def _move_stored(self) -> None:
        for file in list(self._waiting):
            if file.last_offset is None or self.context.offsets.offset(file.partition) == file.last_offset:
                self._waiting.remove(file)
                self._finish(file.path, file.identity)

    def _finish(self, path: Path, identity: dict[str, int]) -> None:
        _mark(path).unlink(missing_ok=True)
        match self._config["cleanup.policy"]:
            case "MOVE" if self._finished is not None:
                self._move(path, self._finished)
            case "DELETE":
                path.unlink(missing_ok=True)
            case _:
                self._passed[path] = identity

    def _move(self, path: Path, folder: Path) -> None:
        target = folder / path.relative_to(self._folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        free, count = target, 0
        while free.exists():
            count += 1
            free = target.with_name(f"{target.name}.{count}")
        try:
            shutil.move(path, free)
        except FileNotFoundError:  # somebody was quicker
            log.warning("%s was gone before it could be moved", path)


class SpoolDirectory(SourceConnector):
    """Files that are put into a folder, each read once."""

    task = SpoolDirectoryTask
    aliases = (
        "com.github.jcustenborder.kafka.connect.spooldir.SpoolDirCsvSourceConnector",
        "com.github.jcustenborder.kafka.connect.spooldir.SpoolDirJsonSourceConnector",
        "com.github.jcustenborder.kafka.connect.spooldir.SpoolDirLineDelimitedSourceConnector",
        "com.github.jcustenborder.kafka.connect.spooldir.SpoolDirSchemaLessJsonSourceConnector",
    )

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="topic", importance=Importance.HIGH, validator=not_empty, doc="The topic to write to."),
            Key(name="input.path", importance=Importance.HIGH, validator=not_empty, doc="The folder to read."),
            Key(name="input.glob", default="*", validator=_glob, doc="Which of its files; **/* reaches into folders."),
            Key(name="finished.path", default="", doc="Where files go that are read."),
            Key(name="error.path", default="", doc="Where files go that cannot be read; without it the task fails."),
            Key(name="cleanup.policy", default="MOVE", choices=("MOVE", "DELETE", "NONE"),
                doc="What becomes of files that are read: MOVE to finished.path, DELETE, or NONE."),
            Key(name="format", default="auto", choices=FORMATS, importance=Importance.HIGH,
                doc="auto goes by the suffix: .csv, .tsv, .json and .jsonl (JSON lines); else lines of text."),
            Key(name="file.charset", default="utf-8", validator=_charset, doc="How texts are encoded."),
            Key(name="file.minimum.age.ms", type=Type.LONG, default=0, minimum=0,
                doc="How long a file must not have changed before it is read."),
            Key(name="schema", default="", doc="Of CSV and JSON: 'id int64, name string', or Connect's JSON."),
            Key(name="schema.infer", type=Type.BOOLEAN, default=True,
                doc="Whether CSV's types are inferred from the first 1000 rows; else all are texts."),
            Key(name="csv.delimiter", default="", validator=_delimiter,
                doc="Between columns: one character, or tab, comma, semicolon, pipe; by default that of the suffix."),
            Key(name="csv.first.row.as.header", type=Type.BOOLEAN, default=True, doc="Whether it has the names."),
            Key(name="batch.size", type=Type.INT, default=2000, minimum=1, doc="Records read at once, at most."),
            Key(name="poll.interval.ms", type=Type.LONG, default=500, minimum=1, doc="Between looks into the folder."),
            ALLOWED_FOLDERS,
        )  # fmt: skip

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        try:
            _folders(config)
            _reading(config)
        except ConfigError as error:
            return {error.key or "input.path": [str(error)]}
        return {}

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [{**self.context.config, _TASK: str(task), _TASKS: str(most)} for task in range(most)]

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        return True


def _mark(path: Path) -> Path:
    return path.with_name(path.name + MARK)


def _folders(config: Mapping[str, Any]) -> tuple[Path, Path | None, Path | None]:
    folder = allowed_path(config["input.path"], config, "input.path")
    if not folder.is_dir():
        raise ConfigError(f"input.path: {folder} is not a folder.", "input.path")
    if config["cleanup.policy"] == "MOVE" and not config["finished.path"]:
        raise ConfigError("finished.path: files that are read need a place, or cleanup.policy=DELETE.", "finished.path")
    others = [
        allowed_path(config[key], config, key) if config[key] else None for key in ("finished.path", "error.path")
    ]
    if folder in others:
        raise ConfigError("finished.path: not the input folder itself, nor for error.path.", "finished.path")
    return folder, others[0], others[1]


def _reading(config: Mapping[str, Any]) -> Reading:
    try:
        schema = RowSchema(parse_schema(config["schema"])) if config["schema"] else None
    except DataError as error:
        raise ConfigError(f"schema: {error}", "schema") from None
    return Reading(
        format=config["format"],
        encoding=config["file.charset"],
        delimiter=_DELIMITERS.get(config["csv.delimiter"], config["csv.delimiter"]),
        header=config["csv.first.row.as.header"],
        schema=schema,
        infers=config["schema.infer"],
    )


def _glob(name: str, value: Any) -> None:
    if not value or value.startswith("/") or ".." in value.split("/"):
        raise ValueError("Expected a pattern within the folder, such as *.csv")


def _charset(name: str, value: Any) -> None:
    try:
        "".encode(value)
    except LookupError:
        raise ValueError("There is no such encoding") from None


def _delimiter(name: str, value: Any) -> None:
    if value not in _DELIMITERS and len(value) != 1:
        raise ValueError("Expected one character, or tab, comma, semicolon, pipe or space")
