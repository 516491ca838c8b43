"""Spark's source and sink in the tests' own Spark session: as quick as it can be."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from caudal.connect.connector import JobTask
from caudal.connect.connector_config import parse
from caudal.connect.connectors.spark.sink import SparkSink
from caudal.connect.connectors.spark.source import SparkSource
from caudal.connect.runtime.settings import WorkerSettings
from caudal.testing import EmbeddedBroker
from tests.connect.task_harness import Bench

JSON = {"value.converter": "Json", "value.converter.schemas.enable": "true"}


class JobSide:
    """A JobContext."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config = config
        self.stopping = threading.Event()
        self.records = 0
        self.topics: set[str] = set()

    def report_progress(self, records: int) -> None:
        self.records += records

    def report_topic(self, topic: str) -> None:
        self.topics.add(topic)


def run(connector: Any, bootstrap: str, config: dict[str, str]) -> JobSide:
    """All that is there, in this process and its Spark; a process of its own is what the slow tests have."""
    kind = f"{connector.__module__}.{connector.__name__}"
    texts = {"name": config["name"], "connector.class": kind, "trigger": "available now", **JSON, **config}
    task: Any = connector.task()
    assert isinstance(task, JobTask)
    task.context = side = JobSide(texts)
    task.start(
        parse(texts, WorkerSettings(bootstrap=bootstrap, url="http://127.0.0.1:1", allowed_folders=(Path("/"),)))
    )
    task.run()
    return side


@pytest.mark.slow  # beside the applications of other tests it has once waited for ever
@pytest.mark.spark
def test_csv_to_a_topic_to_json_each_row_once(spark: Any, broker: EmbeddedBroker, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for part in range(2):
        with (folder / f"{part}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["id", "name"], *([n, f"n, {n}"] for n in range(part * 50, part * 50 + 50))])
    source = {
        "name": "csv-in", "format": "csv", "path": str(folder), "topic": "csv-rows", "schema": "id BIGINT, name STRING",
        "spark.option.header": "true", "key.column": "id", "key.converter": "Json",
        "key.converter.schemas.enable": "false", "checkpoint.location": str(tmp_path / "in-position"),
    }  # fmt: skip
    assert run(SparkSource, broker.bootstrap, source).records == 100
    sink = {"name": "json-out", "format": "json", "path": str(tmp_path / "out"), "topics": "csv-rows"}
    assert run(SparkSink, broker.bootstrap, sink).topics == {"csv-rows"}
    # Again, from their positions: the source has a file more, the sink its rows.
    (folder / "2.csv").write_text("id,name\n100,last\n")
    assert run(SparkSource, broker.bootstrap, source).records == 1
    run(SparkSink, broker.bootstrap, sink)
    bench = Bench(broker.bootstrap, tmp_path)
    assert len(bench.records("csv-rows")) == 101
    rows = [json.loads(line) for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines()]
    expected = [{"id": n, "name": f"n, {n}"} for n in range(100)] + [{"id": 100, "name": "last"}]
    assert sorted(rows, key=lambda row: int(row["id"])) == expected
