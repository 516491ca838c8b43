"""`caudal connector new`: a package with a connector that works, its entry point, and a test that proves it.

The source counts, the sink writes lines: small enough to be read in a minute, whole enough to be changed into yours.
"""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import Literal

from caudal.cli.errors import CliError, UsageError


def scaffold(name: str, kind: Literal["source", "sink"], parent: Path) -> tuple[Path, list[Path]]:
    """The folder and its files. Nothing that is there is overwritten."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*", name):
        raise UsageError(f"'{name}' is not a name for a package; write it as acme-orders")
    package = name.replace("-", "_").lower()
    stem = package.removesuffix(f"_{kind}")
    words = {
        "name": name.lower().replace("_", "-"),
        "package": package,
        "cls": "".join(part[0].upper() + part[1:] for part in stem.split("_")) + kind.capitalize(),
        "topic": package,
        "kind": kind,
    }
    folder = parent / words["name"]
    if folder.exists():
        raise CliError(f"{folder} is there already; choose another name or --dir")
    files = {
        "pyproject.toml": _PYPROJECT,
        "README.md": _README,
        f"src/{package}/__init__.py": _INIT,
        f"src/{package}/connector.py": _SOURCE if kind == "source" else _SINK,
        f"src/{package}/py.typed": "",
        "tests/test_connector.py": _SOURCE_TEST if kind == "source" else _SINK_TEST,
        f"{words['name']}.properties": _SOURCE_PROPERTIES if kind == "source" else _SINK_PROPERTIES,
    }
    made = []
    try:
        for place, text in files.items():
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(Template(text.lstrip("\n")).substitute(words), encoding="utf-8")
            made.append(path)
    except OSError as error:
        raise CliError(f"cannot write to {folder}: {error.strerror}") from None
    return folder, made


_PYPROJECT = """
[build-system]
requires = ["hatchling>=1.25"]
build-backend = "hatchling.build"

[project]
name = "$name"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["caudal[connect]"]

# How a worker finds it. One line for each connector, converter, transform or predicate.
[project.entry-points."caudal.connect"]
$cls = "$package.connector:$cls"

[tool.hatch.build.targets.wheel]
packages = ["src/$package"]

[tool.pytest.ini_options]
pythonpath = ["src"]
"""

_README = """
# $name

A $kind connector for Caudal Connect.

    python -m pytest                                    # without a broker
    pip install -e .                                    # where the worker runs; then restart it
    caudal connector plugins $cls        # what it can be told
    caudal connector create $name.properties
