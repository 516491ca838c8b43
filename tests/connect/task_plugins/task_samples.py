"""Connectors that the tests of task runs use: sources that count, sinks that write down what they were given.

Found by `plugin.path`, so that a task in a process of its own has them too. What a sink wrote and a source was told is
in files of the folder that its configuration names: the tests read them, whichever process wrote them.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from caudal.connect import (
    ConfigDef,
    ConnectError,
    DataError,
    Key,
    RetriableError,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Type,
)
from caudal.connect.configuration import config_def
from caudal.connect.converter import Transform
from caudal.connect.records import RecordMetadata, TopicPartition


class CountingTask(SourceTask):
    """Numbers from where the offset is, `batch` for each poll, over `partitions` source partitions."""

    def start(self, config: dict[str, Any]) -> None:
        self.config = config
        self.notes = Notes(config["folder"], f"source-{os.getpid()}")
        self.sources = [{"source": f"s{index}"} for index in range(config["sources"])]
        found = self.context.offsets.offsets(self.sources)
        self.next = [offset["n"] + 1 if offset is not None else 0 for offset in found]
        self.notes.add("start", self.next)

    def poll(self) -> Sequence[SourceRecord] | None:
        config = self.config
        if config["fail.at"] >= 0 and min(self.next) >= config["fail.at"]:
            if config["fail.with"] == "secret":
                raise ValueError(f"cannot log in with {self.context.config['my.password']}")
            fail(config["fail.with"], self.notes)
        if self.next[0] >= config["count"]:
            self.context.stopping.wait(0.05)
            return None
        if config["wait.ms"]:
            self.context.stopping.wait(config["wait.ms"] / 1000)
        records = []
        for index, source in enumerate(self.sources):
            first = self.next[index]
            for n in range(first, min(first + config["batch"], config["count"])):
                value = config["value"].format(n=n) if config["value"] else {"source": source["source"], "n": n}
                records.append(
                    SourceRecord(source, {"n": n}, config["topic"], value, None, f"{source['source']}-{n % 100}")
                )
            self.next[index] = min(first + config["batch"], config["count"])
        return records

    def commit(self) -> None:
        self.notes.add("commit", self.next)

    def stop(self) -> None:
        self.notes.add("stop", self.next)


def fail(how: str, notes: Notes) -> None:
    if how == "gate":
        notes.pass_gate()
        return
    if how == "exit":
        raise SystemExit(3)
    if how == "memory":
        raise MemoryError
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "stuck":
        notes.add("stuck", None)
        while True:
            time.sleep(3600)
    if how == "gil":
        # One long call into C that never gives the interpreter away.
        sum(range(10**14))
    if how == "retriable":
        raise RetriableError("not now")
    raise ConnectError("the source is broken")


class Notes:
    """Lines of JSON in a file: whole lines, also when the process is killed."""

    def __init__(self, folder: str, name: str) -> None:
        self._path = Path(folder) / name

    def pass_gate(self) -> None:
        """Stuck, until the test opens the gate."""
        self.add("stuck", None)
        while not (self._path.parent / "gate").exists():
            time.sleep(0.02)

    def add(self, what: str, value: Any) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps([what, value]) + "\n")


class Counting(SourceConnector):
    task = CountingTask

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="topic", doc="Where to."),
            Key(name="folder", doc="Of the notes."),
            Key(name="count", type=Type.INT, default=1000, doc="Of each source."),
            Key(name="batch", type=Type.INT, default=100, doc="Of each source and poll."),
            Key(name="sources", type=Type.INT, default=1, doc="Source partitions."),
            Key(name="wait.ms", type=Type.INT, default=0, doc="Before each poll."),
            Key(name="fail.at", type=Type.INT, default=-1, doc="The number at which it fails."),
            Key(name="fail.with", default="error", doc="How."),
            Key(name="value", default="", doc="A text with {n}."),
        )

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [{}] * most


class TellingTask(CountingTask):
    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.notes.add("record", record.offset["n"])


class IsolatedTask(CountingTask):
    isolation = "process"


class Isolated(Counting):
    task = IsolatedTask


class Telling(Counting):
    task = TellingTask


class AsyncTask(CountingTask):
    async def poll(self) -> Sequence[SourceRecord] | None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.notes.add("loop", id(asyncio.get_running_loop()))
        if self.next[0] >= self.config["count"]:
            if self.config["fail.with"] == "stuck":
                await asyncio.sleep(3600)
            await self.context.stopping.wait(0.05)
            return None
        return super().poll()


class AsyncCounting(Counting):
    task = AsyncTask


class DropAll(Transform[SourceRecord]):
    def apply(self, record: SourceRecord) -> SourceRecord | None:
        return None


class Renamed(Transform[Any]):
    def apply(self, record: Any) -> Any:
        return replace(record, topic=f"new-{record.topic}")


class Stubborn(Transform[Any]):
    """Fails for values that have `text`; the first `times` times by RetriableError, in all."""

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="text", default="bad", doc="In the value."),
            Key(name="times", type=Type.INT, default=0, doc="Retriable errors before it works."),
        )

    def configure(self, config: Mapping[str, Any]) -> None:
        self.text, self.times = config["text"], config["times"]
        self.left = self.times

    def apply(self, record: Any) -> Any:
        if self.text in str(record.value):
            if self.left > 0:
                self.left -= 1
                raise RetriableError("not yet")
            if self.times:
                return record
            raise DataError(f"{self.text} is not wanted")
        return record


class Gate(Transform[Any]):
    """Stuck at the first value that has `text`, and slow after it: what it lets through has the time to be sent."""

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(Key(name="text", doc="In the value."), Key(name="folder", doc="Of the notes."))

    def configure(self, config: Mapping[str, Any]) -> None:
        self.text, self.folder = config["text"], config["folder"]
        self.is_slow = False

    def apply(self, record: Any) -> Any:
        if self.text in str(record.value):
            Notes(self.folder, f"source-gate-{os.getpid()}").pass_gate()
            self.is_slow = True
        if self.is_slow:
            time.sleep(0.01)
        return record


class WritingTask(SinkTask):
    """Writes down each record when it is flushed."""

    def start(self, config: dict[str, Any]) -> None:
        self.config = config
        self.notes = Notes(config["folder"], f"sink-{os.getpid()}-{id(self)}")
        self.kept: list[Any] = []
        self.puts = self.flushes = 0
        if config["fail.with"] == "start":
            raise ConnectError("no such database")
        if config["fail.with"] == "start gate":
            self.notes.pass_gate()

    def open(self, partitions: set[TopicPartition]) -> None:
        self.notes.add("open", sorted(partitions))
        if self.config["pause.in.open"]:
            self.context.pause(*partitions)
        if self.config["seek"] >= 0:
            self.context.seek(dict.fromkeys(partitions, self.config["seek"]))

    def close(self, partitions: set[TopicPartition]) -> None:
        self.notes.add("close", sorted(partitions))
        self.kept = [one for one in self.kept if (one[0], one[1]) not in partitions]

    def put(self, records: Sequence[SinkRecord]) -> None:
        config = self.config
        if records and config["retries"] > self.puts:
            self.puts += 1
            self.notes.add("retry", len(records))
            if config["retry.after.ms"] >= 0:
                self.context.retry_after(config["retry.after.ms"] / 1000)
            raise RetriableError("the store is away")
        if records and config["fail.with"] == "put gate":
            self.notes.pass_gate()
        for record in records:
            if config["reject"] and config["reject"] in str(record.value):
                self.context.report_error(record, DataError(f"no {config['reject']} here"))
                continue
            if config["sleep.on"] and config["sleep.on"] in str(record.value):
                self.notes.add("sleep", None)
                time.sleep(config["sleep.ms"] / 1000)
            if config["fail.on"] and config["fail.on"] in str(record.value):
                fail(config["fail.with"], self.notes)
            place = record.original or (record.topic, record.partition, record.offset)
            self.kept.append([*place, record.value, record.topic])

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        if self.config["flush.fails"] > self.flushes:
            self.flushes += 1
            self.kept.clear()  # they are lost, and must come again
            self.notes.add("lost", None)
            if self.config["fail.with"] == "error":
                raise ConnectError("the store is broken")
            raise RetriableError("the store is away")
        if self.config["fail.with"] == "flush gate":
            self.notes.pass_gate()
        for one in self.kept:
            self.notes.add("record", one)
        self.kept.clear()
        self.notes.add("flush", sorted([*place, offset] for place, offset in offsets.items()))

    def stop(self) -> None:
        self.notes.add("stop", None)


class HoldingTask(WritingTask):
    """Is done with all but the last ten."""

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        self.flush(offsets)
        return {place: max(0, offset - 10) for place, offset in offsets.items()}


class Writing(SinkConnector):
    task = WritingTask

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="folder", doc="Of the notes."),
            Key(name="retries", type=Type.INT, default=0, doc="How many times put is not possible."),
            Key(name="retry.after.ms", type=Type.INT, default=-1, doc="When it is to be repeated."),
            Key(name="reject", default="", doc="Values with this are reported."),
            Key(name="fail.on", default="", doc="Values with this fail the task."),
            Key(name="fail.with", default="error", doc="How."),
            Key(name="sleep.on", default="", doc="Values with this are slow."),
            Key(name="sleep.ms", type=Type.INT, default=0, doc="How slow."),
            Key(name="flush.fails", type=Type.INT, default=0, doc="How many times flush is not possible."),
            Key(name="pause.in.open", type=Type.BOOLEAN, default=False, doc="And nothing is read."),
            Key(name="seek", type=Type.INT, default=-1, doc="Where to begin."),
        )

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [{}] * most


class Holding(Writing):
    task = HoldingTask
