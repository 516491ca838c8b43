"""A sink for the tests of kills: a SQLite table in which each record of a topic is once, however often it is put."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from caudal.connect import ConfigDef, Key, SinkConnector, SinkRecord, SinkTask
from caudal.connect.configuration import config_def


class LedgerTask(SinkTask):
    def start(self, config: dict[str, Any]) -> None:
        self._rows: list[tuple[str, int, int, str]] = []
        self._database = sqlite3.connect(config["file"], timeout=60, check_same_thread=False)
        with self._database:
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS ledger"
                " (topic, partition, offset, value, PRIMARY KEY (topic, partition, offset))"
            )

    def put(self, records: Sequence[SinkRecord]) -> None:
        self._rows += [(record.topic, record.partition, record.offset, record.value) for record in records]

    def flush(self, offsets: Mapping[Any, int]) -> None:
        with self._database:
            self._database.executemany("INSERT OR IGNORE INTO ledger VALUES (?, ?, ?, ?)", self._rows)
        self._rows.clear()

    def stop(self) -> None:
        self._database.close()


class Ledger(SinkConnector):
    task = LedgerTask

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(Key(name="file", doc="The database."))

    def start(self, config: dict[str, Any]) -> None:
        self._file = config["file"]

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [{"file": self._file} for _ in range(most)]