"""

_INIT = '''
"""A $kind connector for Caudal Connect."""
'''

_SOURCE_PROPERTIES = """
name=$name
connector.class=$cls
topic=$topic
last=1000
"""

_SINK_PROPERTIES = """
name=$name
connector.class=$cls
topics=$topic
file=/tmp/$name.txt
"""

_SOURCE = '''
"""Counts: record after record with the next number, and where to go on after a restart."""

from __future__ import annotations

from typing import Any

from caudal.connect import ConfigDef, Key, SourceConnector, SourceRecord, SourceTask, Type
from caudal.connect.configuration import config_def
from caudal.connect.data import INT64, struct

BATCH = 100
# One object for all records: what is made of a schema is kept under it.
SCHEMA = struct("$package.Number", number=INT64, square=INT64)


class ${cls}Task(SourceTask):
    def start(self, config: dict[str, Any]) -> None:
        self._topic, self._last = config["topic"], config["last"]
        self._partition = {"counter": "only"}  # what is read; a file or a table, in a real connector
        stored = self.context.offsets.offset(self._partition)
        self._next = stored["number"] + 1 if stored else 1

    def poll(self) -> list[SourceRecord] | None:
        if self._next > self._last:
            self.context.stopping.wait(1.0)  # nothing new: wait a little, but not longer than the worker does
            return None
        numbers = range(self._next, min(self._next + BATCH, self._last + 1))
        self._next = numbers.stop
        return [
            SourceRecord(
                partition=self._partition,
                offset={"number": number},
                topic=self._topic,
                key=number,
                key_schema=INT64,
                value={"number": number, "square": number * number},
                value_schema=SCHEMA,
            )
            for number in numbers
        ]


class $cls(SourceConnector):
    """Numbers and their squares."""

    task = ${cls}Task
    version = "0.1.0"

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(
            Key(name="topic", doc="Where the records go."),
            Key(name="last", type=Type.LONG, default=1000, minimum=1, doc="The last number."),
        )

    def start(self, config: dict[str, Any]) -> None:
        self._config = {"topic": config["topic"], "last": str(config["last"])}

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [self._config]  # one counter, so one task; tables or files would be shared out

    def exactly_once_support(self, config: Any) -> bool:
        return True  # an offset tells exactly what was read
'''

_SOURCE_TEST = '''
"""The connector without a broker, as a worker would run it."""

from __future__ import annotations

import pytest
from caudal.connect import ConfigError
from caudal.testing import run_source

from $package.connector import $cls

CONFIG = {"topic": "numbers", "last": "250"}


def test_it_counts() -> None:
    records = run_source($cls, CONFIG)
    assert [record.key for record in records] == list(range(1, 251))
    assert records[2].value == {"number": 3, "square": 9}


def test_it_goes_on_where_it_was() -> None:
    first = run_source($cls, CONFIG, most=100)
    rest = run_source($cls, CONFIG, after=first)
    assert rest[0].key == 101 and len(first) + len(rest) == 250


def test_a_wrong_configuration_is_said() -> None:
    with pytest.raises(ConfigError, match="last"):
        run_source($cls, {"topic": "numbers", "last": "many"})
'''

_SINK = '''
"""Writes the values of records to a file, one line of JSON each; at least once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from caudal.connect import ConfigDef, DataError, Key, SinkConnector, SinkRecord, SinkTask
from caudal.connect.configuration import config_def
from caudal.connect.records import TopicPartition


class ${cls}Task(SinkTask):
    _file: TextIO | None = None

    def start(self, config: dict[str, Any]) -> None:
        self._file = open(config["file"], "a", encoding="utf-8")

    def put(self, records: Sequence[SinkRecord]) -> None:
        assert self._file is not None
        for record in records:
            try:
                line = json.dumps(record.value)
            except TypeError as error:
                # To the dead-letter topic, or the end of the task: as the user has configured it.
                self.context.report_error(record, DataError(f"the value has no form in JSON: {error}"))
                continue
            self._file.write(line + "\\n")

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """When this returns, the offsets are committed: so everything must be safe by then."""
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())

    def stop(self) -> None:
        if self._file is not None:
            self._file.close()


class $cls(SinkConnector):
    """Lines of JSON in a file."""

    task = ${cls}Task
    version = "0.1.0"
    delivery = "at least once"

    @classmethod
    def config(cls) -> ConfigDef:
        return config_def(Key(name="file", doc="Where the lines go; they are added at its end."))

    def start(self, config: dict[str, Any]) -> None:
        self._file = config["file"]

    def task_configs(self, most: int) -> list[dict[str, str]]:
        return [{"file": self._file}]  # one file, so one task
'''

_SINK_TEST = '''
"""The connector without a broker, as a worker would run it."""

from __future__ import annotations

from pathlib import Path

import pytest
from caudal.connect import ConfigError
from caudal.testing import run_sink

from $package.connector import $cls


def test_it_writes_lines(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    config = {"file": str(file)}
    assert run_sink($cls, config, [{"n": 1}, "two"]) == []
    assert run_sink($cls, config, [3]) == []
    assert file.read_text() == '{"n": 1}\\n"two"\\n3\\n'


def test_what_cannot_be_written_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    (reported,) = run_sink($cls, {"file": str(file)}, [b"bytes", "fine"])
    assert reported.record.value == b"bytes" and "JSON" in str(reported.error)
    assert file.read_text() == '"fine"\\n'


def test_a_wrong_configuration_is_said() -> None:
    with pytest.raises(ConfigError, match="file"):
        run_sink($cls, {}, [])
'''
