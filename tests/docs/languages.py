"""How a block of each language is run: Python in the page's own names, SQL in an engine in this process, settings by
the part that would read them. Shell lines are terminal.py's."""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml

from caudal.broker.config import BrokerConfig, parse_properties
from caudal.connect.connector_config import validate
from caudal.connect.runtime.settings import WorkerSettings
from caudal.connect.transform_chain import transforms_of
from caudal.ksql.syntax.parser import parse_statement
from caudal.ksql.syntax.script import split
from caudal.ksql.testing.in_process import InProcess
from tests.docs.blocks import Block

DOCTEST_OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
QUERY = re.compile(r"\s*(SELECT|PRINT)\b", re.IGNORECASE)


def run_python(block: Block, text: str, names: dict[str, Any]) -> str:
    """Runs it, and returns what it prints. Lines with `>>>` are compared with what stands below them."""
    if ">>>" not in text:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, str(block), "exec"), names)
        return printed.getvalue()
    test = doctest.DocTestParser().get_doctest(text, names, str(block), block.page, block.line)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=DOCTEST_OPTIONS).run(test, out=report.append, clear_globs=False)
    assert result.failed == 0, "".join(report)
    names.update(test.globs)
    return ""


def run_sql(block: Block, engine: InProcess) -> None:
    """Every statement is executed; a query, whose rows nobody waits for here, is planned (EXPLAIN)."""
    for words, _ in split(block.text):
        if QUERY.match(words):
            parse_statement(words)
            if words.lstrip().upper().startswith("SELECT"):
                engine.statement(f"EXPLAIN {words}")
        else:
            engine.statement(words)


def check_settings(block: Block, folder: Path) -> None:
    """Parsed; connectors, transforms and brokers are asked whether they would take them."""
    if block.language == "json":
        for document in _documents(block.text):
            _check(document, folder)
    elif block.language == "yaml":
        assert list(yaml.safe_load_all(block.text))
    elif block.language == "toml":
        assert tomllib.loads(block.text)
    else:
        _check(parse_properties(block.text), folder)


def _documents(text: str) -> list[Any]:
    """One document, or one on each line."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line]


def _check(settings: Any, folder: Path) -> None:
    if not isinstance(settings, dict):
        return
    config = settings.get("config", settings)
    if "connector.class" in config:
        worker = WorkerSettings(bootstrap="localhost:9092", url="http://localhost:8083", allowed_folders=(folder,))
        secrets = dict.fromkeys(re.findall(r"\$\{env:(\w+)\}", str(config)), "a secret of the reader's")
        with patch.dict(os.environ, secrets):
            answer = validate({"name": "page", **config}, worker)
        errors = {each["value"]["name"]: each["value"]["errors"] for each in answer["configs"]}
        wrong = {name: found for name, found in errors.items() if found}
        assert not wrong, wrong
    elif "transforms" in config:
        transforms_of(config)
    elif "listeners" in config or "log.dirs" in config:
        BrokerConfig(config)
