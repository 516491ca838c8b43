"""All golden cases on one micro-batch query (golden_run.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from caudal.runtime.spark.host import SparkHost
from caudal.testing import EmbeddedBroker

from .golden_run import CHOSEN, IDS, Run

pytestmark = pytest.mark.timeout(600)  # the first test waits for all of them


@pytest.fixture(scope="module")
def run(spark: Any, broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    host = SparkHost(threads=2)
    run = Run(broker, tmp_path_factory.mktemp("state"), range(len(CHOSEN)))
    try:
        run.start(host)
        run.perform()
        yield run
    finally:
        host.close()
        run.close()
        print(run.seconds)


@pytest.mark.parametrize("number", range(len(CHOSEN)), ids=IDS)
def test_case(run: Run, number: int) -> None:
    assert number not in run.wrong, run.wrong[number]
