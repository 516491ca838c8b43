"""`run_source` and `run_sink`: what a worker does with a connector, in its order, without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from caudal.connect import (
    ConfigDef,
    ConfigError,
    DataError,
    Key,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Type,
)
from caudal.connect.configuration import config_def
from caudal.connect.records import RecordMetadata, TopicPartition
from caudal.connect.testing import Reported
from caudal.testing import run_sink, run_source

done: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


class LettersTask(SourceTask):
    async def start(self, config: dict[str, Any]) -> None:  # type: ignore[override]
        self._left = list(config["letters"])
        stored = self.context.offsets.offset({"letters": "".join(self._left)})
        self._at = stored["at"] if stored else 0
        done.append(("start", config))

    async def poll(self) -> Sequence[SourceRecord] | None:  # type: ignore[override]
        if self._at == len(self._left):
            self.context.stopping.wait(3600)
            return None
        letter, self._at = self._left[self._at], self._at + 1
        if letter == "!":
            self.context.report_error(None, DataError("an exclamation mark"))
        return [SourceRecord({"letters": "".join(self._left)}, {"at": self._at}, "letters", letter)]

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        done.append(("acknowledged", record.value))

    def stop(self) -> None:
        done.append("stopped")


class Letters(SourceConnector):
    task = LettersTask

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="letters", doc="All of them."), Key(name="n", type=Type.INT, default=1, doc="A number.")
        )

    @classmethod
    def check(cls, config: Mapping[str, Any]) -> dict[str, list[str]]:
        return {"letters": ["No spaces."]} if " " in config["letters"] else {}

    def start(self, config: dict[str, Any]) -> None:
        self._letters = config["letters"]

    def task_configs(self, most: int) -> list[dict[str, str]]:
        half = len(self._letters) // most
        parts = [self._letters[:half], self._letters[half:]] if most > 1 else [self._letters]
        return [{"letters": part} for part in parts]

    def stop(self) -> None:
        done.append("connector stopped")


def test_a_source_is_read_to_its_end() -> None:
    records = run_source(Letters, {"letters": "abc"})
    assert [record.value for record in records] == ["a", "b", "c"]
    assert done[0] == ("start", {"letters": "abc", "n": 1})
    assert done[1] == ("acknowledged", "a") and done[-2:] == ["stopped", "connector stopped"]


def test_it_goes_on_after_records_that_are_known() -> None:
    first = run_source(Letters, {"letters": "abc"}, most=2)
    assert [record.value for record in run_source(Letters, {"letters": "abc"}, after=first)] == ["c"]


def test_several_tasks_share_it() -> None:
    assert [record.value for record in run_source(Letters, {"letters": "abcd"}, tasks=2)] == ["a", "b", "c", "d"]
    assert done.count("stopped") == 2


def test_errors_that_a_source_reports() -> None:
    with pytest.raises(DataError, match="exclamation"):
        run_source(Letters, {"letters": "a!b"})
    assert done[-2:] == ["stopped", "connector stopped"]
    reported: list[Reported] = []
    assert len(run_source(Letters, {"letters": "a!b"}, reported=reported)) == 3
    assert str(reported[0].error) == "an exclamation mark"


@pytest.mark.parametrize(
    ("config", "words"), [({}, "letters"), ({"letters": "a", "n": "x"}, "n: "), ({"letters": "a b"}, "No spaces")]
)
def test_a_wrong_configuration_is_refused(config: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        run_source(Letters, config)
    assert done == []


class ShelfTask(SinkTask):
    def open(self, partitions: set[TopicPartition]) -> None:
        self.context.seek({TopicPartition("t", 1): 5})
        done.append(("open", partitions))

    def put(self, records: Sequence[SinkRecord]) -> None:
        for record in records:
            if record.value is None:
                self.context.report_error(record, DataError("a tombstone"))
            else:
                done.append(record.value)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        done.append(("flush", dict(offsets)))


class Shelf(SinkConnector):
    task = ShelfTask

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [{} for _ in range(most)]


def test_a_sink_gets_its_records_and_is_flushed() -> None:
    (reported,) = run_sink(Shelf, {}, ["a", None, "b"])
    assert reported.record.offset == 1 and str(reported.error) == "a tombstone"
    where = TopicPartition("test", 0)
    assert done == [("open", {where}), "a", "b", ("flush", {where: 3})]


def test_a_sink_that_seeks_goes_on_from_there() -> None:
    records = [SinkRecord("t", 0, 0, "a"), SinkRecord("t", 1, 4, "old"), SinkRecord("t", 1, 5, "new")]
    assert run_sink(Shelf, {}, records, tasks=2) == []
    assert [each for each in done if isinstance(each, str)] == ["a", "new"]


def test_task_configurations_are_texts_and_not_too_many() -> None:
    class Many(Shelf):
        def task_configs(self, most: int) -> list[dict[str, str]]:
            return [{}] * (most + 1)

    class Typed(Shelf):
        def task_configs(self, most: int) -> list[dict[str, str]]:
            return [{"n": 1}]  # type: ignore[dict-item]

    with pytest.raises(AssertionError, match="gave 2"):
        run_sink(Many, {}, [])
    with pytest.raises(AssertionError, match="must be a text, not 1"):
        run_sink(Typed, {}, [])
