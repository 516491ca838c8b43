"""A source for the tests of workers: numbers into a topic; it misbehaves where it is told to."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from caudal.connect import ConfigDef, Key, SourceConnector, SourceRecord, SourceTask
from caudal.connect.configuration import Type, config_def


class NumbersTask(SourceTask):
    """0, 1, 2, … up to `count`, `batch` at a time."""

    def start(self, config: dict[str, Any]) -> None:
        if config["hang.in.part"] == config["part"]:
            threading.Event().wait(3600)
        self._partition = {"part": config["part"]}
        self._at = int((self.context.offsets.offset(self._partition) or {"next": 0})["next"])
        self._config = config

    def poll(self) -> Sequence[SourceRecord] | None:
        until = min(self._config["count"], self._at + self._config["batch"])
        if self._at >= until:
            self.context.stopping.wait(0.2)
            return None
        self.context.stopping.wait(self._config["pause.ms"] / 1000)
        part, topic = self._config["part"], self._config["topic"]
        records = [
            SourceRecord(self._partition, {"next": n + 1}, topic, value=f"{part}:{n}") for n in range(self._at, until)
        ]
        self._at = until
        return records


class Numbers(SourceConnector):
    task = NumbersTask
    failures: ClassVar[list[tuple[str, int | None, str]]] = []

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="topic", default="numbers", doc="Where they go."),
            Key(name="count", type=Type.INT, default=1000, doc="How many each task writes."),
            Key(name="batch", type=Type.INT, default=100, doc="How many at a time."),
            Key(name="pause.ms", type=Type.INT, default=20, doc="Between two of them."),
            Key(name="parts", type=Type.INT, default=2, doc="How many tasks there should be."),
            Key(name="part", type=Type.INT, default=-1, doc="Which of them a task is."),
            Key(name="secret", type=Type.PASSWORD, default="", doc="To be kept."),
            Key(name="hang.in.start", type=Type.BOOLEAN, default=False, doc="The connector never starts."),
            Key(name="hang.in.part", type=Type.INT, default=-1, doc="The task that never starts."),
            Key(name="fail.in.start", type=Type.STRING, default="", doc="The connector fails with these words."),
        )

    def start(self, config: dict[str, Any]) -> None:
        self._given = config
        assert self.context.config["name"] == self.name, "a connector sees its configuration as it was given"
        if config["hang.in.start"]:
            threading.Event().wait(3600)
        if config["fail.in.start"]:
            raise RuntimeError(config["fail.in.start"])

    def task_configs(self, most: int) -> list[dict[str, str]]:
        keys = ("topic", "count", "batch", "pause.ms", "secret", "hang.in.part")
        shared = {key: str(self._given[key]) for key in keys}
        return [{**shared, "part": str(n)} for n in range(min(most, self._given["parts"]))]

    def exactly_once_support(self, config: Mapping[str, Any]) -> bool | None:
        return True

    def on_failure(self, error: Exception, task: int | None) -> None:
        Numbers.failures.append((self.name, task, str(error)))
