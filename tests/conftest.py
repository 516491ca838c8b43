"""Options and fixtures that every folder of tests may use."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
COMPUTING = ["spark", "ksql", "demos"]
WAITING = ["connect", "chaos", "conformance", "registry", "ui", "docs"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("caudal")
    group.addoption(
        "--bootstrap",
        metavar="HOST:PORT",
        help="run tests/conformance against this cluster (Apache Kafka, say) instead of a Caudal broker of its own",
    )
    group.addoption(
        "--bootstrap-data",
        metavar="FOLDER",
        help="the log folder of the cluster at --bootstrap, for the tests that read its files",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files come first, so that the processes (pytest-xdist, file by file) end at the same time. Files that keep
    the cores busy and files that wait take turns: Sparks beside each other would slow each other down."""
    turns: dict[Path, tuple[int, int]] = {}
    taken = {"computing": 0, "waiting": 0}
    for item in sorted(items, key=_length):
        if item.path not in turns:
            kind = "computing" if _folder(item) in COMPUTING else "waiting"
            taken[kind] += 1
            turns[item.path] = taken[kind], len(turns)
    items.sort(key=lambda item: turns[item.path])


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


def _length(item: pytest.Item) -> int:
    order = COMPUTING + WAITING
    return order.index(_folder(item)) if _folder(item) in order else len(order)


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Commands that run in this process set up logging, to a stream that pytest closes after the test: undone here."""
    used = [logging.getLogger(name) for name in ("", "caudal", "caudal.streams")]
    before = [(logger.handlers[:], logger.level, logger.propagate) for logger in used]
    yield
    for logger, (handlers, level, propagate) in zip(used, before, strict=True):
        for handler in logger.handlers[:]:
            if handler not in handlers and type(handler) is logging.StreamHandler:
                logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The Spark of this process. There can be one only, and what it begins with stays: so everybody shares this."""
    pytest.importorskip("pyspark")
    from caudal.runtime.spark.session import local_master, open_session

    # py4j says at INFO when a connection ends, also while the interpreter ends and pytest's streams are closed.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    # In real-time mode every partition that is read has a thread of its own; tests marked `wide` need 256.
    threads = int(os.environ.get("CAUDAL_TEST_SPARK_THREADS", "24"))
    session, ours = open_session(local_master(threads), 4, {"spark.driver.memory": "1g"})
    yield session
    if ours:
        session.stop()
