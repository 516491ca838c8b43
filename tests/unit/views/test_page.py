"""docs/views.md: the code that needs no Spark runs, its commands are ones that the command line takes, and the error
codes are those of the pages. Blocks marked `needs-spark` run in tests/spark/test_views.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.examples.test_headers import parse

from caudal.testing import embedded_broker
from caudal.views import pages

PAGE = (Path(__file__).parents[3] / "docs" / "views.md").read_text()
BLOCKS = re.findall(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_code_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with embedded_broker() as broker:
        broker.create_topic("prices", 2)
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("prices", b"2.5", b"tea")
        assert producer.flush(10) == 0
        names: dict[str, Any] = {"bootstrap": broker.bootstrap, "folder": tmp_path}
        for number, (language, mark, text) in enumerate(BLOCKS):
            if language == "python" and mark != "needs-spark":
                exec(compile(text, f"block {number} of docs/views.md", "exec"), names)
    assert names["view"].lag.total == 0 and capsys.readouterr().out.startswith("0\n{0: 0, 1: 0}\n")


def test_the_commands_are_understood() -> None:
    lines = [line for language, _, text in BLOCKS if language == "sh" for line in text.splitlines()]
    for line in lines:
        if line.startswith("caudal "):
            parse(line)
    paths = [match[1] for line in lines if (match := re.search(r"localhost:7080(/[^']*)", line))]
    assert len(paths) == 4
    for path in paths:
        assert pages.Question.of(path).parts == () or len(pages.Question.of(path).parts) >= 2


def test_the_error_codes_are_those_of_the_pages() -> None:
    told = {int(code) for code in re.findall(r"\b(\d{5})\b", PAGE) if code != "17000"}
    known = {value for name, value in vars(pages).items() if name.isupper() and isinstance(value, int)}
    assert told and told - {60000} <= known
