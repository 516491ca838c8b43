"""Connectors that fail in the way they are told, and write down what they hear of it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from caudal.connect import (
    ConfigDef,
    DataError,
    Key,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
)
from caudal.connect.configuration import config_def
from caudal.connect.converter import Transform
from caudal.connect.records import RecordMetadata, TopicPartition

KEYS = config_def(
    Key(name="how", default="", doc="Where it fails."),
    Key(name="topic", default="failing", doc="Where a source writes."),
    Key(name="gate", default="", doc="A file that ends what is stuck."),
)


class RefuseAll(Transform[Any]):
    def apply(self, record: Any) -> Any:
        raise DataError("the transform is broken")


class FailingTask(SourceTask):
    def start(self, config: dict[str, Any]) -> None:
        self.config, self.polls = config, 0
        self.at("task start")

    def at(self, where: str) -> None:
        if self.config["how"] == where:
            raise RuntimeError(f"{where} is broken")

    def poll(self) -> Sequence[SourceRecord] | None:
        self.at("poll")
        self.polls += 1
        match self.config["how"]:
            case "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(3)
            case "stuck":
                while not Path(self.config["gate"]).exists():
                    time.sleep(0.02)
        if self.polls > 1:
            self.context.stopping.wait(0.05)
            return None
        return [SourceRecord({"p": 1}, {"n": 1}, self.config["topic"], "x" * 5000)]

    def commit(self) -> None:
        self.at("commit")

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.at("commit_record")


class _Hearing:
    heard: ClassVar[list[tuple[str, int | None, str]]] = []
    name: str
    context: Any

    @classmethod
    def config(cls) -> ConfigDef:
        return KEYS

    def start(self, config: dict[str, Any]) -> None:
        self.how = config["how"]
        match self.how:
            case "start":
                raise RuntimeError("start is broken")
            case "exit in start":
                raise SystemExit("start wants to go")
            case "stuck start":
                while not Path(config["gate"]).exists():
                    time.sleep(0.02)
            case "raise_error":
                threading.Timer(0.1, self.context.raise_error, [RuntimeError("something outside is broken")]).start()

    def task_configs(self, most: int) -> list[dict[str, str]]:
        if self.how == "task_configs":
            raise RuntimeError("task_configs is broken")
        return [{}] * (2 if self.how == "too many" else 1)

    def on_failure(self, error: Exception, task: int | None) -> None:
        _Hearing.heard.append((self.name, task, str(error)))


class FailingSource(_Hearing, SourceConnector):
    task = FailingTask


class FailingSinkTask(SinkTask):
    def start(self, config: dict[str, Any]) -> None:
        self.how = config["how"]

    def at(self, where: str) -> None:
        if self.how == where:
            raise RuntimeError(f"{where} is broken")

    def open(self, partitions: set[TopicPartition]) -> None:
        self.at("open")

    def put(self, records: Sequence[SinkRecord]) -> None:
        if records:
            self.at("put")

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.at("flush")


class FailingSink(_Hearing, SinkConnector):
    task = FailingSinkTask
