"""One broker and one Spark host for all tests of this folder; a service id of its own for each engine."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from caudal.testing import EmbeddedBroker, embedded_broker

pytest.importorskip("pyspark")

_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(400))


@pytest.fixture(scope="session")
def broker() -> Iterator[EmbeddedBroker]:
    with embedded_broker(
        transaction_abort_timed_out_transaction_cleanup_interval_ms=500, group_min_session_timeout_ms=1000
    ) as started:
        yield started


@pytest.fixture(scope="session")
def host(spark: Any) -> Iterator[Any]:
    from caudal.runtime.spark.host import SparkHost

    shared = SparkHost(threads=2)
    yield shared
    shared.close()


@pytest.fixture
def service() -> str:
    return f"test{os.getpid():x}{next(_numbers)}_"


@pytest.fixture
def engines(
    broker: EmbeddedBroker, service: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Any]]:
    """Starts engines of one service id; closes those that the test has not closed. Spark is there where it is used."""
    from caudal.ksql.engine.engine import Engine
    from caudal.ksql.engine.settings import EngineSettings

    made: list[Engine] = []

    def start(**settings: Any) -> Engine:
        own_host = settings.pop("host", None) or request.getfixturevalue("host")
        given = {
            "bootstrap": broker.bootstrap,
            "service_id": service,
            "state_dir": str(tmp_path / f"state{len(made)}"),
            "url": f"http://server{len(made)}",
            "registry": "http://127.0.0.1:1",
            **settings,
        }
        engine = Engine(EngineSettings(**given), host=own_host)
        made.append(engine)
        return engine.start()

    yield start
    for engine in made:
        engine.close()


def until(question: Callable[[], Any], wanted: Any, seconds: float = 150) -> None:
    """Waits until the answer is as wanted."""
    deadline = time.monotonic() + seconds
    while (answer := question()) != wanted:
        assert time.monotonic() < deadline, f"{answer!r} is not {wanted!r}"
        time.sleep(0.1)
